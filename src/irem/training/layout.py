"""Where the models of a training and the parts of their batches are."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

from irem.devices import entered, make_mesh
from irem.errors import InputError
from irem.trees import is_key, map_arrays

Tree = TypeVar("Tree")


@dataclasses.dataclass(frozen=True)
class Layout:
    """Models of several seeds on devices of their own, and each batch on those of its model.

    Models send each other nothing. The devices of one model share its batches in equal parts, and
    average what they found once in an iteration.

    Arguments:
        mesh: The devices, by models and by parts of a batch; `None` for one device.
    """

    mesh: Mesh | None = None
    MODELS: ClassVar[str] = "models"
    PARTS: ClassVar[str] = "parts"

    @staticmethod
    def of(models: int, batch_size: int) -> Layout:
        """Return the layout on the devices that work is to be shared among.

        As many devices as possible have models of their own; the others share batches.
        """
        devices = entered()
        if devices is None:
            return ALONE
        chosen = devices.everywhere()
        if len(chosen) == 1:
            return ALONE
        apart = math.gcd(models, len(chosen))
        parts = len(chosen) // apart
        if batch_size % parts:
            raise InputError(
                f"{len(chosen)} devices for {_models(models)} are {parts} for each batch, and one "
                f"of {batch_size} problems has no {parts} equal parts; choose a batch size that is "
                f"a multiple of {parts}, or another number of devices."
            )
        return Layout(make_mesh(chosen, **{Layout.MODELS: apart, Layout.PARTS: parts}))

    @property
    def parts(self) -> int:
        """Number of devices that share a batch."""
        return 1 if self.mesh is None else self.mesh.shape[Layout.PARTS]

    @property
    def apart(self) -> int:
        """Number of groups of devices that have models of their own."""
        return 1 if self.mesh is None else self.mesh.shape[Layout.MODELS]

    def own(self, tree: Tree) -> Tree:
        """Return of arrays with a row for every problem of a batch those of this device."""
        if self.parts == 1:
            return tree
        place = jax.lax.axis_index(Layout.PARTS)

        def rows(array: Array) -> Array:
            size = array.shape[0] // self.parts
            return jax.lax.dynamic_slice_in_dim(array, place * size, size)

        return map_arrays(rows, tree)

    def mean(self, tree: Tree, weight: Array | int) -> Tree:
        """Return the weighted mean over the devices that share a batch: one message to all.

        Arguments:
            tree: What this device found.
            weight: How much that counts; a plain number is that of every device.
        """
        if self.parts == 1:
            return tree
        arrays, rest = eqx.partition(tree, eqx.is_array)
        if isinstance(weight, int):
            arrays, total = jax.lax.psum(arrays, Layout.PARTS), self.parts
        else:
            # Where a part has nothing that counts, its mean is not finite.
            weighted = map_arrays(lambda a: jnp.where(weight > 0, a * weight, 0), arrays)
            arrays, total = jax.lax.psum((weighted, weight), Layout.PARTS)
        return eqx.combine(map_arrays(lambda a: a / total, arrays), rest)

    @property
    def by_model(self) -> PartitionSpec:
        """How arrays lie on the devices that have a row for every model."""
        return PartitionSpec(Layout.MODELS)

    @property
    def by_part(self) -> PartitionSpec:
        """How arrays lie that have a row for every model, and in it one for every part."""
        return PartitionSpec(Layout.MODELS, *([Layout.PARTS] if self.parts > 1 else []))

    def spread(self, tree: Tree, specs: Any) -> Tree:
        """Return a tree of whole arrays, which all hosts have, as it lies on the devices."""
        if self.mesh is None:
            return tree
        arrays, rest = eqx.partition(tree, eqx.is_array)
        mesh, is_spec = self.mesh, lambda leaf: isinstance(leaf, PartitionSpec)

        def put(spec: PartitionSpec, part: PyTree) -> PyTree:
            return jax.tree.map(lambda array: _put(array, NamedSharding(mesh, spec)), part)

        return eqx.combine(jax.tree.map(put, specs, arrays, is_leaf=is_spec), rest)

    def gather(self, tree: Tree) -> Tree:
        """Return a tree with whole arrays on the device of JAX, on every host."""
        if self.mesh is None:
            return tree
        arrays, rest = eqx.partition(tree, eqx.is_array)
        # A copy: the states are donated to the next chunk.
        copied = lambda array: jnp.array(array.addressable_data(0))  # noqa: E731
        here = jax.tree.map(copied, _to_all(self.mesh)(arrays))
        return eqx.combine(jax.device_put(here, jax.local_devices()[0]), rest)


@functools.cache
def _to_all(mesh: Mesh) -> Callable[[PyTree], PyTree]:
    """A function that returns arrays whole on every device; compiled once for their shapes."""
    return jax.jit(lambda tree: tree, out_shardings=NamedSharding(mesh, PartitionSpec()))


def _put(array: Array, sharding: NamedSharding) -> Array:
    """An array, which all hosts have or which is there already, on its devices; none is sent."""
    if sharding.is_equivalent_to(array.sharding, array.ndim):
        return array
    if is_key(array):
        return jax.random.wrap_key_data(_put(jax.random.key_data(array), sharding))
    whole = np.array(array)  # a copy, as what is made of it is donated
    return jax.make_array_from_callback(whole.shape, sharding, lambda rows: whole[rows])


ALONE = Layout()
"""One device."""


def _models(number: int) -> str:
    return "1 model" if number == 1 else f"{number} models"
