"""Graphs of the difficulty `train`: 2 to 10 nodes in a frame of 10."""

import jax
import numpy as np
import pytest
from scipy import stats

from irem.tasks import TASKS, AbstractGraphTask

COUNT = 2000
# A generator that compiles fast: no fact tested here depends on which one draws.
KEY = jax.random.key(41, impl="unsafe_rbg")
GRAPH_TASKS = {name: make for name, make in TASKS.items() if issubclass(make, AbstractGraphTask)}


@pytest.fixture(scope="module", params=GRAPH_TASKS.values(), ids=list(GRAPH_TASKS))
def drawn(request):
    return request.param().batch(KEY, COUNT, "train")


def test_every_size_from_2_to_10_is_equally_frequent(drawn):
    sizes = np.asarray(drawn.x.nodes).sum(axis=1)
    assert set(sizes) == set(range(2, 11))
    # 6e-7 is five sigma.
    assert stats.chisquare(np.bincount(sizes, minlength=11)[2:]).pvalue > 6e-7


def test_the_first_nodes_are_the_real_ones_and_the_mask_is_their_pairs(drawn):
    nodes = np.asarray(drawn.x.nodes)
    np.testing.assert_array_equal(nodes, np.sort(nodes, axis=1)[:, ::-1])
    np.testing.assert_array_equal(drawn.mask, nodes[:, :, None] & nodes[:, None, :])


def test_padded_pairs_are_zero_in_problem_answer_and_floors(drawn):
    padded = ~np.asarray(drawn.mask)
    assert not np.asarray(drawn.x.edges)[padded].any()
    assert not np.asarray(drawn.y)[padded].any()


@pytest.mark.parametrize("make", GRAPH_TASKS.values(), ids=list(GRAPH_TASKS))
def test_floors_of_a_padded_graph_are_those_of_its_real_block(make):
    task = make()
    problem = jax.device_get(task.batch(KEY, COUNT, "train"))
    small = np.flatnonzero(problem.x.nodes.sum(axis=1) == 4)[:20]
    padded, edges = jax.tree.map(lambda leaf: leaf[small], (problem.x, problem.x.edges))
    floors = (task.trivial, task.oracle)
    found = jax.jit(lambda *graphs: [[floor(x) for x in graphs] for floor in floors])(
        padded, edges[:, :4, :4]
    )
    for framed, alone in found:
        framed = np.array(framed)
        np.testing.assert_allclose(framed[:, :4, :4], alone, rtol=1e-6)
        framed[:, :4, :4] = 0
        assert not framed.any()
