"""Arrays of numbers in .npy and .npz files, which may hold anything else as well."""

import contextlib
import io
import math
import warnings
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np

from irem.errors import InputError
from irem.memory import check_memory, size_text

LARGEST_ARCHIVED = 2e9
"""Most bytes of an array in a .npz, all of which has to be in memory."""

_NUMBERS = "fiub"
_LONGEST_TEXT = 1000
# Where entries are, by how a sparse matrix is stored.
_SPARSE = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}
_ENCRYPTED = 0x1  # a flag of a member of a zip file
_READ_HEADER = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,  # the same with other names of fields
}


class _Header(NamedTuple):
    """What an array file says of its array.

    Arguments:
        shape: Shape of the array.
        order: The order of its numbers, as NumPy names it.
        dtype: The type of a number.
        start: Where in the file they begin.
    """

    shape: tuple[int, ...]
    order: Literal["C", "F"]
    dtype: np.dtype
    start: int

    @property
    def size(self) -> int:
        """The bytes that all numbers take."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy(path: Path, name: str) -> np.ndarray:
    """Return the array in a .npy file, which stays on the disk.

    Arguments:
        path: The file.
        name: What messages call the array.
    """
    with _refusing_damage(path):
        with path.open("rb") as file:
            header = _read_header(file, path.stat().st_size, name)
        if header.size == 0:
            return np.zeros(header.shape, header.dtype)
        return np.memmap(path, header.dtype, "r", header.start, header.shape, header.order)


def read_npz(path: Path, name: str, what: str) -> np.ndarray:
    """Return the array of that name in a .npz file, or the only one there is.

    Arguments:
        path: The file.
        name: What the array is called.
        what: What it holds, in words.
    """
    with _refusing_damage(path), zipfile.ZipFile(path) as archive:
        return _read_member(archive, _choose(archive, path, name, what), path, name)


def read_arrays(path: Path, names: Mapping[str, str]) -> list[np.ndarray]:
    """Return several arrays of a .npz file by their names.

    Arguments:
        path: The file.
        names: What the arrays are called, and what each holds, in words.
    """
    with _refusing_damage(path), zipfile.ZipFile(path) as archive:
        members = _members(archive)
        if not set(names) <= set(members):
            expected = " and ".join(f"`{name}`, {what}" for name, what in names.items())
            raise InputError(
                f"'{path}' holds {_listed(members)}; expected {expected}, under these names."
            )
        return [_read_member(archive, members[name], path, name) for name in names]


def read_sparse(path: Path) -> Any | None:
    """Return the matrix in a .npz file that `scipy.sparse.save_npz` wrote; `None` in any other."""
    with _refusing_damage(path), zipfile.ZipFile(path) as archive:
        members = _members(archive)
        if not {"format", "shape", "data"} <= set(members):
            return None
        kind = _read_text(archive, members["format"])
        if kind not in _SPARSE:
            raise ValueError(f"its sparse matrix is stored as {kind}, not as csr, csc or coo")
        names = ("data", *_SPARSE[kind], "shape")
        *parts, shape = (_read_member(archive, members[name], path, name) for name in names)
        return _sparse_matrix(path, kind, parts, tuple(map(int, shape)))


def _sparse_matrix(path: Path, kind: str, parts: list[np.ndarray], shape: tuple[int, ...]) -> Any:
    """The sparse matrix of these arrays, which are checked: SciPy's code trusts them."""
    from scipy import sparse  # noqa: PLC0415  (not needed for other files)

    if len(shape) != 2 or min(shape) < 1:
        raise ValueError(f"its shape is {shape}")
    check_memory(f"The sparse matrix in '{path}'", 8.0 * math.prod(shape), "give a smaller one")
    data, first, second = parts
    if kind == "coo":
        return sparse.coo_array((data, (first, second)), shape)
    matrix = (sparse.csr_array if kind == "csr" else sparse.csc_array)((data, first, second), shape)
    matrix.check_format(full_check=True)
    return matrix


def _read_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, name: str
) -> np.ndarray:
    """The array of one member of an archive."""
    if member.flag_bits & _ENCRYPTED:
        raise ValueError("it is encrypted")
    check_memory(
        f"The array in '{path}'",
        member.file_size,
        "give it as a .npy file, which is read page by page",
        limit=LARGEST_ARCHIVED,
    )
    with archive.open(member) as file:
        header = _read_header(file, member.file_size, name)
        content = file.read(header.size)
    if len(content) < header.size:
        raise ValueError("it is cut off")
    return np.frombuffer(content, header.dtype).reshape(header.shape, order=header.order)


def _read_text(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    """The few letters of a member that is an array of text."""
    if member.file_size > _LONGEST_TEXT:
        raise ValueError("the name of its format is too long")
    text = np.load(io.BytesIO(archive.read(member)), allow_pickle=False).item()
    return text.decode("ascii") if isinstance(text, bytes) else str(text)


def _choose(archive: zipfile.ZipFile, path: Path, name: str, what: str) -> zipfile.ZipInfo:
    """The member that is the array; other members than arrays do not matter."""
    arrays = _members(archive)
    if name in arrays:
        return arrays[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise InputError(f"'{path}' holds {_listed(arrays)}; call the {what} `{name}`.")


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The arrays of an archive by name."""
    return {m.filename[:-4]: m for m in archive.infolist() if m.filename.endswith(".npy")}


def _listed(arrays: Collection[str]) -> str:
    """How many arrays there are, and the names of the first few."""
    listed = ", ".join([*map(ascii, list(arrays)[:5]), *(["..."] if len(arrays) > 5 else [])])
    number = "1 array" if len(arrays) == 1 else f"{len(arrays)} arrays"
    return f"{number} ({listed})" if arrays else number


def _read_header(file: IO[bytes], size: int, name: str) -> _Header:
    """The header of an array in `size` bytes, checked against them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        version = np.lib.format.read_magic(file)
        if version not in _READ_HEADER:
            raise ValueError(f"its format has the version {version[0]}.{version[1]}")
        shape, is_fortran, dtype = _READ_HEADER[version](file)
    header = _Header(shape, "F" if is_fortran else "C", dtype, file.tell())
    if dtype.kind not in _NUMBERS:
        raise ValueError(f"`{name}` must hold numbers, got an array of {dtype}")
    if min(shape, default=0) < 0:
        raise ValueError(f"its shape is {shape}")
    if header.size > size - header.start:
        raise ValueError(
            f"it announces {size_text(header.size)} of numbers and has "
            f"{size_text(size - header.start)}"
        )
    return header


@contextlib.contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    """Turn what NumPy and the decompressors raise on damaged files into a sentence."""
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        if error.filename is not None:  # it is the disk, not what the file holds
            raise
        raise _damaged(path, error) from error
    except Exception as error:  # errors of any kind
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InputError:
    reason = str(error).partition(";")[0].partition("\n")[0].strip().rstrip(".")
    reason = reason or type(error).__name__
    return InputError(f"'{path}' is not a NumPy file of numbers ({reason[:200]}).")
