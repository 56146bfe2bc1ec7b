"""Both gradient rules against finite differences and an unrolled loop, in 64-bit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem._problem import Problem

STEP_SIZE, NUM_STEPS = 0.7, 4


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def small_energy():
    return irem.energy.MLP((3,), (2,), width=5, depth=2, key=jax.random.key(0))


def problem_and_guess():
    x = jnp.asarray([0.3, -0.8, 0.5])
    return Problem(x, jnp.asarray([0.4, -0.2])), jnp.asarray([-0.6, 0.9])


def flatten(energy):
    arrays, rest = eqx.partition(energy, eqx.is_array)
    flat, unravel = jax.flatten_util.ravel_pytree(arrays)
    return flat, lambda vector: eqx.combine(unravel(vector), rest)


def loss_of(gradient, num_steps=NUM_STEPS):
    problem, y0 = problem_and_guess()

    def loss(energy):
        method = irem.IREM(energy, num_steps, STEP_SIZE, gradient)
        return method.loss(problem, y0, key=jax.random.key(0))[0]

    return loss


def walk(energy, y, num_steps):
    """The descent as a plain loop."""
    problem, _ = problem_and_guess()
    for _ in range(num_steps):
        y = y - STEP_SIZE * jax.grad(lambda y: energy(problem.x, y))(y)
    return y


def central_differences(function, point, eps=1e-6):
    """Error of second order in `eps`, about 1e-10 here; rounding adds 1e-16 / 1e-6."""
    units = np.eye(point.size)
    return np.array(
        [(function(point + eps * u) - function(point - eps * u)) / 2 / eps for u in units]
    )


def gradient_of(gradient, energy):
    flat, build = flatten(energy)
    return np.asarray(jax.grad(lambda v: loss_of(gradient)(build(v)))(flat)), flat, build


def test_full_unroll_matches_finite_differences_of_the_whole_descent(x64):
    ours, flat, build = gradient_of(irem.FullUnroll(), small_energy())
    loss = jax.jit(lambda v: loss_of(irem.FullUnroll())(build(v)))
    np.testing.assert_allclose(ours, central_differences(loss, flat), atol=1e-8, rtol=1e-6)


def test_last_step_matches_finite_differences_with_the_earlier_steps_frozen(x64):
    energy = small_energy()
    ours, flat, build = gradient_of(irem.LastStep(), energy)
    problem, y0 = problem_and_guess()
    before_last = walk(energy, y0, NUM_STEPS - 1)
    loss = jax.jit(lambda v: jnp.sum((walk(build(v), before_last, 1) - problem.y) ** 2))
    np.testing.assert_allclose(ours, central_differences(loss, flat), atol=1e-8, rtol=1e-6)


def test_full_unroll_matches_the_gradient_of_a_plain_loop(x64):
    energy = small_energy()
    ours, flat, build = gradient_of(irem.FullUnroll(), energy)
    problem, y0 = problem_and_guess()
    reference = jax.grad(lambda v: jnp.sum((walk(build(v), y0, NUM_STEPS) - problem.y) ** 2))(flat)
    np.testing.assert_allclose(ours, reference, rtol=1e-12, atol=1e-14)


def test_the_two_rules_differ_in_gradient_but_not_in_value(x64):
    energy = small_energy()
    losses = [float(loss_of(rule)(energy)) for rule in (irem.LastStep(), irem.FullUnroll())]
    assert losses[0] == pytest.approx(losses[1], rel=1e-14)
    last, full = (gradient_of(rule, energy)[0] for rule in (irem.LastStep(), irem.FullUnroll()))
    assert np.abs(last - full).max() > 1e-3


def test_one_step_has_nothing_to_truncate(x64):
    energy = small_energy()
    last, full = (
        jax.grad(lambda e, rule=rule: loss_of(rule, num_steps=1)(e))(energy)
        for rule in (irem.LastStep(), irem.FullUnroll())
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), last, full)


def test_memory_of_the_last_step_does_not_grow_with_the_number_of_steps():
    energy, (problem, y0) = small_energy(), problem_and_guess()
    batch = jax.tree.map(lambda leaf: jnp.tile(leaf, (512, 1)), (problem, y0))

    def temporary_bytes(rule, num_steps):
        method = irem.IREM(energy, num_steps, STEP_SIZE, rule)

        def loss(method):
            return jax.vmap(lambda p, y: method.loss(p, y, key=jax.random.key(0))[0])(*batch).sum()

        compiled = jax.jit(jax.grad(loss)).lower(method).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    truncated = [temporary_bytes(irem.LastStep(), n) for n in (2, 16)]
    unrolled = [temporary_bytes(irem.FullUnroll(), n) for n in (2, 16)]
    assert truncated[1] < 1.5 * truncated[0]
    assert unrolled[1] > 3 * unrolled[0]


def test_predict_returns_the_first_guess_and_the_answer_after_every_step():
    method = irem.IREM(small_energy(), NUM_STEPS, STEP_SIZE)
    problem, _ = problem_and_guess()
    path = method.predict(problem.x, 6, key=jax.random.key(3))
    assert path.ys.shape == (7, 2)
    for t in range(7):
        expected = walk(method.energy, path.ys[0], t)
        np.testing.assert_allclose(path.ys[t], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(path.energies[t], method.energy(problem.x, expected), rtol=1e-5)


@pytest.mark.parametrize("setting", [{"num_steps": 0}, {"step_size": -1.0}])
def test_a_descent_that_goes_nowhere_is_refused(setting):
    with pytest.raises(ValueError, match="must be greater than 0"):
        irem.IREM(small_energy(), **setting)


def steep(height):
    """A valley that is overshot: every step of size 1 multiplies the distance by `1 - height`."""
    return irem.energy.from_function(
        lambda x, y: 0.5 * height * jnp.sum((y - x) ** 2), answer_shape=(2,)
    )


@pytest.mark.parametrize("height", [50.0, 1e10])
def test_a_descent_that_ran_away_is_judged_by_a_step_from_its_start(height):
    problem = Problem(jnp.asarray([1.0, 2.0]), jnp.asarray([1.0, 2.0]))
    y0 = jnp.asarray([0.5, 2.5])
    end = lambda h, rule: rule.descend(steep(h), problem.x, y0, 1.0, 6)  # noqa: E731
    one_step = problem.x + (1 - height) * (y0 - problem.x)
    np.testing.assert_allclose(end(height, irem.LastStep()), one_step, rtol=1e-5)
    slope = jax.grad(lambda h: jnp.sum(jnp.log1p(jnp.square(end(h, irem.LastStep())))))(height)
    assert np.isfinite(slope)
    assert slope > 0
    far = np.abs(end(height, irem.LastStep(away=None)))
    assert not np.any(far < 1e6)


def test_a_descent_that_overshoots_a_little_is_left_as_it_is():
    problem = Problem(jnp.asarray([1.0, 2.0]), jnp.asarray([1.0, 2.0]))
    y0 = jnp.asarray([0.5, 2.5])
    ends = [
        rule.descend(steep(4.0), problem.x, y0, 1.0, 6)
        for rule in (irem.LastStep(), irem.LastStep(away=None), irem.FullUnroll())
    ]
    for end in ends:
        np.testing.assert_allclose(end, problem.x + (-3.0) ** 6 * (y0 - problem.x), rtol=1e-5)


@pytest.mark.parametrize("away", [0.0, -1.0, float("nan")])
def test_a_size_that_every_descent_has_is_refused(away):
    with pytest.raises(ValueError, match="`away` must be"):
        irem.LastStep(away=away)
