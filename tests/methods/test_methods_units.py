"""The energy method and its gradient rules on a parabola, and methods by their names."""

import dataclasses
import types
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import Problem
from irem.energy import AbstractEnergy, Scratchpad
from irem.formats import Vectors
from irem.methods import (
    IREM,
    METHODS,
    FullUnroll,
    LastSteps,
    build_method,
    build_methods,
    describe_method,
    device_memory,
    model_bytes,
    num_bytes,
    registry,
)
from irem.methods.gradients.steps import _stop

KEY = jax.random.key(0)
X, Y0 = jnp.array([1.0, 2.0]), jnp.array([2.0, 0.0])
ADDITION = irem.tasks.get("addition", size=2)


class Parabola(AbstractEnergy):
    """A step of size 1 multiplies the distance to `x` by 1 less the height."""

    height: jax.Array

    @property
    def format(self):
        return Vectors((2,), (2,))

    def landscape(self, x):
        return lambda y: 0.5 * self.height * jnp.sum((y - x) ** 2)


def descended(height, rule, num_steps=4):
    return rule.descend(Parabola(jnp.asarray(height)), X, Y0, 1.0, num_steps)


@pytest.mark.parametrize("rule", [LastSteps(), LastSteps(3), FullUnroll()], ids=str)
def test_a_descent_takes_all_its_steps_whichever_are_differentiated(rule):
    np.testing.assert_allclose(descended(0.5, rule), X + 0.5**4 * (Y0 - X), rtol=1e-6)


@pytest.mark.parametrize(("rule", "live"), [(LastSteps(), 1), (LastSteps(3), 3), (FullUnroll(), 4)])
def test_the_height_is_differentiated_through_the_live_steps_alone(rule, live):
    slope = jax.grad(lambda h: descended(h, rule)[0])(0.5)
    # Of (1 - h)^4, of which the first factors are constant.
    assert slope == pytest.approx(-live * 0.5**3, rel=1e-5)


def test_what_is_frozen_has_no_gradient_and_the_rest_stays_as_it_is():
    assert jax.grad(lambda w: _stop(w) * 3.0)(jnp.array(2.0)) == 0
    counts = jnp.arange(2)
    assert _stop(counts) is counts
    assert _stop(jnp.tanh) is jnp.tanh


@pytest.mark.parametrize(("bound", "diverged"), [(6.1, False), (5.9, True), (None, False)])
def test_a_descent_beyond_the_bound_takes_its_last_steps_from_the_start(bound, diverged):
    # Height 3 doubles the distance, with the other sign: two steps lead to (5, -6).
    end = descended(3.0, LastSteps(diverged_beyond=bound), num_steps=3)
    np.testing.assert_allclose(end, X + (-2.0 if diverged else -8.0) * (Y0 - X), rtol=1e-6)


def test_the_defaults_are_the_papers_but_for_descents_that_diverge():
    assert LastSteps() == LastSteps(1, diverged_beyond=1e6)
    method = IREM(Parabola(jnp.ones(())))
    assert (method.num_steps, method.step_size, method.gradient) == (5, 100.0, LastSteps())
    assert method.task is None
    assert IREM.replays
    assert {name for name, kind in METHODS.items() if kind.replays} == {"irem", "scaled"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: LastSteps(0),
        lambda: LastSteps(diverged_beyond=0.0),
        lambda: IREM(Parabola(jnp.ones(())), num_steps=0, gradient=FullUnroll()),
        lambda: IREM(Parabola(jnp.ones(())), step_size=0.0),
        lambda: IREM(Parabola(jnp.ones(())), num_steps=2, gradient=LastSteps(3)),
    ],
)
def test_descents_without_steps_and_steps_without_size_are_refused(make):
    with pytest.raises(irem.InputError):
        make()
    assert IREM(Parabola(jnp.ones(())), num_steps=3, gradient=LastSteps(3)).num_steps == 3


def test_all_but_the_energy_is_given_by_name():
    with pytest.raises(TypeError):
        IREM(Parabola(jnp.ones(())), LastSteps())


def test_the_loss_is_the_squared_distance_of_the_real_entries():
    method = IREM(Parabola(jnp.array(0.5)), num_steps=2, step_size=1.0)
    y = jnp.array([1.0, 1.0])
    # Ends at x + (1, -2) / 4 = (1.25, 1.5).
    value, end = method.loss(Problem(X, y), Y0, key=KEY)
    assert value == pytest.approx(0.25**2 + 0.5**2)
    np.testing.assert_allclose(end, [1.25, 1.5])
    masked = Problem(X, y, jnp.array([True, False]))
    assert method.loss(masked, Y0, key=KEY)[0] == pytest.approx(0.25**2)


