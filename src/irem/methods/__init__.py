"""Ways to answer problems that can be trained, behind one interface."""

from irem.methods._gradients import AbstractGradient as AbstractGradient
from irem.methods._gradients import FullUnroll as FullUnroll
from irem.methods._gradients import LastStep as LastStep
from irem.methods._irem import IREM as IREM
from irem.methods._registry import GRADIENTS as GRADIENTS
from irem.methods._registry import METHODS as METHODS
from irem.methods._registry import build_method as build_method
from irem.methods._registry import describe_method as describe_method
from irem.methods.base import AbstractMethod as AbstractMethod
