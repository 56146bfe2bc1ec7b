"""Gradient rules against finite differences and an unrolled loop, in 64-bit."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.problem import Problem

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
        method = irem.IREM(energy, num_steps=num_steps, step_size=STEP_SIZE, gradient=gradient)
        return method.loss(problem, y0, key=jax.random.key(0))[0]

    return loss


def descended(energy, y, num_steps):
    """The descent as a plain loop."""
    problem, _ = problem_and_guess()
    for _ in range(num_steps):
        y = y - STEP_SIZE * jax.grad(lambda y: energy(problem.x, y))(y)
    return y


def central_differences(function, point, eps=1e-6):
    """Error of second order in `eps`, about 1e-10 here; rounding adds 1e-16 / 1e-6."""
    units = eps * np.eye(point.size)
    ahead, behind = np.split(jax.jit(jax.vmap(function))(np.r_[point + units, point - units]), 2)
    return (ahead - behind) / 2 / eps


def gradient_of(gradient, energy):
    flat, build = flatten(energy)
    return np.asarray(jax.jit(jax.grad(lambda v: loss_of(gradient)(build(v))))(flat)), flat, build


def test_full_unroll_matches_finite_differences_of_the_whole_descent(x64):
    ours, flat, build = gradient_of(irem.FullUnroll(), small_energy())
    loss = lambda v: loss_of(irem.FullUnroll())(build(v))  # noqa: E731
    np.testing.assert_allclose(ours, central_differences(loss, flat), atol=1e-8, rtol=1e-6)


every_k = pytest.mark.parametrize("k", range(1, NUM_STEPS + 1))


@every_k
def test_last_steps_match_finite_differences_with_the_earlier_steps_frozen(x64, k):
    energy = small_energy()
    ours, flat, build = gradient_of(irem.LastSteps(k=k), energy)
    problem, y0 = problem_and_guess()
    before_last = eqx.filter_jit(descended)(energy, y0, NUM_STEPS - k)
    loss = lambda v: jnp.sum((descended(build(v), before_last, k) - problem.y) ** 2)  # noqa: E731
    np.testing.assert_allclose(ours, central_differences(loss, flat), atol=1e-8, rtol=1e-6)


@every_k
def test_last_steps_match_the_gradient_of_a_plain_loop_that_is_stopped_before_them(x64, k):
    ours, flat, build = gradient_of(irem.LastSteps(k=k), small_energy())
    problem, y0 = problem_and_guess()

    def loss(vector):
        y = jax.lax.stop_gradient(descended(build(vector), y0, NUM_STEPS - k))
        return jnp.sum((descended(build(vector), y, k) - problem.y) ** 2)

    np.testing.assert_allclose(ours, jax.jit(jax.grad(loss))(flat), rtol=1e-12, atol=1e-14)


def test_full_unroll_matches_the_gradient_of_a_plain_loop(x64):
    energy = small_energy()
    ours, flat, build = gradient_of(irem.FullUnroll(), energy)
    problem, y0 = problem_and_guess()
    loss = lambda v: jnp.sum((descended(build(v), y0, NUM_STEPS) - problem.y) ** 2)  # noqa: E731
    np.testing.assert_allclose(ours, jax.jit(jax.grad(loss))(flat), rtol=1e-12, atol=1e-14)


def test_rules_differ_in_gradient_but_not_in_value(x64):
    energy = small_energy()
    rules = [*(irem.LastSteps(k=k) for k in range(1, NUM_STEPS)), irem.FullUnroll()]
    losses = [float(eqx.filter_jit(loss_of(rule))(energy)) for rule in rules]
    assert losses == pytest.approx([losses[0]] * len(rules), rel=1e-14)
    gradients = [gradient_of(rule, energy)[0] for rule in rules]
    for i in range(len(rules)):
        for j in range(i):
            assert np.abs(gradients[i] - gradients[j]).max() > 1e-3


@pytest.mark.parametrize("num_steps", [1, NUM_STEPS])
def test_as_many_last_steps_as_there_are_is_the_full_unroll(x64, num_steps):
    energy = small_energy()
    last, full = (
        eqx.filter_jit(eqx.filter_grad(loss_of(rule, num_steps)))(energy)
        for rule in (irem.LastSteps(k=num_steps), irem.FullUnroll())
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), last, full)


@pytest.mark.parametrize("k", [NUM_STEPS + 1, 100])
def test_more_last_steps_than_there_are_is_refused(k):
    message = rf"`LastSteps\({k}\)` differentiates more steps than .* has \({NUM_STEPS}\)"
    with pytest.raises(irem.InputError, match=message):
        irem.IREM(small_energy(), num_steps=NUM_STEPS, gradient=irem.LastSteps(k=k))


@pytest.mark.parametrize("k", [0, -1])
def test_to_differentiate_no_step_is_refused(k):
    with pytest.raises(irem.InputError, match=f"`k` must be greater than 0, got {k}"):
        irem.LastSteps(k=k)


def test_memory_grows_with_the_steps_that_are_differentiated_and_not_with_the_others():
    energy, (problem, y0) = small_energy(), problem_and_guess()
    batch = jax.tree.map(lambda leaf: jnp.tile(leaf, (512, 1)), (problem, y0))

    def temporary_bytes(rule, num_steps):
        method = irem.IREM(energy, num_steps=num_steps, step_size=STEP_SIZE, gradient=rule)

        def loss(method):
            return jax.vmap(lambda p, y: method.loss(p, y, key=jax.random.key(0))[0])(*batch).sum()

        compiled = jax.jit(jax.grad(loss)).lower(method).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    truncated = [temporary_bytes(irem.LastSteps(), n) for n in (2, 16)]
    unrolled = [temporary_bytes(irem.FullUnroll(), n) for n in (2, 16)]
    assert truncated[1] < 1.5 * truncated[0]
    assert unrolled[1] > 3 * unrolled[0]
    several = [temporary_bytes(irem.LastSteps(k=k), 20) for k in (2, 16)]
    assert several[1] > 3 * several[0]


def test_predict_returns_the_first_guess_and_the_answer_after_every_step():
    method = irem.IREM(small_energy(), num_steps=NUM_STEPS, step_size=STEP_SIZE)
    problem, _ = problem_and_guess()
    path = method.predict(problem.x, 6, key=jax.random.key(3))
    assert path.ys.shape == (7, 2)
    for t in range(7):
        expected = descended(method.energy, path.ys[0], t)
        np.testing.assert_allclose(path.ys[t], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(path.energies[t], method.energy(problem.x, expected), rtol=1e-5)


@pytest.mark.parametrize("setting", [{"num_steps": 0}, {"step_size": -1.0}])
def test_a_descent_without_steps_is_refused(setting):
    with pytest.raises(ValueError, match="must be greater than 0"):
        irem.IREM(small_energy(), **setting)


def steep(height):
    """A parabola: every step of size 1 multiplies the distance to its minimum by `1 - height`."""
    return irem.energy.from_function(
        lambda x, y: 0.5 * height * jnp.sum((y - x) ** 2), answer_shape=(2,)
    )


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("height", [50.0, 1e10])
def test_a_descent_that_diverges_is_replaced_by_its_last_steps_from_the_start(height, k):
    problem = Problem(jnp.asarray([1.0, 2.0]), jnp.asarray([1.0, 2.0]))
    y0 = jnp.asarray([0.5, 2.5])
    rule = irem.LastSteps(k=k)
    end = lambda h, rule: rule.descend(steep(h), problem.x, y0, 1.0, 6)  # noqa: E731
    from_start = problem.x + (1 - height) ** k * (y0 - problem.x)
    np.testing.assert_allclose(end(height, rule), from_start, rtol=1e-5)
    slope = jax.grad(lambda h: jnp.sum(jnp.log1p(jnp.abs(end(h, rule)))))(height)
    assert np.isfinite(slope)
    assert slope > 0
    far = np.abs(end(height, irem.LastSteps(k=k, diverged_beyond=None)))
    assert not np.any(far < 1e6)


def test_a_descent_that_grows_within_the_bound_is_left_as_it_is():
    problem = Problem(jnp.asarray([1.0, 2.0]), jnp.asarray([1.0, 2.0]))
    y0 = jnp.asarray([0.5, 2.5])
    ends = [
        rule.descend(steep(4.0), problem.x, y0, 1.0, 6)
        for rule in (irem.LastSteps(), irem.LastSteps(diverged_beyond=None), irem.FullUnroll())
    ]
    for end in ends:
        np.testing.assert_allclose(end, problem.x + (-3.0) ** 6 * (y0 - problem.x), rtol=1e-5)


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan")])
def test_a_bound_that_every_descent_exceeds_is_refused(bound):
    with pytest.raises(ValueError, match="`diverged_beyond` must be"):
        irem.LastSteps(diverged_beyond=bound)
