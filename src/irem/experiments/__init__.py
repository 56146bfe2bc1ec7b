"""One file for each thing that is measured."""

from irem.experiments._compose import PAPER_COMPOSITION as PAPER_COMPOSITION
from irem.experiments._compose import compose as compose
from irem.experiments._demo import Demo as Demo
from irem.experiments._demo import demo as demo
from irem.experiments._evaluate import Evaluation as Evaluation
from irem.experiments._evaluate import evaluate as evaluate
from irem.experiments._evaluate import floors as floors
from irem.experiments._evaluate import problem_errors as problem_errors
from irem.experiments._landscape import Descents as Descents
from irem.experiments._landscape import Plane as Plane
from irem.experiments._landscape import descents as descents
from irem.experiments._landscape import energy_by_distance as energy_by_distance
from irem.experiments._landscape import plane as plane
