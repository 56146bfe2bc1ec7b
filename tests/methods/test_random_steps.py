"""Training for many steps: points of the loss, noise, and the weight of coming to rest."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy import AbstractEnergy
from irem.formats import Vectors
from irem.methods import IREM, LastSteps, RandomSteps
from irem.problem import Problem

KEY = jax.random.key(0)
X, Y0, Y = jnp.array([2.0]), jnp.array([10.0]), jnp.array([3.0])


class Bowl(AbstractEnergy):
    """E(x, y) = weight/2 (y - x)^2: with steps of size 1, y - x shrinks by 1 - weight."""

    weight: jax.Array

    @property
    def format(self):
        return Vectors((1,), (1,))

    def landscape(self, x):
        return lambda y: 0.5 * jnp.sum(self.weight * (y - x) ** 2)


BOWL = Bowl(jnp.asarray(0.5))


def path(rule, num_steps, key=KEY, energy=BOWL):
    return rule.path(energy, X, Y0, 1.0, num_steps, key=key)


def test_the_last_points_follow_each_other_after_a_random_number_of_steps():
    lengths = set()
    for seed in range(20):
        found = np.ravel(path(RandomSteps(2), 5, jax.random.key(seed)))
        np.testing.assert_allclose(found[1:] - 2, (found[:-1] - 2) / 2, rtol=1e-5)
        lengths.add(round(np.log2(8 / (found[0] - 2))))
    assert lengths == {0, 1, 2, 3}


def test_only_the_last_steps_are_differentiated():
    def end(weight, rule):
        return rule.path(Bowl(weight), X, Y0, 1.0, 4, key=KEY)[-1, 0]

    before = float(path(RandomSteps(2), 4)[0, 0])
    # d/dw of 2 + (before - 2) (1 - w)^2
    expected = -2 * (before - 2) * 0.5
    np.testing.assert_allclose(jax.grad(end)(0.5, RandomSteps(2)), expected, rtol=1e-5)


def test_noise_is_added_before_the_last_steps_alone():
    rule = RandomSteps(1, noise=0.5)
    starts = {float(path(rule, 6, jax.random.key(s))[0, 0]) for s in range(8)}
    quiet = {float(path(RandomSteps(1), 6, jax.random.key(s))[0, 0]) for s in range(8)}
    assert len(starts) > len(quiet)
    found = np.ravel(path(rule, 6))
    np.testing.assert_allclose(found[1] - 2, (found[0] - 2) / 2, rtol=1e-5)


def test_a_descent_that_diverges_begins_again():
    steep = Bowl(jnp.asarray(1e6))
    assert np.abs(path(RandomSteps(1), 9, energy=steep)[0]).max() < 1e6


def test_without_random_numbers_it_is_the_descent_of_the_paper():
    rules = (RandomSteps(2), LastSteps(2))
    ends = [rule.descend(BOWL, X, Y0, 1.0, 5) for rule in rules]
    np.testing.assert_array_equal(*ends)


def loss_of(**settings):
    method = IREM(BOWL, num_steps=3, step_size=1.0, **settings)
    return method.loss(Problem(X, Y), Y0, key=KEY)


def test_the_loss_is_the_mean_over_the_points_of_the_rule():
    loss, end = loss_of(gradient=RandomSteps(3))
    points = 2 + 8 * 0.5 ** np.arange(1, 4)
    np.testing.assert_allclose(loss, np.mean((points - 3) ** 2), rtol=1e-5)
    np.testing.assert_allclose(end, points[-1:], rtol=1e-6)


def test_the_loss_of_other_rules_is_about_the_end_alone():
    loss, end = loss_of(gradient=LastSteps(2))
    np.testing.assert_allclose(end, [3.0], rtol=1e-6)
    np.testing.assert_allclose(loss, 0.0, atol=1e-6)


def test_coming_to_rest_has_a_weight():
    plain, rest = (loss_of(gradient=RandomSteps(3, fixed_point=w))[0] for w in (0.0, 0.1))
    np.testing.assert_allclose(rest - plain, 0.1 * 1.0**2, rtol=1e-4)  # the last step: 4 to 3


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"noise": -1.0}, {"noise": float("nan")}, {"fixed_point": -1.0}]
)
def test_other_settings_are_refused(wrong):
    with pytest.raises(irem.InputError):
        RandomSteps(**wrong)


def test_more_steps_than_there_are_cannot_be_differentiated():
    with pytest.raises(irem.InputError, match=r"RandomSteps\(6\)"):
        IREM(BOWL, gradient=RandomSteps(6), num_steps=5)


def test_the_rule_is_kept_with_a_run():
    method = IREM(BOWL, gradient=RandomSteps(2, noise=0.5))
    kept = irem.methods.GRADIENTS.describe(method.gradient)
    assert kept == {"name": "random-steps", "k": 2, "noise": 0.5, "fixed_point": 0.0}
