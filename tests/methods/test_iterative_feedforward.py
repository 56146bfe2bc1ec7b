"""The diffusion that iterative feedforward undoes, against Gaussians conditioned in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import Problem
from irem.formats import Vectors
from irem.methods import IterativeFeedforward
from irem.methods.iterative_feedforward import reverse
from irem.nn import AbstractNetwork

KEY = jax.random.key(0)
STEPS = 5
COUNT = 100_000
TRUTH = 1.5
X = jnp.zeros(1)

every_step = pytest.mark.parametrize("t", range(1, STEPS + 1))


class Oracle(AbstractNetwork):
    """Returns the true first entry of the answer, and in the others what it was given.

    Entries of an answer diffuse each on its own. So the state of the first entry is that of a
    perfect network, while the second answer is this state and the third the share of noise.
    """

    @property
    def num_features(self):
        return 1

    def __call__(self, x, noisy, noise):
        del x
        return jnp.stack([jnp.asarray(TRUTH), noisy[0], noise]), jnp.zeros(1)

    @property
    def format(self):
        return Vectors((1,), (3,))


def joint(t):
    """Mean and covariance of the states after t - 1 and t steps, given that the answer is TRUTH.

    By hand: the second state is a share of the first and independent noise, such that the signal
    shrinks from sqrt(1 - (t - 1) / T) to sqrt(1 - t / T) and the variance grows to t / T.
    """
    earlier, later = (t - 1) / STEPS, t / STEPS
    share = np.sqrt((1 - later) / (1 - earlier))
    mean = TRUTH * np.sqrt([1 - earlier, 1 - later])
    return mean, np.array([[earlier, share * earlier], [share * earlier, later]])


def condition(t, now):
    """Mean and variance of the earlier state, given the later one."""
    mean, covariance = joint(t)
    gain = covariance[0, 1] / covariance[1, 1]
    return mean[0] + gain * (now - mean[1]), covariance[0, 0] - gain * covariance[1, 0]


compiled_reverse = jax.jit(reverse, static_argnums=3)


def draw_reverse(t, now, truth, count):
    now, truth = (jnp.asarray(np.full(count, value)) for value in (now, truth))
    return np.asarray(compiled_reverse(now, truth, jnp.asarray(t), STEPS, KEY))


@every_step
def test_a_reverse_step_has_the_mean_of_the_conditioned_gaussian(t):
    with jax.enable_x64(True):
        for now in (-0.7, 0.4):
            # The same key, so that the same noise is taken away.
            mean = draw_reverse(t, now, TRUTH, 3) - draw_reverse(t, 0.0, 0.0, 3)
            np.testing.assert_allclose(mean, condition(t, now)[0], rtol=1e-12, atol=1e-12)


@every_step
def test_a_reverse_step_has_the_spread_of_the_conditioned_gaussian(t):
    draws = draw_reverse(t, 0.4, TRUTH, COUNT)
    mean, variance = condition(t, 0.4)
    # A sample variance of Gaussians has a standard error of sqrt(2 / n) of itself; at the first
    # step of the diffusion nothing is left to chance but rounding.
    assert abs(draws.var() - variance) <= 4 * variance * np.sqrt(2 / COUNT) + 1e-12
    assert abs(draws.mean() - mean) <= 4 * np.sqrt(variance / COUNT) + 1e-5


def test_training_gives_the_network_every_step_of_the_diffusion_with_its_mean_and_variance():
    method = IterativeFeedforward(Oracle(), num_steps=STEPS)
    problem = Problem(X, jnp.asarray([TRUTH, 0.0, 0.0]))
    loss = jax.jit(jax.vmap(lambda key: method.loss(problem, problem.y, key=key)[1]))
    _, states, levels = np.asarray(loss(jax.random.split(KEY, COUNT))).T
    steps = np.rint(levels * STEPS).astype(int)
    np.testing.assert_allclose(levels, steps / STEPS, rtol=1e-6)
    counts = np.bincount(steps, minlength=STEPS + 1)
    assert counts[0] == 0
    share = 1 / STEPS
    assert (np.abs(counts[1:] / COUNT - share) < 4 * np.sqrt(share * (1 - share) / COUNT)).all()
    for t in range(1, STEPS + 1):
        mean, covariance = joint(t)
        given, variance = states[steps == t], covariance[1, 1]
        assert abs(given.mean() - mean[1]) < 4 * np.sqrt(variance / len(given))
        assert abs(given.var() - variance) < 4 * variance * np.sqrt(2 / len(given))


@pytest.fixture(scope="module")
def chains():
    """Many answers of the oracle, to three steps beyond those of the diffusion."""
    method = IterativeFeedforward(Oracle(), num_steps=STEPS)
    predict = jax.jit(jax.vmap(lambda key: method.predict(X, STEPS + 3, key=key).ys))
    return np.asarray(predict(jax.random.split(KEY, COUNT)))


def test_noise_shrinks_to_that_of_the_first_step_and_stays_there(chains):
    levels = [1.0, 0.8, 0.6, 0.4, 0.2, 0.2, 0.2, 0.2]
    np.testing.assert_allclose(chains[:, 1:, 2], np.tile(levels, (COUNT, 1)), rtol=1e-6)


def test_the_first_guess_is_the_noise_that_the_network_is_given_first(chains):
    np.testing.assert_array_equal(chains[:, 0, 0], chains[:, 1, 1])


def test_states_of_a_perfect_network_have_the_mean_and_spread_of_the_diffusion(chains):
    states = chains[:, 1:, 1]
    for n, t in enumerate([5, 4, 3, 2, 1, 1, 1, 1]):
        mean, covariance = joint(t)
        variance = covariance[1, 1]
        assert abs(states[:, n].mean() - mean[1]) < 4 * np.sqrt(variance / COUNT)
        assert abs(states[:, n].var() - variance) < 4 * variance * np.sqrt(2 / COUNT)


def test_successive_states_of_a_perfect_network_go_together_as_in_the_diffusion(chains):
    states = chains[:, 1 : STEPS + 1, 1]
    for n, t in enumerate(range(STEPS, 1, -1)):
        _, expected = joint(t)
        later, earlier = states[:, n], states[:, n + 1]
        # The variance of a product of two Gaussians, by Isserlis' theorem.
        standard_error = np.sqrt((expected[0, 0] * expected[1, 1] + expected[0, 1] ** 2) / COUNT)
        assert abs(np.cov(earlier, later)[0, 1] - expected[0, 1]) < 4 * standard_error


def test_beyond_the_diffusion_noise_is_drawn_afresh(chains):
    first, second = chains[:, STEPS + 1, 1], chains[:, STEPS + 2, 1]
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(COUNT)


def test_the_chain_ends_exactly_at_the_answer_of_a_perfect_network(chains):
    assert (chains[:, 1:, 0] == TRUTH).all()
    method = IterativeFeedforward(Oracle(), num_steps=STEPS)
    answer, steps = method.answer(X, key=KEY)
    assert answer[0] == TRUTH
    assert steps == STEPS


def test_the_last_reverse_step_is_the_answer_of_the_network_itself():
    # Nothing of the noise is left, so the state after it is known.
    draws = draw_reverse(1, 0.4, TRUTH, 100)
    np.testing.assert_allclose(draws, TRUTH, rtol=1e-6)


def test_a_diffusion_of_one_step_starts_from_pure_noise_and_answers_at_once():
    method = IterativeFeedforward(Oracle(), num_steps=1)
    path = method.predict(X, 1, key=KEY).ys
    np.testing.assert_array_equal(path[1], [TRUTH, path[0, 0], 1.0])


def test_a_longer_prediction_begins_as_a_shorter_one():
    method = IterativeFeedforward(Oracle(), num_steps=STEPS)
    long, short = (method.predict(X, n, key=KEY).ys for n in (7, 3))
    np.testing.assert_array_equal(long[:4], short)


def test_the_loss_is_the_squared_error_of_what_the_network_gives_on_real_entries():
    method = IterativeFeedforward(Oracle(), num_steps=STEPS)
    y = jnp.asarray([TRUTH + 2, 0.0, 0.0])
    value, answer = method.loss(Problem(X, y, jnp.asarray([True, False, False])), y, key=KEY)
    assert value == 4
    value, _ = method.loss(Problem(X, y), y, key=KEY)
    assert value == pytest.approx(4 + float(answer[1]) ** 2 + float(answer[2]) ** 2, rel=1e-6)


def test_a_diffusion_without_steps_is_refused():
    with pytest.raises(irem.InputError, match="`num_steps` must be greater than 0, got 0"):
        IterativeFeedforward(Oracle(), num_steps=0)
