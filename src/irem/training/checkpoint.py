"""A PyTree of arrays in one safetensors file."""

from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import PyTree

from irem.errors import InputError
from irem.files import write_whole
from irem.trees import is_key

Tree = TypeVar("Tree", bound=PyTree)


def save_arrays(path: Path, tree: PyTree) -> None:
    """Write every array of `tree` to `path`, whole or not at all."""
    arrays = {name: _to_numpy(leaf) for name, leaf in _named(tree)}
    write_whole(path, safetensors.numpy.save(arrays))


def load_arrays(path: Path, like: Tree, prefix: str = "") -> Tree:
    """The tree shaped like `like` whose arrays are those of the file. No code in it is run.

    Arguments:
        path: A file that `save_arrays` wrote.
        like: A tree whose arrays may be mere shapes.
        prefix: Where in the saved tree `like` stood, as `jax.tree_util.keystr` writes it.
    """
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            arrays, rest = eqx.partition(like, _is_arraylike)
            filled = jax.tree_util.tree_map_with_path(
                lambda keys, leaf: _read(file, prefix + jax.tree_util.keystr(keys), leaf), arrays
            )
            return eqx.combine(filled, rest)
    except safetensors.SafetensorError as error:
        raise InputError(
            f"'{path}' is truncated or damaged ({error}); train the run again."
        ) from error


def array_shapes(path: Path, prefix: str) -> list[tuple[int, ...]]:
    """Shapes of the arrays whose names begin with `prefix`; only the file's header is read."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
            return [tuple(file.get_slice(name).get_shape()) for name in names]
    except safetensors.SafetensorError as error:
        raise InputError(f"'{path}' is truncated or damaged ({error}); restore it.") from error


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
    array = jax.numpy.asarray(file.get_tensor(name))
    if array.dtype == np.float16 and like.dtype == np.float32:
        array = array.astype(like.dtype)  # a run that was finished in half precision
    array = jax.random.wrap_key_data(array) if is_key(like) else array
    if array.shape != like.shape or array.dtype != like.dtype:
        raise InputError(
            f"The checkpoint holds {name} as {array.dtype}{list(array.shape)}, but its settings "
            f"ask for {like.dtype}{list(like.shape)}; it was not written for this run."
        )
    return array
