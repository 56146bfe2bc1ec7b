"""Ways to answer problems that can be trained, behind one interface."""

from irem.methods._gradients import AbstractGradient as AbstractGradient
from irem.methods._gradients import FullUnroll as FullUnroll
from irem.methods._gradients import LastStep as LastStep
from irem.methods._irem import IREM as IREM
from irem.methods.base import AbstractMethod as AbstractMethod
