"""What a descent is taught: the points that it is to go through."""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Array, Float, Int


class Lesson(NamedTuple):
    """The points that a descent on one problem is to go through.

    Arguments:
        at: The point after a number of steps.
        steps: After how many steps nothing changes any more.
    """

    at: Callable[[Int[Array, ""]], Float[Array, "..."]]
    steps: Int[Array, ""]
