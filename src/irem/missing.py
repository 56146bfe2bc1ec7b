"""Which entries of a table are given: the one place that says how missing ones are written."""

import math
from typing import Any


def given_entries(x: Any) -> Any:
    """Return which entries of one table are given; the table is an array of NumPy or JAX.

    Entries that are not finite are missing. In a table without any of those, zeros are missing, as
    in the paper.

    Examples:
        >>> import numpy as np
        >>> given_entries(np.array([[1.0, np.nan], [0.0, 2.0]])).tolist()
        [[True, False], [True, True]]
        >>> given_entries(np.array([[1.0, 3.0], [0.0, 2.0]])).tolist()
        [[True, True], [False, True]]
    """
    finite = abs(x) < math.inf
    return finite & (~finite.all() | (x != 0))
