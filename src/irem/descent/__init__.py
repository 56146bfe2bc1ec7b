"""How a landscape is walked."""

from irem.descent._halt import AbstractHalt as AbstractHalt
from irem.descent._halt import EnergyUnchanged as EnergyUnchanged
from irem.descent._solution import Reason as Reason
from irem.descent._solution import Solution as Solution
from irem.descent._solution import Trajectory as Trajectory
from irem.descent._solve import Walkable as Walkable
from irem.descent._solve import first_guess as first_guess
from irem.descent._solve import solve as solve
from irem.descent._step import AbstractStep as AbstractStep
from irem.descent._step import FixedStep as FixedStep
from irem.descent._step import Landscape as Landscape
from irem.descent._step import Point as Point
from irem.descent._step import look as look
