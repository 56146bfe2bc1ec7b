"""Training: iterations beside the limit of the machine, and beside the paper's energy."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from irem.methods import build_methods
from irem.performance.base import Amount, Ratio
from irem.performance.timing import in_turns
from irem.training import Recipe, Training, init, run_chunk

_PRODUCT = 1024
_STRUCTURED = ("shortest-path", "matrix-inverse", "addition")


def limit(amount: Amount) -> Sequence[Ratio]:
    """An iteration of the paper's addition beside as many operations in one large product."""
    iterations = 4 * amount.scale
    train, operations = chunks(Recipe.named("addition", "paper"), iterations)
    product = jax.jit(lambda a: a @ a)
    square = jnp.ones((_PRODUCT, _PRODUCT))
    repeats = max(1, round(operations / (2 * _PRODUCT**3)))

    def products() -> None:
        for _ in range(repeats):
            jax.block_until_ready(product(square))

    what = "iteration of addition, the paper's settings"
    peer = f"its floating-point operations in products of {_PRODUCT} x {_PRODUCT} matrices"
    return [in_turns(what, train, peer, products, amount.rounds, per=iterations)]


def structure(amount: Amount) -> Sequence[Ratio]:
    """An iteration with the energy of the recipe `best` beside the paper's, 32 fresh problems."""
    iterations, found = 10 * amount.scale, []
    tasks = _STRUCTURED if amount.scale > 1 else _STRUCTURED[:1]
    for name in tasks:
        sides = [
            chunks(Recipe.named(name, recipe).override({"batch_size": 32}), iterations)[0]
            for recipe in ("best", "paper")
        ]
        what, peer = f"iteration of {name}, recipe best", "recipe paper, as many problems"
        found.append(in_turns(what, sides[0], peer, sides[1], amount.rounds, per=iterations))
    return found


def chunks(recipe: Recipe, iterations: int) -> tuple[Callable[[], None], float]:
    """Return what trains for so many iterations whenever it is called, and its operations."""
    keys, task = jax.random.split(jax.random.key(0), 1), recipe.make_task()
    optimiser = recipe.component("optimiser").transformation(10_000)
    parts = (recipe.component("replay"), recipe.component("average"))
    training = Training(task, optimiser, *parts, recipe.settings["batch_size"])
    methods = build_methods(task, recipe.method_settings(), keys=keys)
    states = eqx.filter_vmap(lambda m, k: init(training, m, k))(methods, keys)
    chunk: Any = run_chunk
    # The operations of a loop are counted once, however often it runs: so those of one iteration.
    alone = chunk.lower(training, states, 1).compile().compiled.cost_analysis()

    def run() -> None:
        nonlocal states
        states, infos = run_chunk(training, states, iterations)
        jax.block_until_ready(infos)

    return run, iterations * float(alone["flops"])
