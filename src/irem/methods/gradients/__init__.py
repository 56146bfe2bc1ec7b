"""Rules for the gradient of training."""

from irem.methods.gradients.base import AbstractGradient as AbstractGradient
from irem.methods.gradients.minimum import Minimum as Minimum
from irem.methods.gradients.steps import FullUnroll as FullUnroll
from irem.methods.gradients.steps import LastSteps as LastSteps
from irem.methods.gradients.steps import RandomSteps as RandomSteps
from irem.methods.gradients.taught import Taught as Taught
from irem.settings import Registry

GRADIENTS: Registry[type[AbstractGradient]] = Registry(
    "gradient rule",
    {
        "last-steps": LastSteps,
        "full-unroll": FullUnroll,
        "random-steps": RandomSteps,
        "taught": Taught,
        "minimum": Minimum,
    },
)
"""Every gradient rule that can be named in a recipe."""
