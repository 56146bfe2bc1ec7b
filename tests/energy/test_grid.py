"""The energy of lines and grids: local, of any size, and as symmetric as its problems."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy import Grid
from irem.mazes import END, OUTSIDE, START, Waves, first_state, tie_codes
from irem.tasks import Maze, PrefixSums

KEY = jax.random.key(0)
SMALL = {"width": 8, "layers": 2, "scratch": 3}
NUMBERS = 1 + SMALL["scratch"]
SIZE = 6


@functools.cache
def energy(axes=2, symmetric=True, layers=2):
    kind = {"axes": axes, "symbols": 4, "symmetric": symmetric}
    return Grid(**kind, **SMALL | {"layers": layers}, key=KEY)


@functools.cache
def taught(**settings):
    settings = {"width": 8, "layers": 1, "lesson": "waves"} | settings
    return Grid.for_task(Maze(), **settings, key=KEY)


@eqx.filter_jit
def at(energy, x, point):
    """Energy and gradient at a point."""
    return jax.value_and_grad(energy.landscape(x))(point)


def draw(*shape, seed=0):
    """A problem of random symbols, and a random point."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, shape)
    return jnp.asarray(x, jnp.int8), jnp.asarray(rng.normal(size=(*shape, NUMBERS)), jnp.float32)


def turned(array, quarters, mirrored):
    array = jnp.rot90(array, quarters)
    return array[:, ::-1] if mirrored else array


def test_it_is_one_finite_number_with_a_gradient_for_every_cell():
    for model, shape in ((energy(), (5, 7)), (energy(1, False), (11,))):
        x, point = draw(*shape)
        value, gradient = at(model, x, point)
        assert value.shape == ()
        assert np.isfinite(value)
        assert gradient.shape == point.shape
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("shape", [(4, 5), (7,)])
def test_derivatives_of_first_and_second_order_agree_with_finite_differences(shape):
    x, point = draw(*shape)
    model = energy(len(shape), len(shape) == 2)
    with jax.enable_x64(True):
        exact = jax.tree.map(lambda a: jnp.asarray(np.asarray(a), jnp.float64), model)
        point = jnp.asarray(np.asarray(point), jnp.float64)
        landscape = exact.landscape(x)
        direction = jnp.asarray(np.random.default_rng(2).normal(size=point.shape))
        slope = jax.jit(lambda t: landscape(point + t * direction))
        tilt = jax.jit(lambda t: jnp.vdot(jax.grad(landscape)(point + t * direction), direction))
        # Truncation is of order step^2, rounding of order eps / step.
        small = 1e-5
        first = (slope(small) - slope(-small)) / (2 * small)
        second = (tilt(small) - tilt(-small)) / (2 * small)
        np.testing.assert_allclose(tilt(0.0), first, rtol=1e-6)
        np.testing.assert_allclose(jax.grad(tilt)(0.0), second, rtol=1e-5)


@pytest.mark.parametrize(("quarters", "mirrored"), [*itertools.product(range(4), (False, True))])
def test_a_grid_that_is_turned_or_mirrored_has_the_same_energy(quarters, mirrored):
    x, point = draw(SIZE, SIZE)
    value, gradient = at(energy(), x, point)
    other_value, other = at(
        energy(), turned(x, quarters, mirrored), turned(point, quarters, mirrored)
    )
    np.testing.assert_allclose(other_value, value, rtol=1e-5)
    np.testing.assert_allclose(other, turned(gradient, quarters, mirrored), rtol=1e-3, atol=1e-4)


def test_what_is_no_symmetry_changes_the_energy():
    x, point = draw(SIZE, SIZE)
    value = at(energy(), x, point)[0]
    rows = np.array([1, 0, *range(2, SIZE)])
    assert abs(at(energy(), x[rows], point[rows])[0] - value) > 1e-3
    assert abs(at(energy(), x, jnp.rot90(point))[0] - value) > 1e-3


def test_the_two_directions_of_a_line_differ_unless_it_is_symmetric():
    x, point = draw(9)
    for symmetric in (True, False):
        ahead, back = (
            at(energy(1, symmetric), x[::way], point[::way])[0].item() for way in (1, -1)
        )
        assert (abs(ahead - back) < 1e-4) is symmetric


