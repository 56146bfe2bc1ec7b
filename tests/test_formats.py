"""What problems and answers look like as arrays: what is accepted, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import Graph
from irem.formats import ChannelPairs, Graphs, Pictures, Stacks, Tables, Vectors

# A format, the shape of one problem of it, and the shape of its answer.
CASES = [
    (Vectors((2, 3), (3,)), (2, 3), (3,)),
    (Graphs(), (5, 5), (5, 5)),
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
    "form", [Vectors((2, 3), (3,)), Tables(2, (2, 3))], ids=["vectors", "several-vectors"]
)
def test_flat_rows_are_problems_of_the_shape_of_training(form):
    batch, alone = form.as_batch(numbers(4, 6))
    assert not alone
    np.testing.assert_array_equal(batch, numbers(4, 2, 3))


@pytest.mark.parametrize(
    "form",
    [Vectors((2, 3), (3,)), Tables(1, (2, 3)), Tables(2, (2, 3))],
    ids=["vectors", "tables", "several-vectors"],
)
def test_one_flat_row_is_one_problem_of_the_shape_of_training(form):
    for x, expected in ((numbers(6), True), (numbers(1, 6), False)):
        batch, alone = form.as_batch(x)
        assert alone is expected
        np.testing.assert_array_equal(batch, numbers(1, 2, 3))


def test_flat_rows_of_square_numbers_are_graphs():
    batch, alone = Graphs().as_batch(numbers(3, 16))
    assert not alone
    np.testing.assert_array_equal(batch.edges, numbers(3, 4, 4))
    assert np.asarray(batch.nodes).all()


# A format, the shape of a table, and the shape of one of the problems that its rows may be.
AMBIGUOUS = [
    (Graphs(), (9, 9), (3, 3)),
    (Graphs(missing=True), (4, 4), (2, 2)),
    (Graphs(), (100, 100), (10, 10)),
    (Tables(1, (2, 3)), (4, 6), (2, 3)),
    (Tables(2, (2, 3)), (2, 6), (2, 3)),
]
every_ambiguous = pytest.mark.parametrize(("form", "table", "row"), AMBIGUOUS)


@every_ambiguous
def test_a_table_that_may_be_one_problem_or_flat_rows_is_refused_with_both_ways(form, table, row):
    with pytest.raises(irem.InputError) as refused:
        form.as_batch(np.random.default_rng(0).uniform(size=table))
    inner = ", ".join(map(str, row))
    for words in (
        f"has shape {table}",
        f"{table[0]} problems of shape {row}",
        f"`x[None]` for one problem, `x.reshape(-1, {inner})`",
        f"`--problems 1` or `--problems {table[0]}`",
    ):
        assert words in str(refused.value)


@every_ambiguous
def test_an_axis_of_problems_or_their_number_says_which_is_meant(form, table, row):
    x = np.random.default_rng(0).uniform(size=table).astype(np.float32)
    for stack, problems, alone in ((x[None], 1, True), (x.reshape(-1, *row), len(x), False)):
        batch, single = form.as_batch(stack)
        np.testing.assert_array_equal(array(batch), stack)
        assert not single
        read, single = form.as_stack(x, problems)
        np.testing.assert_array_equal(read, stack)
        assert single is alone
    with pytest.raises(irem.InputError, match=rf"problems in it is 1 or {len(x)}, not 3"):
        form.as_stack(x, 3)
    with pytest.raises(irem.InputError, match="greater than 0"):
        form.as_stack(x, 0)


def test_a_table_with_the_structure_of_a_matrix_whose_rows_have_none_is_one():
    x = np.random.default_rng(0).uniform(size=(9, 9))
    symmetric, directed = x + x.T, x - np.diag(np.diag(x))
    rounded = symmetric * (1 + 1e-7 * np.arange(9))
    for table in (symmetric, directed, rounded, np.eye(9), np.where(symmetric > 1, np.inf, 0.5)):
        batch, alone = Graphs(missing=True).as_batch(table)
        assert alone
        assert batch.edges.shape == (1, 9, 9)


def test_flat_rows_with_the_structure_of_matrices_are_refused():
    x = np.random.default_rng(0).uniform(size=(9, 3, 3))
    for stack in (x, x + x.transpose(0, 2, 1), x * ~np.eye(3, dtype=bool), np.zeros((9, 3, 3))):
        with pytest.raises(irem.InputError, match="one problem of shape"):
            Graphs().as_batch(stack.reshape(9, 9))


def test_the_values_of_a_traced_table_do_not_say_what_it_is():
    with pytest.raises(irem.InputError, match="one problem of shape"):
        jax.jit(lambda x: Graphs().as_batch(x)[0].edges)(jnp.eye(4))
    assert jax.jit(lambda x: Graphs().as_batch(x)[0].edges)(jnp.eye(5)).shape == (1, 5, 5)


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


@pytest.mark.parametrize(
    ("problems", "nodes", "expected"),
    [(1, 5, 64), (4, 64, 64), (4, 65, 65), (5, 3, 4), (5, 4, 4), (9, 17, 24), (9, 50, 64)],
)
def test_graphs_are_filled_up_to_few_sizes_with_nodes_that_are_not_real(problems, nodes, expected):
    edges = np.random.default_rng(0).normal(size=(problems, nodes, nodes)).astype(np.float32)
    padded = Graphs().padded(Graph.of(edges))
    assert padded.edges.shape == (problems, expected, expected)
    np.testing.assert_array_equal(padded.edges[:, :nodes, :nodes], edges)
    assert float(jnp.abs(padded.edges).sum()) == pytest.approx(np.abs(edges).sum(), rel=1e-4)
    assert padded.nodes.sum(axis=1).tolist() == [nodes] * problems
    assert padded.nodes[:, :nodes].all()
    again = Graphs().padded(padded)
    assert again.edges.shape == padded.edges.shape


def test_traced_graphs_and_other_problems_keep_their_size():
    x = np.ones((2, 5, 5), np.float32)
    shape = jax.eval_shape(lambda x: Graphs().padded(Graph.of(x)).edges, x).shape
    assert shape == (2, 5, 5)
    assert Tables().padded(x) is x
