"""What irem runs on, and what is wrong with it."""

from __future__ import annotations

import os
import platform
import shutil
from importlib import metadata
from typing import Any, NamedTuple

from irem import compiled
from irem.memory import available, size_text
from irem.version import __version__

_PACKAGES = ("jax", "jaxlib", "equinox", "optax", "optimistix", "numpy", "scipy")
_LITTLE_MEMORY = 2e9
# Products of matrices of 64 x 64 in float32, in whichever order they are summed.
_LARGEST_ERROR = 1e-4


class Machine(NamedTuple):
    """What irem runs on.

    Arguments:
        versions: Of Python, irem and the packages that it computes with.
        devices: What JAX computes on, by its name; empty where JAX finds none.
        precision: Of products of matrices: in training that of the device unless a recipe asks for
            more, and full float32 in answers.
        double: Whether JAX has been told to compute in 64 bits.
        threads: How many cores this process may use.
        memory: How many bytes it may still take.
        flags: The environment variables that change what JAX does.
        cache: The compiled programs on the disk; `None` where none are kept.
        wrong: One sentence for everything that is wrong, with what to do.
    """

    versions: dict[str, str]
    devices: list[str]
    precision: str
    double: bool
    threads: int
    memory: int
    flags: dict[str, str]
    cache: compiled.Kept | None
    wrong: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        cache = self.cache
        kept = None if cache is None else {**cache._asdict(), "folder": str(cache.folder)}
        return {**self._asdict(), "cache": kept}


def examine() -> Machine:
    """Return what irem runs on; this starts JAX, and multiplies two matrices."""
    wrong: list[str] = []
    devices, precision, double = _look_at_jax(wrong)
    _check_gpu(devices, wrong)
    memory, cache = available(), compiled.kept()
    if memory < _LITTLE_MEMORY:
        wrong.append(
            f"Only {size_text(memory)} of memory are free; large problems need more: end other "
            "programs, or solve fewer problems at a time."
        )
    _check_cache(cache, wrong)
    flags = {n: v for n, v in sorted(os.environ.items()) if n.startswith(("JAX_", "XLA_", "IREM_"))}
    if "backend_optimization_level=0" in flags.get("XLA_FLAGS", ""):
        wrong.append(
            "XLA_FLAGS turns the optimisation of compiled programs off, which makes them slow; "
            "unset it unless you are running tests."
        )
    return Machine(_versions(), devices, precision, double, _cores(), memory, flags, cache, wrong)


def _versions() -> dict[str, str]:
    packages = {name: metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), "irem": __version__, **packages}


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _look_at_jax(wrong: list[str]) -> tuple[list[str], str, bool]:
    """The devices, the precision of products, and whether JAX computes in 64 bits."""
    import jax  # noqa: PLC0415  (to say so where it cannot start)

    config: Any = jax.config  # whose options pyright does not know
    precision = str(config.jax_default_matmul_precision or "that of the device")
    double = bool(config.jax_enable_x64)
    try:
        devices = [f"{device.platform}: {device.device_kind}" for device in jax.devices()]
    except RuntimeError as error:
        wrong.append(
            f"JAX cannot start ({str(error).splitlines()[0]}); check JAX_PLATFORMS, or install the "
            "jaxlib of your device."
        )
        return [], precision, double
    _check_product(wrong)
    return devices, precision, double


def _check_product(wrong: list[str]) -> None:
    """See whether a compiled product of matrices agrees with NumPy's."""
    import jax  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    left, right = np.random.default_rng(0).uniform(-1, 1, (2, 64, 64)).astype(np.float32)
    with jax.default_matmul_precision("float32"):
        found = np.asarray(jax.jit(lambda a, b: a @ b)(left, right))
    error = float(np.abs(found - left.astype(np.float64) @ right).max())
    if not error <= _LARGEST_ERROR:
        wrong.append(
            f"A compiled product of matrices is off by {error:.2g} from NumPy's; run `irem doctor "
            "--clear` and try again, and if that does not help, install jaxlib again."
        )


def _check_gpu(devices: list[str], wrong: list[str]) -> None:
    """See whether there is an NVIDIA GPU that JAX does not use."""
    used = any(device.startswith(("gpu", "cuda")) for device in devices)
    if not used and shutil.which("nvidia-smi") and os.path.exists("/dev/nvidia0"):
        wrong.append(
            "There is an NVIDIA GPU, and JAX computes on the CPU; install `jax[cuda13]` (or "
            "cuda12), or unset JAX_PLATFORMS."
        )


def _check_cache(cache: compiled.Kept | None, wrong: list[str]) -> None:
    """See whether compiled programs can be kept."""
    if cache is None:
        wrong.append(
            f"Compiled programs are not kept, so that every start compiles them again: unset "
            f"{compiled.FOLDER}, or give it a folder."
        )
        return
    place = next(p for p in (cache.folder, *cache.folder.parents) if p.exists())
    if not os.access(place, os.W_OK):
        wrong.append(
            f"'{place}' cannot be written to, so that every start compiles programs again; set "
            f"{compiled.FOLDER} to a folder that can."
        )
