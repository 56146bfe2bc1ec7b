"""Which descents are in 64 bits, and what is left of their solutions in 32."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.descent import Reason, Solution
from irem.descent.precision import _finite, _narrow, _wide, takes_double
from irem.descent.rules import make_descent

HAND_WRITTEN = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2))
X, Y0 = jnp.zeros((2, 1)), jnp.ones((2, 3))


# An energy that says nothing of precision.
PLAIN = types.SimpleNamespace(
    step_size=None, **dict.fromkeys(("format", "landscape", "guess", "begin", "read"), print)
)


def test_quasi_newton_steps_on_energies_that_ask_for_it_are_in_64_bits():
    assert takes_double(make_descent(HAND_WRITTEN), X, Y0)
    assert not takes_double(make_descent(HAND_WRITTEN, "backtracking"), X, Y0)
    assert not takes_double(make_descent(PLAIN, "lbfgs"), X, Y0)


def test_the_precision_of_other_first_points_is_kept():
    descent = make_descent(HAND_WRITTEN)
    assert not takes_double(descent, X, Y0.astype(jnp.float16))
    with jax.enable_x64(True):
        assert not takes_double(descent, X, Y0)
        assert not takes_double(descent, X, Y0.astype(jnp.float64))


def test_neither_traced_problems_nor_other_devices_are_in_64_bits(monkeypatch):
    descent, seen = make_descent(HAND_WRITTEN), []
    jax.eval_shape(lambda x: seen.append(takes_double(descent, x, Y0)), X)
    jax.eval_shape(lambda y0: seen.append(takes_double(descent, X, y0)), Y0)
    for backend in ("gpu", "tpu"):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        seen.append(takes_double(descent, X, Y0))
    assert seen == [False, False, True, False]


@pytest.mark.parametrize("shape", [(4,), (4, 2), (4, 2, 3)])
def test_what_is_too_large_for_32_bits_has_not_converged(shape):
    solution = Solution(
        y=jnp.ones(shape).at[1].set(jnp.inf),
        energy=jnp.array([1.0, 1.0, jnp.inf, 1.0]),
        steps=jnp.zeros(4, jnp.int32),
        converged=jnp.array([True, True, True, False]),
        reason=jnp.array([3, 3, 3, 1], jnp.int32),
    )
    lost = _finite(solution)
    bad = int(Reason.NOT_FINITE)
    np.testing.assert_array_equal(lost.reason, [3, bad, bad, 1])
    np.testing.assert_array_equal(lost.converged, [True, False, False, False])
    assert lost.reason.dtype == jnp.int32


def test_an_answer_with_one_entry_too_large_is_lost():
    y = jnp.ones((1, 2, 2)).at[0, 1, 0].set(-jnp.inf)
    one = jnp.ones(1)
    solution = Solution(y, one, one.astype(int), jnp.array([True]), jnp.array([3], jnp.int32))
    assert _finite(solution).reason == Reason.NOT_FINITE


def test_only_floats_are_widened_and_all_numbers_narrowed():
    with jax.enable_x64(True):
        for before, after in (("float32", "float64"), ("float16", "float16"), ("int32", "int32")):
            assert _wide(jnp.ones(2, before)).dtype == after
        for before, after in (("float64", "float32"), ("int64", "int32"), ("bool", "bool")):
            assert _narrow(jnp.ones(2, before)).dtype == after
