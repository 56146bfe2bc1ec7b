"""A PyTree of arrays in one safetensors file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import PyTree

from irem.errors import InputError
from irem.files import write_whole
from irem.trees import is_key


def save_arrays(path: Path, tree: PyTree) -> None:
    """Write every array of `tree` to `path`, whole or not at all."""
    arrays = {name: _to_numpy(leaf) for name, leaf in _named(tree)}
    write_whole(path, safetensors.numpy.save(arrays))


class ArrayFile:
    """The arrays of a file that `save_arrays` wrote; no code in it is run.

    Everything is read from one opening of the file: another process that puts a new one in its
    place meanwhile changes nothing of what is read.

    Arguments:
        path: The file, for messages.
        file: The file, open.
    """

    def __init__(self, path: Path, file: safetensors.safe_open) -> None:
        self.path, self._file = path, file

    @staticmethod
    @contextlib.contextmanager
    def open(path: Path) -> Iterator[ArrayFile]:
        """Open the file; whatever is wrong with it is said in one sentence."""
        try:
            with safetensors.safe_open(path, framework="numpy") as file:
                yield ArrayFile(path, file)
        except (safetensors.SafetensorError, OverflowError) as error:
            raise InputError(
                f"'{path}' is truncated or damaged ({error}); restore it, or train the run again."
            ) from error

    def read(self, like: PyTree, prefix: str = "") -> Any:
        """Return the tree shaped like `like` whose arrays are those of the file.

        Arguments:
            like: A tree whose arrays may be mere shapes.
            prefix: Where in the saved tree `like` stood, as `jax.tree_util.keystr` writes it.
        """
        arrays, rest = eqx.partition(like, _is_arraylike)
        filled = jax.tree_util.tree_map_with_path(
            lambda keys, leaf: _read(self._file, prefix + jax.tree_util.keystr(keys), leaf), arrays
        )
        return eqx.combine(filled, rest)

    def shapes(self, prefix: str) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays whose names begin with `prefix`, from the header."""
        names = [name for name in self._file.keys() if name.startswith(prefix)]  # noqa: SIM118
        return {name: tuple(self._file.get_slice(name).get_shape()) for name in names}


def keep_arrays(path: Path, prefixes: tuple[str, ...], half: str | None = None) -> None:
    """Drop from the file all arrays whose names do not begin with one of `prefixes`.

    Arrays whose names begin with `half` are kept in half precision.
    """
    with safetensors.safe_open(path, framework="numpy") as file:
        kept = {name: file.get_tensor(name) for name in file.keys() if name.startswith(prefixes)}  # noqa: SIM118
    if half is not None:
        for name, array in kept.items():
            if name.startswith(half) and array.dtype == np.float32:
                kept[name] = array.astype(np.float16)
    write_whole(path, safetensors.numpy.save(kept))


def _is_arraylike(leaf: object) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


def _named(tree: PyTree) -> list[tuple[str, jax.Array | np.ndarray]]:
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(tree, eqx.is_array))
    return [(jax.tree_util.keystr(keys), leaf) for keys, leaf in leaves]


def _to_numpy(leaf: jax.Array | np.ndarray) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf)


def _read(file: safetensors.safe_open, name: str, like: Any) -> jax.Array:
    kept = jax.eval_shape(jax.random.key_data, like) if is_key(like) else like
    array = _get(file, name)
    halved = array.dtype == np.float16 and kept.dtype == np.float32
    if array.shape != kept.shape or (array.dtype != kept.dtype and not halved):
        raise InputError(
            f"The checkpoint holds {name} as {array.dtype}{list(array.shape)}, but its settings "
            f"ask for {kept.dtype}{list(kept.shape)}; it was not written for this run."
        )
    filled = jax.numpy.asarray(array, kept.dtype)  # single again if it was finished in half
    return jax.random.wrap_key_data(filled) if is_key(like) else filled


def _get(file: safetensors.safe_open, name: str) -> np.ndarray:
    try:
        return np.asarray(file.get_tensor(name))
    except (TypeError, AttributeError, ValueError) as error:
        raise InputError(f"The checkpoint holds {name} as no array of NumPy ({error}).") from error