def test_a_prediction_begins_at_the_first_guess():
    method = IREM(Parabola(jnp.array(0.5)), step_size=1.0)
    path = method.predict(X, 2, key=KEY)
    start = method.start(X, (2,), key=KEY)
    np.testing.assert_allclose(path.ys, [X + f * (start - X) for f in (1, 0.5, 0.25)], rtol=1e-5)
    np.testing.assert_allclose(path.energies, 0.25 * ((path.ys - X) ** 2).sum(1), rtol=1e-5)
    without_shape = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2))
    with pytest.raises(irem.InputError, match="needs an energy that knows the shape"):
        IREM(without_shape).predict(X, 2, key=KEY)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tabled(irem.tasks.Addition):
    table: Any = None


def test_a_task_is_no_array_of_a_method_and_one_with_arrays_is_not_kept():
    method = IREM(Parabola(jnp.ones(())))
    bound = method.bound_to(ADDITION)
    assert bound.task == ADDITION
    assert len(jax.tree.leaves(bound)) == len(jax.tree.leaves(method)) == 1
    assert method.bound_to(Tabled(table=X)).task is None


def shapes(settings):
    return eqx.filter_eval_shape(lambda: build_method(ADDITION, settings, key=KEY))


def test_an_energy_with_a_scratchpad_is_wrapped_and_described_without_it():
    plain = shapes({"method": {"name": "irem"}})
    assert describe_method(plain)["energy"]["name"] == "mlp"
    assert not isinstance(plain.energy, Scratchpad)
    energy = {"name": "mlp", "width": 4, "depth": 2, "scratch": 3}
    rule = {"name": "last-steps", "k": 2, "diverged_beyond": None}
    settings = {"method": {"name": "irem", "num_steps": 3, "step_size": 2.0}}
    settings |= {"energy": energy, "gradient": rule}
    method = shapes(settings)
    assert isinstance(method.energy, Scratchpad)
    assert describe_method(method) == settings
    unwrapped = irem.energy.MLP.for_task(ADDITION, width=2, depth=1, key=KEY)
    assert IREM(Scratchpad(unwrapped)).energy is unwrapped
    table = shapes({"method": {"name": "irem"}, "energy": {"name": "table", "width": 4}})
    assert describe_method(table)["energy"]["width"] == 4


def test_a_section_of_another_method_is_refused():
    with pytest.raises(irem.InputError, match="Unknown section of the method irem 'cell'"):
        shapes({"method": {"name": "irem"}, "cell": {}})


def test_models_are_built_from_the_first_half_of_the_keys_they_are_trained_with(monkeypatch):
    asked = []
    monkeypatch.setattr(registry, "check_memory", lambda *a, **o: asked.append((a, o)))
    monkeypatch.setattr(registry, "device_memory", lambda: 123)
    settings = {"method": {"name": "feedforward"}, "network": {"width": 2, "depth": 1}}
    keys = jax.random.split(KEY, 3)
    models = build_methods(ADDITION, settings, keys=keys)
    alone = build_method(ADDITION, settings, key=jax.random.split(keys[2])[0])
    for stacked, leaf in zip(jax.tree.leaves(models), jax.tree.leaves(alone), strict=True):
        np.testing.assert_allclose(stacked[2], leaf, rtol=1e-6)
    (((what, needed, _), options),) = asked
    assert what == "Building 3 models"
    assert needed == 3 * model_bytes(alone)
    assert options == {"limit": 123}
    build_methods(ADDITION, settings, keys=keys[:1])
    assert asked[1][0][0] == "Building 1 model"


def test_the_bytes_of_a_model_are_those_of_its_numbers_and_a_little_for_each_array():
    arrays = {"a": jnp.zeros((3, 5)), "b": jnp.zeros(2, jnp.int8), "name": "dense"}
    assert num_bytes(arrays) == 3 * 5 * 4 + 2
    small = {"a": jnp.zeros(2), "b": jnp.zeros(2)}
    per_array = (model_bytes(small) - num_bytes(small)) / 2
    assert per_array > 0
    larger = {**small, "c": jnp.zeros((7, 7))}
    assert model_bytes(larger) == num_bytes(larger) + 3 * per_array


@pytest.mark.parametrize(
    ("told", "free"),
    [
        ({"bytes_limit": 100, "bytes_in_use": 30}, 70),
        ({"bytes_limit": 100}, 100),
        ({"other": 3}, 55),
        (None, 55),
    ],
)
def test_free_memory_is_that_of_the_first_device_or_of_the_machine(told, free, monkeypatch):
    devices = [types.SimpleNamespace(memory_stats=lambda stats=stats: stats) for stats in (told, 0)]
    monkeypatch.setattr(jax, "local_devices", lambda: devices)
    monkeypatch.setattr("irem.methods.sizes.available", lambda: 55)
    assert device_memory() == free
