"""What is right after rounding, of answers whose shares are known."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.formats import Graphs
from irem.methods import AbstractBaseline

TASK = irem.tasks.get("connected-components")
KEY = jax.random.key(3, impl="unsafe_rbg")  # compiles fast
PROBLEMS = 40


class Known(AbstractBaseline):
    """A baseline that knows the truth and returns a given function of it."""

    function: Callable = eqx.field(static=True)

    def answer(self, x, *, key):
        del key
        return self.function(TASK.oracle(x)), jnp.ones((), int)

    @property
    def format(self):
        return Graphs()

    def loss(self, problem, y0, *, key):
        raise NotImplementedError

    def predict(self, x, num_steps, *, key):
        raise NotImplementedError


RIGHT = Known(lambda y: 0.4 * y + 0.3)  # 0.3 for 0 and 0.7 for 1
WRONG = Known(lambda y: 1 - y)
ALONE = Known(lambda y: 0.5 * jnp.eye(len(y)))  # every node by itself; one half is read as 1
NOTHING = Known(lambda y: y.at[0, 0].set(jnp.nan))


def evaluate(models, difficulty=5):
    return irem.evaluate(models, TASK, difficulty, problems=PROBLEMS, key=KEY)


def drawn(difficulty):
    return TASK.batch(jax.random.split(KEY)[0], PROBLEMS, difficulty)


@pytest.mark.parametrize(
    ("models", "share"),
    [(RIGHT, 1.0), (WRONG, 0.0), (NOTHING, 0.0), ([RIGHT, WRONG, RIGHT, RIGHT], 0.75)],
    ids=["right", "wrong", "not a number", "several"],
)
def test_shares_are_means_over_models_and_no_answer_is_wrong(models, share):
    found = evaluate(models)
    assert found.entries_right == found.exact == share


@pytest.mark.parametrize("difficulty", [5, "train"], ids=["whole", "padded"])
def test_shares_count_the_real_entries_of_every_problem(difficulty):
    found, batch = evaluate(ALONE, difficulty), drawn(difficulty)
    mask = np.ones(batch.y.shape, bool) if batch.mask is None else np.asarray(batch.mask)
    for answers, prefix in (
        (np.broadcast_to(np.eye(batch.y.shape[1]), batch.y.shape), ""),
        (np.asarray(TASK.trivial(batch.x)), "trivial_"),
    ):
        parts = zip(answers, np.asarray(batch.y), mask, strict=True)
        shares = [np.mean(a[real] == y[real]) for a, y, real in parts]
        assert 0 < np.mean(shares) < 1
        assert getattr(found, prefix + "entries_right") == pytest.approx(np.mean(shares), rel=1e-6)
        exact = np.mean(np.array(shares) == 1)
        assert 0 < exact < 1
        assert getattr(found, prefix + "exact") == exact


def test_one_wrong_entry_is_not_exact():
    off = Known(lambda y: y.at[1, 2].set(1 - y[1, 2]))
    found = evaluate(off)
    assert found.entries_right == pytest.approx(1 - 1 / 25)
    assert found.exact == 0
