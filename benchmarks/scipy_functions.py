"""Minima of well-known test functions: the default of `solve` beside SciPy's L-BFGS-B.

Run `python benchmarks/scipy_functions.py`. Both start from the same random points. `solve` computes
in 32 bits as users call it, SciPy with its defaults in 64 bits and again with functions in 32 bits.
A start is solved if no entry of the answer is farther than 1e-3 from a minimum (than 1e-3 times
its largest entry where that is above 1). "false" counts answers that are called converged and are
not solved, "unsure" those that are solved and not called converged. Evaluations are medians.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

import irem

NEAR = 1e-3
Minima = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Case:
    """A function, its number of entries, the range of starts, and the nearest minimum."""

    name: str
    function: Callable[[jax.Array], jax.Array]
    size: int
    width: float
    nearest: Minima
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class Row:
    """What is measured on one function."""

    function: str
    solved: float
    false_converged: int
    solved_not_converged: int
    evaluations: float
    scipy_solved: float
    scipy_false: int
    scipy_evaluations: float
    scipy_solved_32_bits: float


def rosenbrock(y):
    """Return Rosenbrock's valley."""
    return jnp.sum(100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2)


def beale(y):
    """Return Beale's function."""
    a, b = y
    return sum((c - a + a * b**k) ** 2 for k, c in ((1, 1.5), (2, 2.25), (3, 2.625)))


def himmelblau(y):
    """Return Himmelblau's function of four minima."""
    return (y[0] ** 2 + y[1] - 11) ** 2 + (y[0] + y[1] ** 2 - 7) ** 2


