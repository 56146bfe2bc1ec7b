"""Keys of seeds: those of JAX, and none that two purposes share."""

import jax
import numpy as np
import pytest

import irem
from irem.keys import fresh_key, training_keys


def data(key):
    return np.asarray(jax.random.key_data(key)).tolist()


def test_models_train_with_the_keys_of_their_seeds():
    assert data(training_keys(7, 3)) == [data(jax.random.key(seed)) for seed in (7, 8, 9)]


def test_every_purpose_has_a_key_of_its_own():
    purposes = ("evaluate", "calibrate", "trust", "validate", "solve", "compose", "figure", "steps")
    keys = [data(fresh_key(seed, purpose)) for purpose in purposes for seed in (0, 1)]
    keys += data(training_keys(0, 2))
    assert len({tuple(key) for key in keys}) == len(keys)


@pytest.mark.parametrize(("seed", "seeds"), [(-1, 1), (2**32, 1), (2**32 - 1, 2)])
def test_seeds_beyond_those_of_jax_are_refused(seed, seeds):
    with pytest.raises(irem.InputError, match=r"`seed` must be a whole number from 0 to"):
        training_keys(seed, seeds)


def test_more_seeds_than_memory_are_refused():
    with pytest.raises(irem.InputError, match=r"needs about .*B of memory.*fewer seeds"):
        training_keys(0, 10**15)
