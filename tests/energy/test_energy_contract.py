"""What every energy of the public surface promises, whatever network is inside."""

import operator

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy import ENERGIES, AbstractEnergy, from_function
from irem.formats import Vectors

KEY = jax.random.key(0)
COUNT = 3
LAYERS = {"width": 16, "depth": 2}
SIZES = {
    "conv": {"width": 4, "depth": 1, "head": 1},  # a depth of 1 is ten layers already
    "polynomial": {"width": 3, "depth": 2},
}
# A point on the landscapes of these is no answer: they have tests of their own.
OTHER_POINTS = ("min-plus", "low-rank", "groups", "grid")
NAMES = [name for name in ENERGIES if name not in OTHER_POINTS]
# An energy is built for the first of these that it accepts.
TASKS = (irem.tasks.Addition(size=5), irem.tasks.ShortestPath(), irem.tasks.Denoise())


class Valley(eqx.Module):
    """A hand-written energy with parameters of its own."""

    weight: jax.Array

    def __call__(self, x, y):
        return jnp.sum(jnp.cosh(self.weight @ x - y))


def build(name):
    """The energy called `name`, and the shapes of its problems and answers."""
    if name == "from_function":
        weight = 0.3 * jax.random.normal(KEY, (4, 3))
        return from_function(Valley(weight), answer_shape=(4,)), (3,), (4,)
    for task in TASKS:
        try:
            energy = ENERGIES[name].for_task(task, **SIZES.get(name, LAYERS), key=KEY)
        except irem.InputError:
            continue
        if isinstance(task.format, Vectors):
            return energy, task.format.x_shape, task.format.y_shape
        return energy, (5, 5), (5, 5)
    raise AssertionError(f"{name} accepts none of {TASKS}")


def cast(energy, dtype):
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf, dtype) if eqx.is_array(leaf) else leaf, energy
    )


def draw(x_shape, y_shape, dtype):
    rng = np.random.default_rng(0)
    # Lists, because an index into an array of JAX compiles.
    x, y = (
        [jnp.asarray(rng.normal(size=shape), dtype) for _ in range(COUNT)]
        for shape in (x_shape, y_shape)
    )
    return x, y


@pytest.fixture(scope="module", params=[*NAMES, "from_function"])
def case(request):
    energy, x_shape, y_shape = build(request.param)
    return energy, *draw(x_shape, y_shape, jnp.float32)


def value_and_gradient(energy, x, y):
    return jax.value_and_grad(lambda y: energy(x, y))(y)


compiled = eqx.filter_jit(value_and_gradient)
mapped = eqx.filter_jit(
    lambda energy, x, y: jax.vmap(lambda x, y: value_and_gradient(energy, x, y))(x, y)
)


def assert_close(a, b):
    """Equal up to the rounding of sums of a few dozen terms."""
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), a, b)


def test_it_is_an_energy_that_knows_the_shape_of_its_answers(case):
    energy, x, y = case
    assert isinstance(energy, AbstractEnergy)
    assert energy.format.answer_shape(x[0]) == y[0].shape


def test_value_is_one_finite_number_and_its_gradient_is_shaped_like_the_answer(case):
    energy, x, y = case
    value, gradient = compiled(energy, x[0], y[0])
    assert value.shape == ()
    assert gradient.shape == y[0].shape
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 0


def test_compiled_equals_eager(case):
    energy, x, y = case
    assert_close(compiled(energy, x[0], y[0]), value_and_gradient(energy, x[0], y[0]))


def test_mapped_equals_a_loop(case):
    energy, x, y = case
    loop = [compiled(energy, x[i], y[i]) for i in range(COUNT)]
    together = mapped(energy, np.stack(x), np.stack(y))
    assert_close(together, jax.tree.map(lambda *parts: np.stack(parts), *loop))


def test_landscape_of_a_problem_is_its_energy(case):
    energy, x, y = case
    assert_close(energy.landscape(x[1])(y[1]), compiled(energy, x[1], y[1])[0])


def test_a_stack_of_problems_is_not_one_alone(case):
    energy, x, _ = case
    batch, alone = energy.format.as_batch(np.stack(x))
    assert not alone
    assert jax.tree.leaves(batch)[0].shape == (COUNT, *x[0].shape)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(case, bad):
    energy, x, _ = case
    x = np.array(x)
    x.flat[3] = bad
    with pytest.raises(ValueError, match=rf"`x` must be finite, but 1 of its {x.size} numbers"):
        energy.format.as_batch(x)


def test_numbers_too_large_for_32_bits_are_refused(case):
    energy, x, _ = case
    x = np.asarray(x, np.float64)
    x.flat[0] = 1e300
    with pytest.raises(ValueError, match=r"1 of its \d+ numbers .*too large for 32 bits"):
        energy.format.as_batch(x)


