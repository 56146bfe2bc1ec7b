"""One file for each thing that is measured."""

from irem.experiments._compose import PAPER_COMPOSITION as PAPER_COMPOSITION
from irem.experiments._compose import compose as compose
from irem.experiments._demo import Demo as Demo
from irem.experiments._demo import demo as demo
from irem.experiments._evaluate import Evaluation as Evaluation
from irem.experiments._evaluate import evaluate as evaluate
from irem.experiments._evaluate import floors as floors
from irem.experiments._evaluate import problem_errors as problem_errors
from irem.experiments._figures import RECORDED_STEPS as RECORDED_STEPS
from irem.experiments._figures import Curves as Curves
from irem.experiments._figures import Effort as Effort
from irem.experiments._figures import Elements as Elements
from irem.experiments._figures import Heights as Heights
from irem.experiments._figures import difficulties as difficulties
from irem.experiments._figures import element_errors as element_errors
from irem.experiments._figures import error_curves as error_curves
from irem.experiments._figures import heights as heights
from irem.experiments._figures import ladder as ladder
from irem.experiments._figures import problem_plane as problem_plane
from irem.experiments._figures import sizes as sizes
from irem.experiments._figures import steps_spent as steps_spent
from irem.experiments._landscape import Descents as Descents
from irem.experiments._landscape import Plane as Plane
from irem.experiments._landscape import descents as descents
from irem.experiments._landscape import energy_by_distance as energy_by_distance
from irem.experiments._landscape import plane as plane
