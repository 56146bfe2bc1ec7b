"""Problems larger than memory are answered page by page, as all at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.descent.solver import split_pages

MODEL = irem.IREM(
    irem.energy.MLP((2, 3), (3,), width=16, depth=1, key=jax.random.key(0)), step_size=1.0
)
KEY = jax.random.key(1)
OPTIONS = {"max_steps": 15, "step": irem.FixedStep()}


@pytest.fixture
def problems(tmp_path):
    x = np.random.default_rng(0).uniform(-1, 1, (22, 2, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


@pytest.mark.parametrize("page_size", [5, 8, 22, 100])
def test_pages_together_are_the_answers_of_all(page_size, problems):
    pages = list(irem.solve_pages(MODEL, problems, key=KEY, page_size=page_size, **OPTIONS))
    assert len(pages) == -(-22 // page_size)
    expected = irem.solve(MODEL, problems, key=KEY, **OPTIONS)
    joined = jax.tree.map(lambda *parts: jnp.concatenate(parts), *pages)
    np.testing.assert_array_equal(joined.steps, expected.steps)
    np.testing.assert_allclose(joined.y, expected.y, rtol=1e-6, atol=1e-7)


def test_a_page_of_flat_rows_is_not_taken_for_one_problem():
    table = irem.energy.Table(x_shape=(2, 3), width=8, depth=1, key=jax.random.key(0))
    x = np.random.default_rng(0).uniform(-1, 1, (4, 6)).astype(np.float32)
    pages = irem.solve_pages(table, x, key=KEY, page_size=2, step=irem.FixedStep(0.1), max_steps=2)
    assert [page.y.shape for page in pages] == [(2, 2, 3), (2, 2, 3)]
    with pytest.raises(irem.InputError, match="number of problems in it is 1, not 3"):
        irem.solve_pages(table, x[:3, :5], key=KEY)


def test_a_page_is_small_where_no_size_is_given(problems):
    pages = split_pages(problems.shape, page_numbers=60)  # ten problems of six numbers
    assert [len(problems[page]) for page in pages] == [8, 8, 6]
    np.testing.assert_array_equal(np.concatenate([problems[page] for page in pages]), problems)
    assert split_pages(problems.shape) == [slice(0, 22)]


def test_a_bad_number_on_the_last_page_is_found_before_any_is_answered(problems):
    broken = np.array(problems)
    broken[21, 1, 2] = np.nan
    with pytest.raises(ValueError, match=r"`x` must be finite, but 1 of its"):
        irem.solve_pages(MODEL, broken, key=KEY, page_size=5)


def test_no_problems_are_refused():
    with pytest.raises(ValueError, match=r"`x` has shape \(0, 2, 3\); expected problems"):
        irem.solve_pages(MODEL, np.zeros((0, 2, 3)), key=KEY)


def test_one_key_for_each_problem(problems):
    keys = jax.random.split(KEY, 22)
    ends = irem.solve(MODEL, problems[10:], key=keys[10:], **OPTIONS)
    np.testing.assert_allclose(
        ends.y, irem.solve(MODEL, problems, key=KEY, **OPTIONS).y[10:], rtol=1e-6, atol=1e-7
    )
    with pytest.raises(ValueError, match=r"`key` has shape \(3,\), but there are 22 problems"):
        irem.solve(MODEL, problems, key=keys[:3])
