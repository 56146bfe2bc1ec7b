"""The Entrywise energy: every entry is answered as if it were alone."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy.entrywise import Entrywise
from irem.formats import Graphs, Vectors
from irem.problem import Graph

KEY = jax.random.key(5)
LARGE_BESIDE_SMALL = np.array([[1e6, 2.0, 1e-20, 0.0, 5.0], [3.0, 3.0, 2e-20, 0.0, -5.0]])


@pytest.fixture(scope="module")
def untrained():
    return Entrywise.for_task(irem.tasks.Addition(size=5), width=4, depth=2, key=KEY)


@pytest.fixture(scope="module")
def adding():
    """An energy whose network proposes the sum."""
    energy = Entrywise.for_task(irem.tasks.Addition(size=5), width=1, depth=1, key=KEY)
    weights = (jnp.array([[1.0], [1.0], [0.0]]), jnp.ones((1, 1)))
    return eqx.tree_at(lambda e: e.layers, energy, weights)


def test_small_entries_beside_large_ones_are_as_exact_as_those(adding):
    solution = irem.solve(adding, LARGE_BESIDE_SMALL, key=KEY)
    expected = LARGE_BESIDE_SMALL.sum(axis=0)
    np.testing.assert_allclose(solution.y[:3], expected[:3], rtol=1e-5)
    assert abs(solution.y[4]) <= 1e-5 * 5
    assert solution.y[3] == 0
    assert solution.converged


def test_another_number_leaves_the_slopes_of_other_entries_alone(untrained):
    x, z = jnp.asarray(LARGE_BESIDE_SMALL, jnp.float32), jnp.linspace(-1, 1, 5)
    slopes = [jax.grad(untrained.landscape(problem))(z) for problem in (x, x.at[:, 0].set(-7.0))]
    np.testing.assert_array_equal(slopes[0][1:], slopes[1][1:])
    assert slopes[0][0] != slopes[1][0]


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
def test_answers_scale_with_their_problems_to_the_bit(untrained, scale):
    x, z = jnp.asarray(LARGE_BESIDE_SMALL, jnp.float32), jnp.linspace(-1, 1, 5)
    assert untrained(scale * x, z) == untrained(x, z)
    np.testing.assert_array_equal(untrained.read(scale * x, z), scale * untrained.read(x, z))


def test_a_guess_is_read_back_and_is_of_the_size_of_its_entry(untrained):
    x = jnp.asarray(LARGE_BESIDE_SMALL, jnp.float32)
    guess = untrained.guess(x, (5,), key=KEY)
    assert (jnp.abs(guess) <= jnp.abs(x).max(axis=0)).all()
    read = untrained.read(x, untrained.begin(x, guess, key=None))
    np.testing.assert_allclose(read, guess, rtol=1e-6)


def test_zeros_are_answered_with_zeros_whatever_was_learned(untrained):
    x = np.zeros((3, 2, 6), np.float32)
    assert not np.asarray(irem.solve(untrained, x, key=KEY).y).any()


def test_padded_pairs_of_a_graph_have_no_part_in_it():
    energy = Entrywise.for_task(irem.tasks.EdgeCopy(), key=KEY)
    edges, z = jnp.full((4, 4), 9.0).at[:2, :2].set(2.0), jnp.ones((4, 4))
    graph = Graph(edges, jnp.arange(4) < 2)
    np.testing.assert_array_equal(energy.read(graph, z), jnp.zeros((4, 4)).at[:2, :2].set(2.0))
    clean = Graph(jnp.where(graph.pairs, edges, 0.0), graph.nodes)
    assert energy(graph, z) == energy(clean, z)


class OtherShape:
    """A task whose answers are not of the shape of a row."""

    name = "other"
    power = None
    format = Vectors((2, 3), (2,))


class Missing:
    """A task of graphs of which edges may be missing."""

    name = "missing"
    power = None
    format = Graphs(missing=True)


@pytest.mark.parametrize(
    ("task", "has"),
    [
        (irem.tasks.Denoise(), "pictures"),
        (OtherShape(), r"shape \(2, 3\)"),
        (Missing(), "graphs, of which entries may be missing"),
    ],
)
def test_problems_without_an_entry_for_every_answer_are_refused(task, has):
    with pytest.raises(ValueError, match=f"an entry of the answer for every entry .* {has}"):
        Entrywise.for_task(task, key=KEY)