@pytest.mark.parametrize("shape", [(4, 5), (7,)])
def test_cells_outside_change_nothing(shape):
    model = energy(len(shape), len(shape) == 2)
    x, point = draw(*shape)
    fill = [(0, 3)] * len(shape)
    padded = jnp.pad(x, fill, constant_values=OUTSIDE)
    inside = tuple(slice(n) for n in shape)
    value, gradient = at(model, x, point)
    padded_value, padded_gradient = at(model, padded, jnp.pad(point, [*fill, (0, 0)]))
    np.testing.assert_allclose(padded_value, value, rtol=1e-5)
    np.testing.assert_allclose(padded_gradient[inside], gradient, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(padded_gradient.at[inside].set(0.0), 0.0)


def test_what_points_hold_outside_changes_nothing_inside_and_is_no_answer():
    x, point = draw(4, 4)
    x = x.at[:, 3].set(OUTSIDE)
    other = point.at[:, 3].add(5.0)
    gradients = [at(energy(), x, p)[1] for p in (point, other)]
    np.testing.assert_allclose(gradients[0][:, :3], gradients[1][:, :3], rtol=1e-5, atol=1e-6)
    # Half the square of what is there: one step of size 1 leads to zero.
    np.testing.assert_allclose(gradients[1][:, 3], other[:, 3], rtol=1e-6)
    answer = energy().read(x, other)
    np.testing.assert_array_equal(answer[:, 3], 0.0)
    np.testing.assert_array_equal(answer[:, :3], other[:, :3, 0])


@pytest.mark.parametrize("layers", [1, 2])
def test_a_step_carries_information_twice_as_far_as_there_are_layers(layers):
    model = energy(layers=layers)
    x, point = draw(9, 9)
    x = x.at[4, 4].set(0)
    gradient = at(model, x, point)[1]
    rows, columns = np.mgrid[:9, :9]
    far = abs(rows - 4) + abs(columns - 4)
    of_symbol = np.abs(at(model, x.at[4, 4].set(1), point)[1] - gradient).max(axis=-1)
    of_point = np.abs(at(model, x, point.at[4, 4].add(0.5))[1] - gradient).max(axis=-1)
    for change in (of_symbol, of_point):
        assert not change[far > 2 * layers].any()
        assert change[far == 2 * layers].max() > 1e-6


@pytest.mark.parametrize("size", [3, 9, 13])
def test_one_energy_takes_mazes_of_any_size(size):
    x = Maze().sample(KEY, size).x
    model = taught()
    point = model.begin(x, jnp.zeros(x.shape), key=KEY)
    assert point.shape == (size, size, 9)
    value, gradient = at(model, x, point)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert model.read(x, point).shape == (size, size)


def test_it_is_fitted_to_what_cells_there_are():
    of_maze = taught()
    assert (of_maze.axes, of_maze.symbols, of_maze.symmetric) == (2, 4, True)
    of_bits = Grid.for_task(PrefixSums(), **SMALL, key=KEY)
    assert (of_bits.axes, of_bits.symbols, of_bits.symmetric) == (1, 2, False)
    assert of_bits.format == PrefixSums().format


def test_other_problems_are_refused():
    with pytest.raises(irem.InputError, match="needs lines or grids of symbols"):
        Grid.for_task(irem.tasks.Addition(), key=KEY)


def test_a_scratchpad_is_random_with_a_key_and_zero_without():
    x, _ = draw(4, 5)
    y0 = jnp.ones(x.shape)
    points = [energy().begin(x, y0, key=k) for k in (None, KEY, jax.random.key(1))]
    assert all((p[..., 0] == 1).all() for p in points)
    assert not points[0][..., 1:].any()
    assert (points[1][..., 1:] != points[2][..., 1:]).all()


def test_with_a_lesson_a_scratchpad_begins_as_the_lesson_does():
    x = Maze().sample(KEY).x
    y0 = jnp.full(x.shape, 0.5)
    for key in (None, KEY):
        point = taught().begin(x, y0, key=key)
        np.testing.assert_array_equal(point[..., 0], y0)
        state = first_state(x, jax.random.key(0) if key is None else key)
        np.testing.assert_array_equal(point[..., 1:], state)


@pytest.mark.parametrize("speed", [1, 2, 3])
def test_a_lesson_is_that_of_the_waves_at_its_speed(speed):
    x = Maze().sample(KEY).x
    lesson = taught(speed=speed).teach(x, key=KEY)
    waves = Waves.of(x, tie_codes(KEY, x))
    assert speed * (lesson.steps - 1) < waves.duration <= speed * lesson.steps
    for step in (0, 1, 5, lesson.steps):
        np.testing.assert_array_equal(
            lesson.at(jnp.asarray(step)), waves.at(jnp.asarray(speed * step))
        )
    answer = np.asarray(lesson.at(lesson.steps))[..., 0]
    assert irem.mazes.is_shortest_path(np.asarray(x), answer)
    assert answer[np.isin(x, (START, END))].all()


def test_an_energy_without_a_lesson_teaches_nothing():
    x, _ = draw(4, 4)
    with pytest.raises(irem.InputError, match="Grid energy has no lesson"):
        energy().teach(x, key=KEY)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"width": 0}, "`width` must be"),
        ({"layers": 0}, "`layers` must be"),
        ({"scratch": -1}, "`scratch` must be"),
        ({"speed": 0}, "`speed` must be"),
        ({"lesson": "flood"}, "lesson"),
    ],
)
def test_other_settings_are_refused_in_one_sentence(settings, sentence):
    with pytest.raises(irem.InputError, match=sentence) as caught:
        Grid.for_task(Maze(), **SMALL | settings, key=KEY)
    assert "\n" not in str(caught.value)


def test_waves_are_about_grids_alone():
    with pytest.raises(irem.InputError, match="'waves' is about mazes, which are grids"):
        Grid.for_task(PrefixSums(), **SMALL | {"lesson": "waves"}, key=KEY)
