"""Memory that a whole picture takes, as XLA's analysis of the compiled programs has it.

    python benchmarks/picture_memory.py

Nothing is run: what one training iteration differentiates twice, and one step of a descent once, is
compiled for a picture of the size of BSD68's (321 x 481) and for a patch.
"""

import json

import equinox as eqx
import jax
import jax.numpy as jnp

import irem

SHAPES = ((64, 64), (321, 481))


def training_gradient(method, problem):
    """The gradient of the loss in the parameters, through the last of five steps."""
    loss = lambda m: m.loss(problem, problem.x, key=jax.random.key(0))[0]  # noqa: E731
    return eqx.filter_grad(loss)(method)


def descent_gradient(method, problem):
    """The gradient of the energy in the answer."""
    return jax.grad(method.landscape(problem.x))(problem.x)


def main():
    """Print one line of JSON for each program and shape."""
    method = irem.IREM(irem.energy.Conv(key=jax.random.key(0)), step_size=1.0)
    for shape in SHAPES:
        problem = irem.Problem(jnp.zeros(shape), jnp.zeros(shape))
        for program in (training_gradient, descent_gradient):
            compiled = eqx.filter_jit(program).lower(method, problem).compile()
            megabytes = compiled.compiled.memory_analysis().temp_size_in_bytes / 1e6
            told = {"program": program.__name__, "shape": shape, "megabytes": round(megabytes, 1)}
            print(json.dumps({**told, "backend": jax.default_backend()}), flush=True)


if __name__ == "__main__":
    main()