def powell(y):
    """Return Powell's function, whose curvature vanishes at the minimum."""
    a, b, c, d = y
    return (a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4


def styblinski_tang(y):
    """Return Styblinski and Tang's function, of two minima for each entry."""
    return 0.5 * jnp.sum(y**4 - 16 * y**2 + 5 * y)


def booth(y):
    """Return Booth's function."""
    return (y[0] + 2 * y[1] - 7) ** 2 + (2 * y[0] + y[1] - 5) ** 2


def one_of(*minima: np.ndarray) -> Minima:
    """Return the rule that finds the nearest of a few minima."""

    def nearest(y: np.ndarray) -> np.ndarray:
        return min(minima, key=lambda m: float(np.abs(y - m).max()))

    return nearest


def rosenbrock_minima(size: int) -> Minima:
    """Return the minimum at ones, and the local one near (-1, 1, ..., 1) where there is one."""
    ones = np.ones(size)
    if size < 4:
        return one_of(ones)
    start = np.concatenate([[-1], ones[1:]])
    options = {"jac": optimize.rosen_der, "hess": optimize.rosen_hess, "method": "trust-exact"}
    local = optimize.minimize(optimize.rosen, start, options={"gtol": 1e-9}, **options).x
    return one_of(ones, local)


def quadratic(size: int, condition: float) -> Case:
    """Return a rotated convex quadratic of this condition, around a random minimum."""
    rng = np.random.default_rng(size)
    q, _ = np.linalg.qr(rng.normal(size=(size, size)))
    matrix, minimum = (q * np.geomspace(1, condition, size)) @ q.T, rng.normal(size=size)

    def function(y):
        d = y - minimum.astype(y.dtype)
        return 0.5 * d @ (matrix.astype(y.dtype) @ d)

    return Case(f"quadratic {size}, {condition:.0e}", function, size, 2, one_of(minimum))


def cases() -> Iterator[Case]:
    """Return every test function."""
    for size in (2, 5, 10, 20, 50):
        yield Case(f"Rosenbrock {size}", rosenbrock, size, 2, rosenbrock_minima(size))
    yield Case("Beale", beale, 2, 4, one_of(np.array([3, 0.5])))
    four = [[3, 2], [-2.805118, 3.131313], [-3.779310, -3.283186], [3.584428, -1.848127]]
    yield Case("Himmelblau", himmelblau, 2, 5, one_of(*np.array(four)))
    yield Case("Powell", powell, 4, 4, one_of(np.zeros(4)))
    low, high = -2.9035340, 2.7468028
    tang = lambda y: np.where(np.abs(y - low) < np.abs(y - high), low, high)  # noqa: E731
    yield Case("Styblinski-Tang 5", styblinski_tang, 5, 5, tang)
    yield Case("Booth", booth, 2, 10, one_of(np.array([1, 3])))
    for size in (2, 10, 50):
        for condition in (1e2, 1e4, 1e6):
            yield quadratic(size, condition)
    five = rosenbrock_minima(5)
    yield Case("1e-6 x Rosenbrock 5", lambda y: 1e-6 * rosenbrock(y), 5, 2, five)
    yield Case("1e6 x Rosenbrock 5", lambda y: 1e6 * rosenbrock(y), 5, 2, five)
    yield Case("1e5 + Rosenbrock 5", lambda y: 1e5 + rosenbrock(y), 5, 2, five)
    yield Case("Rosenbrock 5 from afar", rosenbrock, 5, 50, five)


def is_solved(case: Case, ys: np.ndarray) -> np.ndarray:
    """Return for every answer whether it is near a minimum."""
    near = []
    for y in np.asarray(ys, np.float64):
        minimum = case.nearest(y)
        near.append(np.abs(y - minimum).max() <= NEAR * max(1.0, np.abs(minimum).max()))
    return np.array(near)


def scipy_answers(case: Case, starts: np.ndarray, dtype: type) -> list[optimize.OptimizeResult]:
    """Return SciPy's results with the function in this precision."""
    with jax.enable_x64(True):
        both = jax.jit(jax.value_and_grad(case.function))

        def function(y: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = both(y.astype(dtype))
            return float(value), np.asarray(gradient, np.float64)

        return [optimize.minimize(function, y, jac=True, method="L-BFGS-B") for y in starts]


def measure(case: Case, starts: int, seed: int) -> Row:
    """Return the row of one function."""
    width = (starts, case.size)
    y0 = np.random.default_rng(seed).uniform(-case.width, case.width, width).astype(np.float32)
    energy = irem.energy.from_function(lambda _, y: case.function(y))
    ours = jax.device_get(irem.solve(energy, np.zeros(starts), y0))
    solved = is_solved(case, ours.y)
    theirs, in_32_bits = (scipy_answers(case, y0, dtype) for dtype in (np.float64, np.float32))
    scipy_solved = is_solved(case, [result.x for result in theirs])
    return Row(
        function=case.name,
        solved=float(solved.mean()),
        false_converged=int((ours.converged & ~solved).sum()),
        solved_not_converged=int((solved & ~ours.converged).sum()),
        evaluations=float(np.median(ours.steps)) + 1,
        scipy_solved=float(scipy_solved.mean()),
        scipy_false=sum(
            r.success and not good for r, good in zip(theirs, scipy_solved, strict=True)
        ),
        scipy_evaluations=float(np.median([result.nfev for result in theirs])),
        scipy_solved_32_bits=float(is_solved(case, [result.x for result in in_32_bits]).mean()),
    )


def main() -> None:
    """Print one table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=100, help="starts of every function")
    parser.add_argument("--seed", type=int, default=2, help="of the starts")
    parser.add_argument("--only", default="", help="functions with this in their name")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    chosen = [case for case in cases() if options.only.lower() in case.name.lower()]
    if not options.json:
        print(f"{'':24s}{'irem':>32s}{'SciPy':>24s}{'32 bits':>9s}")
        print(f"{'function':24s}{'solved':>8s}{'false':>7s}{'unsure':>8s}{'evals':>9s}", end="")
        print(f"{'solved':>8s}{'false':>7s}{'evals':>9s}{'solved':>9s}")
    rows = []
    for case in chosen:
        rows.append(row := measure(case, options.starts, options.seed))
        if not options.json:
            print(
                f"{row.function:24s}{row.solved:8.0%}{row.false_converged:7d}"
                f"{row.solved_not_converged:8d}"
                f"{row.evaluations:9.0f}{row.scipy_solved:8.0%}{row.scipy_false:7d}"
                f"{row.scipy_evaluations:9.0f}{row.scipy_solved_32_bits:9.0%}",
                flush=True,
            )
    if options.json:
        print(json.dumps({"starts": options.starts, "rows": [asdict(row) for row in rows]}))


if __name__ == "__main__":
    main()
