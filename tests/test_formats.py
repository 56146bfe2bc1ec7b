"""What problems and answers look like as arrays: what is accepted, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import Graph
from irem.formats import ChannelPairs, Graphs, Pictures, Stacks, Tables, Vectors

# A format, the shape of one problem of it, and the shape of its answer.
CASES = [
    (Vectors((2, 3), (3,)), (2, 3), (3,)),
    (Graphs(), (4, 4), (4, 4)),
    (ChannelPairs(2), (4, 4, 2), (4, 4)),
    (Tables(), (3, 5), (3, 5)),
    (Tables(2), (2, 5), (5,)),
    (Pictures(), (3, 5), (3, 5)),
]
every_format = pytest.mark.parametrize(
    ("form", "x_shape", "y_shape"), CASES, ids=[repr(case[0]) for case in CASES]
)


def array(problems):
    """The numbers of a batch, those of a graph among them."""
    return problems.edges if isinstance(problems, Graph) else problems


def numbers(*shape):
    return np.arange(np.prod(shape), dtype=float).reshape(shape)


@every_format
def test_one_problem_becomes_a_batch_of_one(form, x_shape, y_shape):
    x = numbers(*x_shape)
    batch, alone = form.as_batch(x.tolist())
    assert alone
    assert array(batch).dtype == np.float32
    np.testing.assert_array_equal(array(batch), x[None])


@every_format
@pytest.mark.parametrize("count", [1, 3])
def test_a_stack_of_problems_stays_a_stack(form, x_shape, y_shape, count):
    x = numbers(count, *x_shape)
    batch, alone = form.as_batch(x)
    assert not alone
    np.testing.assert_array_equal(array(batch), x)


@every_format
def test_the_shape_of_an_answer_follows_from_that_of_its_problem(form, x_shape, y_shape):
    assert form.answer_shape(jnp.zeros(x_shape)) == y_shape


@every_format
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_problems_that_are_not_finite_are_refused(form, x_shape, y_shape, bad):
    x = numbers(*x_shape)
    x.flat[1] = bad
    with pytest.raises(irem.InputError, match=rf"`x` must be finite, but 1 of its {x.size} number"):
        form.as_batch(x)


@every_format
def test_an_empty_stack_is_refused(form, x_shape, y_shape):
    with pytest.raises(irem.InputError, match=r"`x` has shape \(0, .*; expected one"):
        form.as_batch(np.zeros((0, *x_shape)))


@every_format
def test_formats_are_compared_by_what_they_describe(form, x_shape, y_shape):
    others = [case[0] for case in CASES if case[0] is not form]
    assert form == type(form)(**vars(form))
    assert hash(form) == hash(type(form)(**vars(form)))
    assert all(form != other for other in others)


def test_shapes_may_be_given_as_lists():
    assert Vectors([2, 3], [3]) == Vectors((2, 3), (3,))


@pytest.mark.parametrize(
    ("form", "flat"),
    [(Vectors((2, 3), (3,)), 6), (Tables(1, (2, 3)), 6), (Tables(2, (2, 3)), 6)],
    ids=["vectors", "tables", "several-vectors"],
)
def test_flat_rows_are_problems_of_the_shape_of_training(form, flat):
    batch, alone = form.as_batch(numbers(4, flat))
    assert not alone
    np.testing.assert_array_equal(batch, numbers(4, 2, 3))
    batch, alone = form.as_batch(numbers(flat))
    assert alone
    np.testing.assert_array_equal(batch, numbers(1, 2, 3))


def test_flat_rows_of_square_numbers_are_graphs():
    batch, alone = Graphs().as_batch(numbers(3, 16))
    assert not alone
    np.testing.assert_array_equal(batch.edges, numbers(3, 4, 4))
    assert np.asarray(batch.nodes).all()


def test_nodes_of_a_graph_are_kept_and_must_go_with_its_edges():
    nodes = jnp.asarray([True, True, False])
    batch, alone = Graphs().as_batch(Graph(jnp.ones((3, 3)), nodes))
    assert alone
    np.testing.assert_array_equal(batch.nodes, nodes[None])
    assert Graphs().answer_shape(Graph(jnp.ones((3, 3)), nodes)) == (3, 3)
    # Built without the check of types that would refuse it before.
    broken = Graph(jnp.ones((3, 3)), nodes)
    object.__setattr__(broken, "nodes", jnp.ones(2, bool))
    with pytest.raises(irem.InputError, match=r"nodes of shape \(2,\) and edges of \(3, 3\)"):
        Graphs().as_batch(broken)


def test_a_stack_is_any_pytree_with_problems_along_the_first_axis_of_every_array():
    x = {"a": np.ones((3, 2)), "b": np.arange(3)}
    batch, alone = Stacks((4,)).as_batch(x)
    assert not alone
    assert batch["a"].shape == (3, 2)
    assert jnp.issubdtype(batch["b"].dtype, jnp.integer)
    assert Stacks((4,)).answer_shape(batch) == (4,)
    assert Stacks().answer_shape(batch) is None


@pytest.mark.parametrize(
    "x", [{"a": np.ones(2), "b": np.ones(3)}, {"a": np.array(1.0)}, {"a": np.ones((0, 2))}, {}]
)
def test_arrays_of_a_stack_have_the_same_number_of_problems(x):
    with pytest.raises(irem.InputError, match="problems along its first axis"):
        Stacks().as_batch(x)