@pytest.mark.parametrize("bad", [np.array(["one", "two"]), np.ones((2, 2), complex)])
def test_arrays_of_other_things_are_refused(case, bad):
    energy, _, _ = case
    with pytest.raises(ValueError, match=r"`x` must hold numbers, got an array of"):
        energy.format.as_batch(bad)


def test_an_empty_stack_is_refused(case):
    energy, x, _ = case
    with pytest.raises(ValueError, match=r"`x`.* (shape|stack)"):
        energy.format.as_batch(np.asarray(x)[:0])


@pytest.mark.parametrize("name", [*NAMES, "from_function"])
def test_second_derivative_agrees_with_central_differences_in_64_bits(name):
    energy, x_shape, y_shape = build(name)
    with jax.enable_x64(True):
        x, y = draw(x_shape, y_shape, jnp.float64)
        parameters, rest = eqx.partition(cast(energy, jnp.float64), eqx.is_inexact_array)
        rng = np.random.default_rng(1)
        direction = jax.tree.map(lambda p: jnp.asarray(rng.normal(size=p.shape)), parameters)
        probe = jnp.asarray(rng.normal(size=y_shape))

        def slope(parameters):
            """The derivative in the answer, along `probe`."""
            energy = eqx.combine(parameters, rest)
            return jnp.vdot(jax.grad(lambda y: energy(x[0], y))(y[0]), probe)

        @jax.jit
        def both(parameters):
            exact = jax.grad(slope)(parameters)
            # Truncation is of order step^2, rounding of order eps / step.
            step = 1e-5
            ahead, behind = jax.lax.map(
                lambda by: slope(jax.tree.map(lambda p, d: p + by * d, parameters, direction)),
                jnp.array([step, -step]),
            )
            along = jax.tree.map(jnp.vdot, exact, direction)
            return exact, jax.tree.reduce(operator.add, along), (ahead - behind) / (2 * step)

        exact, along, differences = both(parameters)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(exact))
        assert abs(along) > 1e-3
        np.testing.assert_allclose(along, differences, rtol=1e-6)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("name", [*NAMES, "from_function"])
def test_precision_is_kept(name, dtype):
    energy, x_shape, y_shape = build(name)
    with jax.enable_x64(True):
        x, y = draw(x_shape, y_shape, dtype)
        energy = cast(energy, dtype)
        value, gradient = eqx.filter_eval_shape(value_and_gradient, energy, x[0], y[0])
    assert value.dtype == dtype
    assert gradient.dtype == dtype


@pytest.mark.parametrize("name", NAMES)
def test_settings_build_an_energy_of_the_same_size(name):
    first, _, _ = build(name)
    task = next(t for t in TASKS if accepts(name, t))
    second = ENERGIES[name].for_task(task, **first.settings(), key=jax.random.key(1))
    leaves, others = jax.tree.leaves(first), jax.tree.leaves(second)
    assert [leaf.shape for leaf in leaves] == [leaf.shape for leaf in others]
    drawn = [(a, b) for a, b in zip(leaves, others, strict=True) if a.any()]
    assert len(drawn) > len(leaves) / 2
    assert not any(np.array_equal(a, b) for a, b in drawn)


def accepts(name, task):
    try:
        ENERGIES[name].for_task(task, width=16, depth=2, key=KEY)
    except irem.InputError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("setting", ["width", "depth"])
def test_an_energy_without_units_is_refused(name, setting):
    task = next(t for t in TASKS if accepts(name, t))
    with pytest.raises(ValueError, match=rf"`{setting}` must be greater than 0, got 0"):
        ENERGIES[name].for_task(task, **{setting: 0}, key=KEY)


def test_a_hand_written_energy_takes_any_pytree_and_refuses_arrays_without_a_stack_axis():
    energy = from_function(lambda x, y: jnp.sum((x["scale"] * y - x["shift"]) ** 2))
    x = {"scale": jnp.array([2.0]), "shift": jnp.array([[1.0, 3.0]])}
    first = jax.tree.map(lambda leaf: leaf[0], x)
    assert float(energy(first, jnp.array([1.0, 2.0]))) == 2.0
    assert energy.format.answer_shape(first) is None
    with pytest.raises(ValueError, match=r"write `x\[None\]` for one problem"):
        energy.format.as_batch({"scale": np.array(2.0), "shift": np.array([[1.0, 3.0]])})
    with pytest.raises(ValueError, match=r"the problems along its first axis"):
        energy.format.as_batch({"scale": np.ones(2), "shift": np.ones((3, 2))})


def test_a_hand_written_energy_keeps_integers_and_truth_values():
    # Indices and masks are of no use as floats.
    energy = from_function(lambda x, y: jnp.sum(jnp.where(x["mask"], y[x["index"]], 0.0)))
    x = {"mask": np.array([[True, False]]), "index": np.array([[1, 0]])}
    batch, _ = energy.format.as_batch(x)
    assert batch["mask"].dtype == bool
    assert jnp.issubdtype(batch["index"].dtype, jnp.integer)
