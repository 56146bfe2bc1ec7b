"""What is refused, and in which words."""

import jax.numpy as jnp
import numpy as np
import pytest

from irem.checks import count, count_or_zero, known, numeric, positive


@pytest.mark.parametrize("value", [1, np.int64(3), np.uint8(7)])
def test_whole_numbers_are_counts(value):
    count("n", value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "`n` must be greater than 0, got 0"),
        (-2, "`n` must be greater than 0, got -2"),
        (2.5, "`n` must be a whole number, got 2.5"),
        (True, "`n` must be a whole number, got True"),
        ("3", "`n` must be a whole number, got '3'"),
    ],
)
def test_other_things_are_not(value, message):
    with pytest.raises(ValueError, match=message):
        count("n", value)


def test_zero_may_be_a_count_where_it_is_allowed():
    for value in (0, 3, np.int64(0)):
        count_or_zero("n", value)
    with pytest.raises(ValueError, match="`n` must be 0 or more, got -1"):
        count_or_zero("n", -1)
    with pytest.raises(ValueError, match=r"`n` must be a whole number, got 1\.5"):
        count_or_zero("n", 1.5)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_sizes_are_above_zero_and_finite(value):
    with pytest.raises(ValueError, match="must be"):
        positive("size", value)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown rule 'fxed'; known are fixed, free\. Did you"):
        known("rule", "fxed", ["fixed", "free"])
    with pytest.raises(ValueError, match=r"^Unknown rule 'fxed'; there are none\.$"):
        known("rule", "fxed", [])


@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray])
def test_arrays_become_floats_and_must_be_finite(kind):
    assert numeric("x", kind([1, 2])).dtype == jnp.float32
    assert numeric("x", kind([1, 2]), keep_integers=True).dtype == jnp.int32
    with pytest.raises(ValueError, match="1 of its 2 numbers"):
        numeric("x", kind([1.0, np.nan]))


def test_a_count_may_have_a_largest_value():
    count("n", 7, most=7)
    with pytest.raises(ValueError, match="`n` must be at most 7,000, got 10,000"):
        count("n", 10_000, most=7000)


def test_floats_of_more_than_64_bits_are_numbers():
    x = np.array([1, 2.5], np.longdouble)
    np.testing.assert_array_equal(numeric("x", x), np.array([1, 2.5], np.float32))
    with pytest.raises(ValueError, match="1 of its 2 numbers"):
        numeric("x", np.array([1, 1e300], np.longdouble))
