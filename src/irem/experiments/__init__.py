"""One file for each thing that is measured."""

from irem.experiments._compose import PAPER_COMPOSITION as PAPER_COMPOSITION
from irem.experiments._compose import compose as compose
from irem.experiments._evaluate import Evaluation as Evaluation
from irem.experiments._evaluate import evaluate as evaluate
from irem.experiments._evaluate import floors as floors
from irem.experiments._evaluate import problem_errors as problem_errors
