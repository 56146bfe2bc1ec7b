"""Answers: beside NumPy and SciPy, and of a model that was exported."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

from irem.descent import export, solve
from irem.energy import from_function
from irem.performance.base import Amount, Ratio
from irem.performance.timing import in_turns
from irem.training import load

_ROWS, _NUMBERS = 5, 10


def beside_libraries(amount: Amount) -> Sequence[Ratio]:
    """Matrices inverted beside NumPy, and functions minimised beside SciPy, in warm processes."""
    model, x = load("zoo:matrix-inverse").model, _matrices(64 * amount.scale)
    starts = np.random.default_rng(0).uniform(-2, 2, (64 * amount.scale, _NUMBERS))
    function = from_function(_rosenbrock, answer_shape=(_NUMBERS,))
    guesses = starts.astype(np.float32)

    def scipy_minima() -> None:
        for start in starts:
            optimize.minimize(optimize.rosen, start, jac=optimize.rosen_der, method="L-BFGS-B")

    return [
        in_turns(
            f"{len(x)} matrices of {_ROWS} x {_ROWS} by `zoo:matrix-inverse`",
            lambda: solve(model, x, key=jax.random.key(0)).y.block_until_ready(),
            "`numpy.linalg.inv`",
            lambda: np.linalg.inv(x),
            amount.rounds,
        ),
        in_turns(
            f"{len(starts)} minima of Rosenbrock's function of {_NUMBERS} numbers, together",
            lambda: solve(function, None, guesses).y.block_until_ready(),
            "`scipy.optimize.minimize`, L-BFGS-B with its gradient, one by one",
            scipy_minima,
            amount.rounds,
        ),
    ]


def exported(amount: Amount) -> Sequence[Ratio]:
    """One matrix inverted by an exported model beside `irem.solve`, both compiled before."""
    model, x = load("zoo:matrix-inverse").model, _matrices(1)
    with tempfile.TemporaryDirectory() as folder:
        shape = (_ROWS, _ROWS)
        call = jax.jit(export(model, Path(folder, "model.bin"), shape, problems=1).call)
    return [
        in_turns(
            "one matrix by an exported `zoo:matrix-inverse`",
            lambda: jax.block_until_ready(call(x, np.uint32(0))),
            "`irem.solve`, which also checks",
            lambda: solve(model, x, key=jax.random.key(0)).y.block_until_ready(),
            3 * amount.rounds,
        )
    ]


def _matrices(count: int) -> np.ndarray:
    roots = np.random.default_rng(0).uniform(-1, 1, (count, _ROWS, _ROWS))
    return (2 * roots @ roots.transpose(0, 2, 1) + np.eye(_ROWS)).astype(np.float32)


def _rosenbrock(x: Any, y: jax.Array) -> jax.Array:
    del x
    return jnp.sum(100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2)
