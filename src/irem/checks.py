"""Checks of what users give, shared by every room."""

import difflib
from collections.abc import Iterable

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from irem.errors import InputError

_NUMBERS_AT_ONCE = 2**24


def positive(name: str, value: int | float) -> None:
    """Refuse a size that is not above zero, or not finite."""
    if not value > 0:
        raise InputError(f"`{name}` must be greater than 0, got {value}.")
    if value == float("inf"):
        raise InputError(f"`{name}` must be finite, got {value}.")


def count(name: str, value: object, most: int | None = None) -> None:
    """Refuse a count that is not a whole number above zero, or is above `most`."""
    number = _whole(name, value)
    positive(name, number)
    if most is not None and number > most:
        raise InputError(f"`{name}` must be at most {most:,}, got {number:,}.")


def count_or_zero(name: str, value: object) -> None:
    """Refuse a count that is neither zero nor a whole number above it."""
    if _whole(name, value) < 0:
        raise InputError(f"`{name}` must be 0 or more, got {value}.")


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"`{name}` must be a whole number, got {value!r}.")
    return int(value)


def known(kind: str, name: str, names: Iterable[str]) -> None:
    """Refuse a name that is not among `names`, and list those, the nearest one first."""
    names = list(names)
    if name in names:
        return
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    listed = f"known are {', '.join(names)}" if names else "there are none"
    raise InputError(f"Unknown {kind} '{name}'; {listed}.{hint}")


def numeric(
    name: str, value: object, *, keep_integers: bool = False, missing: bool = False
) -> Array:
    """`value` as an array on the device; refuse strings, ragged lists, NaN and infinity.

    Whole numbers and truth values become floats unless `keep_integers`. With `missing`, NaN and
    infinity pass: they mean that a number is not there. Arrays that are being traced by JAX pass
    unread: their values are not known yet.
    """
    if isinstance(value, Tracer):
        return jax.numpy.asarray(value)
    try:
        # What lies on a device stays there.
        array = value if isinstance(value, jax.Array) else np.asarray(value)
    except ValueError as error:
        raise InputError(f"`{name}` is not a rectangular array: {error}.") from error
    if array.dtype.kind not in "fiub" and not jax.numpy.issubdtype(array.dtype, np.floating):
        raise InputError(f"`{name}` must hold numbers, got an array of {array.dtype}.")
    if keep_integers and array.dtype.kind in "iub":
        return jax.numpy.asarray(array)
    allowed = _count_not_finite(array) if missing else 0
    with np.errstate(over="ignore"):  # what overflows becomes infinite, and is refused as such
        dtype = np.result_type(array.dtype, np.float32)
        # JAX has no floats of more than 64 bits.
        dtype = np.dtype(np.float64) if dtype.itemsize > 8 else dtype
        array = array.astype(jax.dtypes.canonicalize_dtype(dtype))
    bad = _count_not_finite(array) - allowed
    if bad:
        kind = "too large for 32 bits" if missing else "NaN or infinite (or too large for 32 bits)"
        raise InputError(
            f"`{name}` must be finite, but {bad} of its {array.size} numbers are {kind}; remove or "
            "replace them."
        )
    return jax.numpy.asarray(array)


def check_numbers(name: str, array: np.ndarray, *, missing: bool = False) -> None:
    """Refuse rows that are not numbers, or not finite; they are read some at a time.

    Arguments:
        name: What the rows are called.
        array: The rows, along the first axis, which may lie on a disk.
        missing: Whether NaN passes: it means that a number is not there.
    """
    if array.dtype.kind not in "fiub":
        raise InputError(f"`{name}` must hold numbers, got an array of {array.dtype}.")
    if array.dtype.kind != "f" or array.ndim == 0:
        return
    size = max(1, _NUMBERS_AT_ONCE * array.shape[0] // max(1, array.size))
    bad = 0
    for first in range(0, array.shape[0], size):
        some = array[first : first + size]
        bad += int((np.isinf(some) if missing else ~np.isfinite(some)).sum())
    if bad:
        kind = "infinite" if missing else "NaN or infinite"
        raise InputError(
            f"`{name}` must be finite, but {bad} of its {array.size} numbers are {kind}; remove "
            "those rows, or replace the numbers."
        )


def _count_not_finite(array: np.ndarray | Array) -> int:
    is_finite = np.isfinite if isinstance(array, np.ndarray) else jax.numpy.isfinite
    with jax.ensure_compile_time_eval():  # the caller may be traced, the array is not
        return array.size - int(is_finite(array).sum())
