"""Descents that are taught the points they are to go through."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy import AbstractEnergy, Grid
from irem.formats import Vectors
from irem.keys import training_keys
from irem.lessons import Lesson
from irem.methods import GRADIENTS, IREM, LastSteps, RandomSteps, Taught
from irem.problem import Problem
from irem.tasks import Maze
from irem.training import Recipe

KEY = jax.random.key(0)
END = jnp.array([[0.25, -1.0], [0.5, 2.0], [1.0, 0.0]])
Y0 = jnp.zeros(3)
PROBLEM = Problem(jnp.zeros(1), Y0)
LENGTH = 4


class Pull(AbstractEnergy):
    """E = weight/2 |p - end|^2: steps of size 1 with a weight of 1 lead to the end at once.

    Its lesson is at the end from the first step on, or on a straight way there from zero.
    """

    weight: jax.Array
    straight: bool = eqx.field(static=True, default=False)

    @property
    def format(self):
        return Vectors((1,), (3,))

    def landscape(self, _):
        return lambda point: 0.5 * self.weight * jnp.sum((point - END) ** 2)

    def teach(self, _, **__):
        def at(step):
            return END * (jnp.minimum(step, LENGTH) / LENGTH if self.straight else 1.0)

        return Lesson(at, jnp.asarray(LENGTH))


def pull(weight=1.0, straight=False):
    return Pull(jnp.asarray(weight), straight)


def loss_of(energy, rule, key=KEY, step_size=1.0):
    return rule.loss(energy, PROBLEM, Y0, step_size, 1, key=key)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_zero_where_the_energy_follows_its_lesson(k, seed):
    loss, end = loss_of(pull(), Taught(k, noise=0.5), jax.random.key(seed))
    np.testing.assert_allclose(loss, 0.0, atol=1e-10)
    np.testing.assert_allclose(end, END, atol=1e-6)


def test_the_loss_is_about_answer_and_scratchpad_after_every_step():
    # From a point of the straight lesson one step leads to its end: too far but for the last.
    ends = [
        loss_of(pull(straight=True), Taught(1, noise=0.0), jax.random.key(s)) for s in range(40)
    ]
    square = float(jnp.sum(END**2))
    possible = [square * (1 - step / LENGTH) ** 2 for step in range(1, LENGTH + 1)]
    found = np.array([float(loss) for loss, _ in ends])
    assert all(np.isclose(possible, loss, atol=1e-5).any() for loss in found)
    assert all(np.isclose(found, loss, atol=1e-5).any() for loss in possible)
    for loss, end in ends:
        np.testing.assert_allclose(end, END, atol=1e-6)
        assert loss.shape == ()


def test_of_several_steps_the_mean_counts():
    # Descents that stay where they are, from every point of a lesson that goes on without them.
    found = {
        round(
            float(loss_of(pull(0.0, straight=True), Taught(2, noise=0.0), jax.random.key(s))[0]), 4
        )
        for s in range(60)
    }
    square = float(jnp.sum(END**2))
    share = lambda step: min(step, LENGTH) / LENGTH  # noqa: E731
    expected = {
        round(square * np.mean([(share(first + i) - share(first)) ** 2 for i in (1, 2)]), 4)
        for first in range(1, LENGTH + 1)
    }
    # At the first point the answer may be anything: those losses are not among them.
    assert expected <= found


def test_before_the_first_step_the_answer_may_be_anything():
    # A descent that stays where it is ends where it began.
    ends = [
        loss_of(pull(0.0, straight=True), Taught(1, noise=0.0), jax.random.key(s))[1]
        for s in range(60)
    ]
    first = [np.asarray(end) for end in ends if not np.asarray(end)[:, 1].any()]
    answers = np.stack([end[:, 0] for end in first])
    assert len(np.unique(answers, axis=0)) > 3
    assert np.abs(answers).max() <= 1
    plain = np.isin(answers, (0.0, 1.0)).all(axis=1)
    assert plain.any()
    assert not plain.all()


def test_noise_is_of_every_size_up_to_the_largest():
    def deviation(noise, seed):
        # The lesson is at its end from the first step on; scratchpads alone begin there with noise.
        end = loss_of(pull(0.0), Taught(1, noise=noise), jax.random.key(seed))[1]
        return np.abs(np.asarray(end - END)[:, 1]).mean()

    assert deviation(0.0, 0) == 0
    sizes = [deviation(0.3, seed) for seed in range(100)]
    assert min(sizes) < 0.05
    assert 0.2 < max(sizes) < 1.0
    # A mean of |N(0, size)| with sizes uniform in (0, 0.3) is 0.15 sqrt(2 / pi).
    np.testing.assert_allclose(np.mean(sizes), 0.12, rtol=0.25)


def test_the_gradient_of_the_loss_agrees_with_finite_differences():
    x = Maze().sample(KEY, 5).x
    with jax.enable_x64(True):
        energy = Grid.for_task(Maze(), width=4, layers=1, lesson="waves", key=KEY)
        weights, rest = eqx.partition(energy, eqx.is_inexact_array)
        weights = jax.tree.map(lambda a: jnp.asarray(np.asarray(a), jnp.float64), weights)
        rng = np.random.default_rng(1)
        direction = jax.tree.map(lambda a: jnp.asarray(rng.normal(size=a.shape)), weights)
        problem = Problem(x, jnp.zeros(x.shape))

        @jax.jit
        def along(t):
            moved = jax.tree.map(lambda a, d: a + t * d, weights, direction)
            model = eqx.combine(moved, rest)
            return Taught(2).loss(model, problem, problem.y, 1.0, 2, key=KEY)[0]

        small = 1e-5
        expected = (along(small) - along(-small)) / (2 * small)
        assert abs(expected) > 1e-3
        np.testing.assert_allclose(jax.grad(along)(0.0), expected, rtol=1e-5)


def test_where_a_descent_would_begin_does_not_matter():
    losses = [
        Taught().loss(pull(0.3, straight=True), PROBLEM, y0, 1.0, steps, key=KEY)[0]
        for y0, steps in ((Y0, 1), (Y0 + 7, 50))
    ]
    assert losses[0] == losses[1]


def test_steps_alone_are_those_of_any_descent():
    y0 = jnp.ones((3, 2))
    for k, steps in ((2, 5), (4, 2)):
        end = Taught(k).descend(pull(0.3), PROBLEM.x, y0, 1.0, steps)
        np.testing.assert_allclose(end, END + (1 - END) * 0.7**steps, rtol=1e-5)


class Plain(AbstractEnergy):
    """A convex quadratic, without a lesson."""

    @property
    def format(self):
        return Vectors((1,), (3,))

    def landscape(self, _):
        return lambda y: 0.5 * jnp.sum(y**2)


def test_energies_without_a_lesson_are_refused():
    with pytest.raises(irem.InputError, match=r"This Plain energy has no lesson.*`Taught`"):
        loss_of(Plain(), Taught())
    grid = Grid.for_task(Maze(), width=4, layers=1, key=KEY)
    problem = Maze().sample(KEY)
    with pytest.raises(irem.InputError, match="Grid energy has no lesson"):
        IREM(grid, gradient=Taught(), num_steps=2).loss(problem, problem.y, key=KEY)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"k": 0}, "`k`"),
        ({"noise": -0.1}, r"`noise` must be at least 0, got -0\.1"),
        ({"noise": float("nan")}, "`noise`"),
    ],
)
def test_other_settings_are_refused(wrong, sentence):
    with pytest.raises(irem.InputError, match=sentence):
        Taught(**wrong)


def test_the_rule_is_kept_with_a_run():
    assert GRADIENTS.describe(Taught(3, noise=0.1)) == {"name": "taught", "k": 3, "noise": 0.1}


def test_the_loss_of_a_method_is_that_of_its_rule():
    energy = pull(0.3, straight=True)
    for rule in (Taught(), LastSteps(), RandomSteps(1)):
        energy_of = energy if isinstance(rule, Taught) else Plain()
        method = IREM(energy_of, gradient=rule, num_steps=1, step_size=1.0)
        expected = rule.loss(energy_of, PROBLEM, Y0, 1.0, 1, key=KEY)
        for found, by_rule in zip(method.loss(PROBLEM, Y0, key=KEY), expected, strict=True):
            np.testing.assert_array_equal(found, by_rule)


def test_a_small_grid_learns_the_steps_of_the_waves():
    small = {"energy.width": 8, "energy.layers": 1, "iterations": 300, "batch_size": 4}
    recipe = Recipe.named("maze").override(small | {"optimiser.warm_up": 5})
    assert recipe.settings["gradient"]["name"] == "taught"
    losses = recipe.train(keys=training_keys(0, 1)).history.loss[:, 0]
    assert np.isfinite(losses).all()
    assert losses[-1] < 0.7 * losses[0]
