"""Lines and grids of symbols: what is accepted, filled up and refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.doors import labels_of
from irem.formats import Cells

LINES, GRIDS = Cells(1, 2), Cells(2, 4)


@pytest.mark.parametrize("dtype", [float, int, bool, np.int8])
def test_one_problem_and_a_stack(dtype):
    for form, shape in ((LINES, (5,)), (GRIDS, (3, 4))):
        x = np.ones(shape).astype(dtype)
        batch, alone = form.as_batch(x)
        assert alone
        assert batch.dtype == jnp.int8
        np.testing.assert_array_equal(batch, x[None])
        assert form.answer_shape(batch[0]) == shape
        again, alone = form.as_batch(batch)
        assert not alone
        np.testing.assert_array_equal(again, batch)


@pytest.mark.parametrize("make", [np.array, list, jnp.array])
def test_a_list_of_several_sizes_is_filled_up_on_the_far_sides(make):
    batch, alone = LINES.as_batch([make([1, 0]), make([0]), make([1, 1, 1])])
    assert not alone
    assert batch.tolist() == [[1, 0, -1], [0, -1, -1], [1, 1, 1]]
    batch, alone = GRIDS.as_batch([make([[2, 3]]), make([[2], [3]])])
    assert not alone
    assert batch.tolist() == [[[2, 3], [-1, -1]], [[2, -1], [3, -1]]]
    assert GRIDS.as_batch([make([[2, 3]])])[0].tolist() == [[[2, 3]]]
    assert LINES.as_batch([1, 0, 1])[1]


@pytest.mark.parametrize(
    ("form", "x", "said"),
    [
        (LINES, [0, 2], r"`x` holds 2 at \(1,\); symbols are the whole numbers from 0 to 1, and"),
        (LINES, [0.5], r"`x` holds 0\.5 at \(0,\)"),
        (GRIDS, [[0, -2]], r"`x` holds -2 at \(0, 1\)"),
        (GRIDS, [0, 1], r"`x` has shape \(2,\); expected one grid of shape \(rows, columns\)"),
        (LINES, 1, r"`x` has shape \(\); expected one line of shape \(n,\)"),
        (LINES, [], r"`x` is empty; expected one line"),
        (LINES, [[1], []], "Problem 1 of the list is empty"),
        (LINES, [np.nan], "must be finite"),
        (LINES, "01", "must hold numbers"),
        (GRIDS, [[1, 2], [3]], "not a rectangular array"),
    ],
)
def test_other_values_are_refused_with_a_sentence(form, x, said):
    with pytest.raises(irem.InputError, match=said):
        form.as_batch(x)


def test_traced_arrays_pass_unread():
    assert jax.jit(lambda x: GRIDS.as_batch(x)[0])(jnp.ones((2, 3))).shape == (1, 2, 3)


def test_formats_are_compared_by_what_they_describe():
    assert Cells(axes=2, symbols=4) == GRIDS != LINES
    assert hash(Cells(2, 4)) == hash(GRIDS)


def test_answers_to_a_list_have_the_sizes_of_their_problems():
    grids = [np.zeros((2, 3)), np.zeros((4, 1))]
    found = labels_of(grids).attach(np.ones((2, 4, 3)))
    assert [y.shape for y in found] == [(2, 3), (4, 1)]
    found = labels_of([np.zeros(2), np.zeros(3)]).attach(np.ones((2, 3)))
    assert [y.shape for y in found] == [(2,), (3,)]
    found = labels_of([[0, 1], [1, 1, 1]]).attach(np.ones((2, 3)))
    assert [y.shape for y in found] == [(2,), (3,)]
    assert labels_of([[0, 1], [1, 1]]).attach(np.ones((2, 2))).shape == (2, 2)
