"""PonderNet against a computation by hand: three steps, of which the last is forced to halt."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irem
from irem import Problem
from irem.formats import Vectors
from irem.methods import PonderNet
from irem.methods.ponder import log_halting, log_prior
from irem.nn import AbstractNetwork

KEY = jax.random.key(0)
# Halting at a step with probability 1/2, then 1/4, then whatever the last step says.
LAMBDA = (0.5, 0.25, 0.9)
P = np.array([0.5, 0.5 * 0.25, 0.5 * 0.75])
ANSWERS = ((1.0, 0.0), (2.0, 1.0), (3.0, 5.0))
TRUTH = (2.0, 3.0)
# Squared distances of the answers from the truth.
ERRORS = np.array([1 + 9, 0 + 4, 1 + 4])
# A geometric distribution that halts with 0.8, cut after three steps.
PRIOR = np.array([0.8, 0.16, 0.032]) / 0.992
WEIGHT = 0.01
DIVERGENCE = np.sum(P * np.log(P / PRIOR))


class Script(AbstractNetwork):
    """Gives the answers and the logits of a list, one after the other.

    Its place in the list follows from the answer it is given, which is zero at first.
    """

    answers: jax.Array
    logits: jax.Array

    @property
    def num_features(self):
        return 1

    def __call__(self, x, y):
        del x
        given = jnp.concatenate([jnp.zeros_like(self.answers[:1]), self.answers[:-1]])
        step = jnp.argmin(jnp.abs(given - y).sum(axis=1))
        return self.answers[step], self.logits[step][None]

    @property
    def format(self):
        return Vectors((1,), self.answers.shape[1:])


def scripted(lambdas=LAMBDA, answers=ANSWERS, **options):
    """A PonderNet that follows a script; its halting unit hands the features on."""
    lambdas = np.asarray(lambdas)
    script = Script(jnp.asarray(answers), jnp.asarray(np.log(lambdas / (1 - lambdas))))
    unit = eqx.filter_eval_shape(lambda: eqx.nn.Linear(1, 1, key=KEY))
    one, zero = jnp.ones((1, 1)), jnp.zeros(1)
    unit = eqx.tree_at(lambda u: (u.weight, u.bias), unit, (one, zero))
    return PonderNet(script, unit, **{"num_steps": len(lambdas), **options})


@eqx.filter_jit
def loss_of(method, problem):
    return method.loss(problem, jnp.zeros_like(problem.y), key=KEY)


@eqx.filter_jit
def answer_of(method, key):
    return method.answer(X, key=key)


X = jnp.zeros(1)
PROBLEM = Problem(X, jnp.asarray(TRUTH))


def test_probabilities_of_halting_and_the_prior_are_those_by_hand():
    logits = np.log(np.array(LAMBDA) / (1 - np.array(LAMBDA)))
    np.testing.assert_allclose(np.exp(log_halting(jnp.asarray(logits))), P, rtol=1e-6)
    np.testing.assert_allclose(np.exp(log_prior(0.8, 3)), PRIOR, rtol=1e-6)


def test_loss_is_the_expected_error_and_the_price_of_the_prior_by_hand():
    value, end = loss_of(scripted(), PROBLEM)
    # Times the two entries of the answer: the trainer divides by them.
    assert value == pytest.approx(2 * (P @ ERRORS / 2 + WEIGHT * DIVERGENCE), rel=1e-6)
    np.testing.assert_array_equal(end, ANSWERS[-1])


def test_weight_and_prior_enter_as_they_are_set():
    even = np.full(3, 1 / 3)
    # A prior of tiny probability is flat over the few steps there are.
    value, _ = loss_of(scripted(prior=1e-6, weight=3.0), PROBLEM)
    price = 3.0 * np.sum(P * np.log(P / even))
    assert value == pytest.approx(P @ ERRORS + 2 * price, rel=1e-5)
    value, _ = loss_of(scripted(weight=0.0), PROBLEM)
    assert value == pytest.approx(P @ ERRORS, rel=1e-6)


def test_padded_entries_count_neither_as_errors_nor_as_entries():
    answers = [(7.0, *answer, -7.0) for answer in ANSWERS]
    mask = jnp.asarray([False, True, True, False])
    problem = Problem(X, jnp.asarray([0.0, *TRUTH, 0.0]), mask)
    value, _ = loss_of(scripted(answers=answers), problem)
    assert value == pytest.approx(float(loss_of(scripted(), PROBLEM)[0]), rel=1e-6)
    everywhere, _ = loss_of(scripted(answers=answers), Problem(X, problem.y))
    assert everywhere > value + 1


def test_one_step_has_nothing_to_decide():
    method = scripted(lambdas=(0.3,), answers=ANSWERS[:1])
    value, _ = loss_of(method, PROBLEM)
    assert value == pytest.approx(ERRORS[0], rel=1e-6)
    assert answer_of(method, KEY)[1] == 1


def many_answers(method, count=20_000):
    keys = jax.random.split(KEY, count)
    return map(np.asarray, jax.vmap(lambda key: answer_of(method, key))(keys))


def test_halting_steps_are_drawn_from_their_probabilities():
    answers, steps = many_answers(scripted())
    np.testing.assert_array_equal(answers, np.array(ANSWERS)[steps - 1])
    frequencies = np.bincount(steps, minlength=4)[1:] / len(steps)
    standard_errors = np.sqrt(P * (1 - P) / len(steps))
    assert (np.abs(frequencies - P) < 4 * standard_errors).all()


@pytest.mark.parametrize(("chance", "step"), [(1e-6, 3), (1 - 1e-6, 1)])
def test_it_halts_at_the_first_step_it_can_and_at_the_last_it_must(chance, step):
    # Among a hundred draws one in a million does not occur.
    answers, steps = many_answers(scripted(lambdas=(chance,) * 3), count=100)
    assert (steps == step).all()
    assert (answers == ANSWERS[step - 1]).all()


def test_the_expected_answer_is_the_mean_under_the_probabilities_of_halting():
    method = scripted(halting="expected")
    answer, steps = answer_of(method, KEY)
    np.testing.assert_allclose(answer, P @ np.array(ANSWERS), rtol=1e-6)
    assert steps == 3
    np.testing.assert_array_equal(answer, answer_of(method, jax.random.key(1))[0])


def test_predict_returns_zero_and_every_answer_of_the_script():
    path = scripted().predict(X, 3, key=KEY)
    np.testing.assert_array_equal(path.ys, [(0.0, 0.0), *ANSWERS])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=4))
def test_probabilities_of_halting_are_those_of_their_definition(logits):
    with jax.enable_x64(True), np.errstate(over="ignore"):
        halting = np.exp(log_halting(jnp.asarray(logits)))
        chances = 1 / (1 + np.exp(-np.array([*logits[:-1], np.inf])))
        left = np.concatenate([[1], np.cumprod(1 / (1 + np.exp(np.array(logits[:-1]))))])
    assert halting.sum() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(halting, chances * left, rtol=1e-9, atol=1e-15)


def test_gradient_matches_finite_differences_through_all_steps():
    task = irem.tasks.get("addition", size=2)
    # A large weight, so that an error in its part of the gradient would not pass.
    options = {"network": {"width": 6, "depth": 2}, "num_steps": 3, "weight": 1.0}
    with jax.enable_x64(True):
        method = eqx.filter_eval_shape(lambda: PonderNet.for_task(task, **options, key=KEY))
        rng = np.random.default_rng(0)
        method = jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.normal(size=leaf.shape)), method)
        flat, unravel = jax.flatten_util.ravel_pytree(method)
        problem = Problem(jnp.asarray([[0.3, -0.8], [0.5, 0.9]]), jnp.asarray([0.8, 0.1]))

        def loss(vector):
            return unravel(vector).loss(problem, problem.y, key=KEY)[0]

        # Error of second order in the step, about 1e-10 here; rounding adds 1e-16 / 1e-6.
        steps = 1e-6 * np.eye(flat.size)
        losses = jax.jit(jax.vmap(loss))(np.concatenate([flat + steps, flat - steps]))
        ahead, behind = np.split(np.asarray(losses), 2)
        gradient = jax.jit(jax.grad(loss))(flat)
        np.testing.assert_allclose(gradient, (ahead - behind) / 2e-6, atol=1e-8, rtol=1e-6)
        # Without a live unit there would be nothing to differentiate.
        assert np.abs(unravel(gradient).halt.weight).max() > 1e-3


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"num_steps": 0}, "`num_steps` must be greater than 0, got 0"),
        ({"halting": "mean"}, "Unknown halting 'mean'; known are sample, expected"),
        ({"prior": 0.0}, "`prior` is a probability between 0 and 1, got 0.0"),
        ({"prior": 1.0}, "`prior` is a probability between 0 and 1, got 1.0"),
        ({"prior": float("nan")}, "`prior` is a probability between 0 and 1, got nan"),
        ({"weight": -0.1}, "`weight` must be finite and 0 or more, got -0.1"),
        ({"weight": float("inf")}, "`weight` must be finite and 0 or more, got inf"),
        ({"weight": float("nan")}, "`weight` must be finite and 0 or more, got nan"),
    ],
)
def test_bad_settings_are_refused(setting, message):
    with pytest.raises(irem.InputError, match=message):
        scripted(**setting)
