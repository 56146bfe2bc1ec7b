"""Baselines around a network or a cell whose every answer is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import Problem
from irem.formats import Vectors
from irem.methods import Feedforward, IterativeFeedforward, PonderNet, Recurrent
from irem.methods.iterative_feedforward import diffuse, reverse
from irem.methods.networks import cell_for, network_for
from irem.methods.ponder import log_halting, log_prior
from irem.nn import AbstractCell, AbstractNetwork

KEY = jax.random.key(0)
X = jnp.array([1.0, 2.0])
PROBLEM = Problem(X, jnp.array([2.0, 5.0]))
MASKED = Problem(X, PROBLEM.y, jnp.array([True, False]))
ADDITION = irem.tasks.get("addition", size=2)


class Twice(AbstractNetwork):
    """Twice the problem, and all that is given beside it; one feature, its first entry."""

    @property
    def num_features(self):
        return 1

    @property
    def format(self):
        return Vectors((2,), (2,))

    def __call__(self, x, *beside):
        return 2.0 * x + sum(beside), x[:1]


class Counter(AbstractCell):
    """The problem times the number of steps."""

    @property
    def format(self):
        return Vectors((2,), (2,))

    def init(self, x):
        del x
        return jnp.zeros(())

    def __call__(self, x, state):
        return state + 1, x * (state + 1)


def test_a_feedforward_network_answers_in_one_step():
    method = Feedforward(Twice())
    value, y = method.loss(PROBLEM, PROBLEM.y, key=KEY)
    assert value == (2 - 2) ** 2 + (4 - 5) ** 2
    assert method.loss(MASKED, PROBLEM.y, key=KEY)[0] == 0
    np.testing.assert_array_equal(y, [2, 4])
    np.testing.assert_array_equal(method.predict(X, 2, key=KEY).ys, [[0, 0], [2, 4], [2, 4]])
    answer, steps = method.answer(X, key=KEY)
    np.testing.assert_array_equal(answer, [2, 4])
    assert steps == 1


def test_a_recurrent_network_answers_after_its_last_step():
    method = Recurrent(Counter(), num_steps=4)
    value, y = method.loss(PROBLEM, PROBLEM.y, key=KEY)
    assert value == (4 - 2) ** 2 + (8 - 5) ** 2
    np.testing.assert_array_equal(y, [4, 8])
    assert method.loss(MASKED, PROBLEM.y, key=KEY)[0] == 4
    np.testing.assert_array_equal(
        method.predict(X, 3, key=KEY).ys, [[0, 0], [1, 2], [2, 4], [3, 6]]
    )
    answer, steps = method.answer(X, key=KEY)
    np.testing.assert_array_equal(answer, [4, 8])
    assert steps == 4


def test_all_methods_take_as_many_steps_unless_told_otherwise():
    made = [Recurrent(Counter()), IterativeFeedforward(Twice()), ponder()]
    assert [method.num_steps for method in made] == [5, 5, 5]
    assert (made[2].prior, made[2].weight, made[2].halting) == (0.8, 0.01, "sample")


def ponder(logit=0.0, **settings):
    """A PonderNet that goes on by `2x` every step and halts with the same chance at each."""
    halt = eqx.nn.Linear(1, 1, key=KEY)
    halt = eqx.tree_at(
        lambda unit: (unit.weight, unit.bias), halt, (jnp.zeros((1, 1)), jnp.full(1, logit))
    )
    return PonderNet(Twice(), halt, **settings)


def test_pondering_is_paid_for_in_the_units_of_the_error():
    # Answers are 2x, 4x, ... and halting is a toss of a coin: p = 1/2, 1/4, 1/4.
    errors = [1.0, 2.0**2 + 3.0**2, 4.0**2 + 7.0**2]
    p, prior = np.array([0.5, 0.25, 0.25]), np.array([0.6, 0.24, 0.096]) / 0.936
    divergence = np.sum(p * np.log(p / prior))
    for problem, squares, entries in ((PROBLEM, errors, 2), (MASKED, [0.0, 4.0, 16.0], 1)):
        method = ponder(num_steps=3, prior=0.6, weight=0.7)
        value, y = method.loss(problem, problem.y, key=KEY)
        assert value == pytest.approx(p @ squares + 0.7 * divergence * entries, rel=1e-5)
        np.testing.assert_array_equal(y, [6, 12])


def test_a_ponder_net_predicts_from_zero_and_answers_where_it_halts():
    path = ponder(num_steps=3).predict(X, 4, key=KEY).ys
    np.testing.assert_array_equal(path, np.arange(5)[:, None] * 2 * X)
    for logit, steps in ((-50.0, 3), (50.0, 1)):
        answer, taken = ponder(logit, num_steps=3).answer(X, key=KEY)
        assert taken == steps
        np.testing.assert_array_equal(answer, 2 * steps * X)
    mean, taken = ponder(num_steps=3, halting="expected").answer(X, key=KEY)
    np.testing.assert_allclose(mean, (0.5 * 2 + 0.25 * 4 + 0.25 * 6) * X, rtol=1e-6)
    assert taken == 3


def test_probabilities_of_halting_and_their_prior():
    chances = np.array([0.5, 0.2, 0.9])
    found = np.exp(log_halting(jnp.asarray(np.log(chances / (1 - chances)))))
    np.testing.assert_allclose(found, [0.5, 0.5 * 0.2, 0.5 * 0.8], rtol=1e-5)
    geometric = np.array([0.3, 0.3 * 0.7, 0.3 * 0.49])
    np.testing.assert_allclose(np.exp(log_prior(0.3, 3)), geometric / geometric.sum(), rtol=1e-5)


@pytest.mark.parametrize("settings", [{"prior": 1e-9}, {"prior": 0.999}, {"weight": 0.0}])
def test_settings_at_the_edge_of_what_is_allowed(settings):
    ((name, value),) = settings.items()
    assert getattr(ponder(**settings), name) == value


def test_a_ponder_net_for_a_task_reads_one_answer_and_has_one_halting_unit():
    made = eqx.filter_eval_shape(
        lambda: PonderNet.for_task(ADDITION, network={"width": 4}, key=KEY, num_steps=2)
    )
    assert made.halt.weight.shape == (1, 4)
    assert (made.network.answers, made.network.scalars) == (1, 0)
    assert made.num_steps == 2


def test_diffusion_keeps_the_variance_of_an_answer_of_variance_one():
    y = jnp.array([3.0, -1.0])
    noise = jax.random.normal(KEY, (2,))
    for level in (0, 1, 4, 5):
        found = diffuse(y, level, 5, KEY)
        expected = np.sqrt(1 - level / 5) * y + np.sqrt(level / 5) * noise
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("level", [1, 2, 5])
def test_a_step_back_is_the_draw_that_its_docstring_says(level):
    y, noisy, total = jnp.array([3.0, -1.0]), jnp.array([0.5, 2.0]), 5
    alpha = (total - level) / (total - level + 1)
    mean = np.sqrt(total / (total - level + 1)) * y / level
    mean += np.sqrt(alpha) * (level - 1) / level * noisy
    deviation = np.sqrt((level - 1) * (1 - alpha) / level)
    found = reverse(noisy, y, jnp.asarray(level), total, KEY)
    expected = mean + deviation * jax.random.normal(KEY, (2,))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


class Levels(Twice):
    """The share of noise in the first entry, what it is given in the second."""

    def __call__(self, x, noisy, level):
        return jnp.stack([level, noisy[1]]), x


def test_training_draws_every_level_of_noise_but_none():
    method = IterativeFeedforward(Levels(), num_steps=3)
    keys = jax.random.split(KEY, 64)
    values, ys = jax.vmap(lambda key: method.loss(PROBLEM, PROBLEM.y, key=key))(keys)
    np.testing.assert_allclose(np.unique(ys[:, 0]), np.array([1, 2, 3]) / 3, rtol=1e-6)
    np.testing.assert_allclose(values, ((ys - PROBLEM.y) ** 2).sum(1), rtol=1e-6)


def test_answers_are_cleaned_from_most_noise_to_least():
    method = IterativeFeedforward(Levels(), num_steps=3)
    path = method.predict(X, 5, key=KEY).ys
    np.testing.assert_allclose(path[1:, 0], np.array([3, 2, 1, 1, 1]) / 3, rtol=1e-6)
    key_start, key = jax.random.split(KEY)
    noisy = jax.random.normal(key_start, (2,))
    np.testing.assert_array_equal(path[0], noisy)
    for n, level in enumerate((3, 2, 1, 1, 1)):
        assert path[n + 1, 1] == pytest.approx(float(noisy[1]), rel=1e-5)
        y, key_step = jnp.stack([jnp.asarray(level / 3), noisy[1]]), jax.random.fold_in(key, n)
        if level > 1:
            noisy = reverse(noisy, y, jnp.asarray(level), 3, key_step)
        else:
            noisy = diffuse(y, 1, 3, key_step)
    answer, steps = method.answer(X, key=KEY)
    np.testing.assert_array_equal(answer, path[3])
    assert steps == 3


def test_an_iterative_network_for_a_task_reads_one_answer_and_one_number():
    make = lambda: IterativeFeedforward.for_task(ADDITION, network={"width": 4}, key=KEY)  # noqa: E731
    made = eqx.filter_eval_shape(make)
    assert (made.network.answers, made.network.scalars) == (1, 1)


def shapes(function, *arguments, **options):
    return eqx.filter_eval_shape(lambda: function(*arguments, key=KEY, **options))


def test_networks_and_cells_are_found_by_name_or_fit_and_settings_win_over_defaults():
    defaults = {"dense": {"width": 3, "depth": 1}, "graph": {"width": 9}}
    plain = shapes(network_for, ADDITION, {"width": 4})
    assert (plain.width, plain.depth, plain.answers, plain.scalars) == (4, 3, 0, 0)
    named = shapes(network_for, ADDITION, {"name": "dense"}, defaults=defaults)
    assert (named.width, named.depth) == (3, 1)
    both = shapes(network_for, ADDITION, {"width": 4}, answers=2, scalars=3, defaults=defaults)
    assert (both.width, both.depth, both.answers, both.scalars) == (4, 1, 2, 3)
    assert shapes(network_for, ADDITION).width == 512
    assert shapes(cell_for, ADDITION).width == 304
    assert shapes(cell_for, ADDITION, {"name": "dense", "width": 4}).width == 4


@pytest.mark.parametrize(
    "make",
    [
        lambda n: Recurrent(Counter(), num_steps=n),
        lambda n: IterativeFeedforward(Twice(), num_steps=n),
        lambda n: ponder(num_steps=n),
    ],
    ids=["recurrent", "iterative", "ponder"],
)
def test_one_step_is_enough_and_none_is_refused(make):
    assert make(1).num_steps == 1
    with pytest.raises(irem.InputError, match="`num_steps` must be greater than 0, got 0"):
        make(0)
