"""First points, one problem or several, and the best of several starts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.descent import Solution, split_key
from irem.descent.problems import as_problems
from irem.descent.starts import count_problems, first_points, lowest_of_starts, repeat
from irem.formats import Stacks, Vectors

KEY = jax.random.key(0)
ENERGY = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2), answer_shape=(3,))
UNKNOWN = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2))
X = jnp.arange(8.0).reshape(2, 4)


def points(y0=None, energy=ENERGY, alone=False, key=KEY, starts=1):
    return np.asarray(first_points(energy, X, y0, alone=alone, key=key, starts=starts))


def test_every_problem_gets_a_key():
    keys = split_key(KEY, 3)
    np.testing.assert_array_equal(
        jax.random.key_data(keys), jax.random.key_data(jax.random.split(KEY, 3))
    )
    assert split_key(keys, 3) is keys
    with pytest.raises(irem.InputError, match=r"`key` has shape \(3,\), but there are 4 problems"):
        split_key(keys, 4)


@pytest.mark.parametrize("starts", [1, 2, 3])
def test_every_start_of_a_problem_is_drawn_from_a_key_of_its_own(starts):
    drawn = points(starts=starts)
    assert drawn.shape == (2 * starts, 3)
    assert len(np.unique(drawn)) == drawn.size
    # Those of the second problem come after all of the first.
    keys = jax.random.split(KEY, 2)
    given = first_points(ENERGY, X[1:], None, alone=False, key=keys[1:], starts=starts)
    np.testing.assert_array_equal(drawn[starts:], given)


@pytest.mark.parametrize("energy", [ENERGY, UNKNOWN], ids=["known shape", "unknown shape"])
@pytest.mark.parametrize("starts", [1, 2])
def test_guesses_that_are_given_are_used_in_their_order(energy, starts):
    y0 = np.arange(6.0 * starts, dtype=np.float32).reshape((2, 3) if starts == 1 else (2, 2, 3))
    for key in (None, KEY):
        np.testing.assert_array_equal(points(y0, energy, key=key, starts=starts), y0.reshape(-1, 3))


def test_the_guess_of_one_problem_has_no_axis_of_problems():
    def alone(y0, starts=1):
        return first_points(ENERGY, X[:1], y0, alone=True, key=None, starts=starts)

    np.testing.assert_array_equal(alone(np.ones(3)), np.ones((1, 3)))
    np.testing.assert_array_equal(alone(np.ones((2, 3)), starts=2), np.ones((2, 3)))
    with pytest.raises(
        irem.InputError, match=r"`y0` has shape \(4,\), but the answers have shape \(3,\)\.$"
    ):
        alone(np.ones(4))
    with pytest.raises(irem.InputError, match=r"shape \(2, 3\), 2 starts for each problem\.$"):
        alone(np.ones((3, 3)), starts=2)


def test_what_is_missing_is_said():
    with pytest.raises(irem.InputError, match="does not know the shape of its answers"):
        points(energy=UNKNOWN)
    with pytest.raises(irem.InputError, match=r"pass `key=jax.random.key\(seed\)` or `y0`"):
        points(key=None)


def test_more_starts_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr("irem.memory.available", lambda: 1000)
    assert points(starts=2).shape == (4, 3)
    with pytest.raises(irem.InputError, match="of memory"):
        points(starts=100)


def test_problems_are_repeated_for_every_start():
    for starts in (1, 2, 3):
        np.testing.assert_array_equal(repeat(X, starts), np.repeat(X, starts, axis=0))


def test_of_several_starts_the_lowest_is_kept():
    y = jnp.arange(24.0).reshape(6, 2, 2)
    energy = jnp.array([3.0, 1.0, 2.0, jnp.nan, 5.0, jnp.inf])
    solution = lowest_of_starts(Solution(y, energy, jnp.arange(6)), 3)
    np.testing.assert_array_equal(solution.steps, [1, 4])
    np.testing.assert_array_equal(solution.y, y[jnp.array([1, 4])])
    np.testing.assert_array_equal(solution.energy, [1, 5])
    # Starts lie 4 apart from each other in every entry.
    np.testing.assert_allclose(solution.spread, np.full(2, np.sqrt(32 / 3)), rtol=1e-6)
    uneven = lowest_of_starts(Solution(y.at[0, 0, 0].set(9.0), energy, jnp.arange(6)), 3).spread
    answers = np.asarray(y.at[0, 0, 0].set(9.0)).reshape(2, 3, 2, 2)
    np.testing.assert_allclose(uneven, np.sqrt(answers.var(axis=1).mean(axis=(1, 2))), rtol=1e-6)


def test_a_problem_is_done_with_the_last_of_its_starts():
    done = []
    on_done = count_problems(done.append, 3)
    for descents in (4, 1, 4, 0, 3):
        on_done(descents)
    assert done == [1, 0, 2, 0, 1]
    count_problems(None, 3)(4)


@pytest.mark.parametrize(
    ("shape", "x", "y0", "starts", "problems", "alone"),
    [
        ((2,), np.ones(3), None, 1, 3, False),
        ((2,), np.ones(3), (3, 2, 2), 2, 3, False),
        ((2,), np.ones(3), (2, 2), 2, 1, True),
        ((2,), None, None, 1, 1, True),
        ((2,), None, (5, 2), 1, 5, False),
        ((2,), None, (3, 2, 2), 2, 3, False),
        (None, np.ones(3), (3,), 1, 3, False),
        (None, None, (), 1, 1, True),
        (None, None, (2,), 1, 1, True),
        (None, None, (2, 4), 2, 1, True),
        (None, None, (3, 2, 4), 2, 3, False),
    ],
)
def test_one_problem_is_told_from_several(shape, x, y0, starts, problems, alone):
    y0 = None if y0 is None else np.zeros(y0)
    batch, is_alone = as_problems(Stacks(shape), x, y0, starts)
    assert len(batch) == problems
    assert is_alone == alone
    if x is None:
        np.testing.assert_array_equal(batch, np.zeros(problems))


def test_whole_numbers_of_one_problem_stay_whole():
    batch, alone = as_problems(Stacks((2,)), np.arange(3), np.zeros(2))
    assert alone
    assert batch.shape == (1, 3)
    assert jnp.issubdtype(batch.dtype, jnp.integer)


def test_other_formats_tell_by_the_shape_of_the_problem():
    assert as_problems(Vectors((3,), (2,)), np.ones(3))[1]
    batch, alone = as_problems(Vectors((3,), (2,)), np.ones((4, 3)), np.zeros((4, 2)))
    assert batch.shape == (4, 3)
    assert not alone
