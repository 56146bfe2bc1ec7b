"""How a landscape is walked."""

from irem.descent._backtracking import DEFAULT_STEP as DEFAULT_STEP
from irem.descent._backtracking import STEPS as STEPS
from irem.descent._backtracking import Backtracking as Backtracking
from irem.descent._backtracking import adam as adam
from irem.descent._backtracking import conjugate_gradient as conjugate_gradient
from irem.descent._backtracking import lbfgs as lbfgs
from irem.descent._backtracking import momentum as momentum
from irem.descent._backtracking import nesterov as nesterov
from irem.descent._halt import AbstractHalt as AbstractHalt
from irem.descent._halt import AnyOf as AnyOf
from irem.descent._halt import EnergyUnchanged as EnergyUnchanged
from irem.descent._halt import GradientSmall as GradientSmall
from irem.descent._solution import RUNNING as RUNNING
from irem.descent._solution import Reason as Reason
from irem.descent._solution import Solution as Solution
from irem.descent._solution import Trajectory as Trajectory
from irem.descent._solve import MAX_STEPS as MAX_STEPS
from irem.descent._solve import first_guess as first_guess
from irem.descent._solve import solve as solve
from irem.descent._step import AbstractStep as AbstractStep
from irem.descent._step import FixedStep as FixedStep
from irem.descent._step import Landscape as Landscape
from irem.descent._step import Move as Move
from irem.descent._step import Point as Point
from irem.descent._step import look as look
from irem.descent._walk import Walkable as Walkable
