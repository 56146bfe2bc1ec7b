"""Reasoning as energy minimisation: learn an energy over answers, then walk downhill on it."""

from irem import energy as energy
from irem import tasks as tasks
from irem._errors import DivergenceError as DivergenceError
from irem._errors import InputError as InputError
from irem._problem import Graph as Graph
from irem._problem import Problem as Problem
from irem._problem import mse as mse
from irem._version import __version__ as __version__
from irem.descent import EnergyUnchanged as EnergyUnchanged
from irem.descent import FixedStep as FixedStep
from irem.descent import Reason as Reason
from irem.descent import Solution as Solution
from irem.descent import Trajectory as Trajectory
from irem.descent import solve as solve
from irem.experiments import Evaluation as Evaluation
from irem.experiments import compose as compose
from irem.experiments import evaluate as evaluate
from irem.learning import History as History
from irem.learning import NoReplay as NoReplay
from irem.learning import Replay as Replay
from irem.learning import Run as Run
from irem.learning import load as load
from irem.learning import train as train
from irem.methods import IREM as IREM
from irem.methods import FullUnroll as FullUnroll
from irem.methods import LastStep as LastStep
