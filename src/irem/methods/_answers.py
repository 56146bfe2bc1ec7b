"""What any method answers to a batch of problems."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from irem.methods.base import AbstractBaseline, AbstractMethod

# More at once would take gigabytes for graphs of 30 nodes.
_AT_ONCE = 256


class Answers(eqx.Module):
    """Answers of a baseline and the steps they took; a batch has a leading axis of problems."""

    y: Float[Array, "..."]
    steps: Int[Array, "*problems"]


def answer(method: AbstractBaseline, x: Any, *, key: PRNGKeyArray) -> Answers:
    """The answers of a baseline to a batch of problems."""
    x, _ = method.as_batch(x)
    return _answer(method, x, key)


@eqx.filter_jit
def _answer(method: AbstractBaseline, x: PyTree, key: PRNGKeyArray) -> Answers:
    def one(item: tuple[PyTree, PRNGKeyArray]) -> Answers:
        return Answers(*method.answer(item[0], key=item[1]))

    return jax.lax.map(one, (x, _keys(key, x)), batch_size=_AT_ONCE)


@eqx.filter_jit
def answers_by_step(
    method: AbstractMethod, x: PyTree, num_steps: int, key: PRNGKeyArray
) -> Float[Array, "problems steps ..."]:
    """The answer after every step, for a batch of problems; index 0 is the first guess."""

    def one(item: tuple[PyTree, PRNGKeyArray]) -> Array:
        return method.predict(item[0], num_steps, key=item[1]).ys

    return jax.lax.map(one, (x, _keys(key, x)), batch_size=_AT_ONCE)


def _keys(key: PRNGKeyArray, x: PyTree) -> Key[Array, " problems"]:
    return jax.random.split(key, jax.tree.leaves(x)[0].shape[0])
