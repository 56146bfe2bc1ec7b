"""Feed damaged files to every reader of irem: each gives a valid result or one sentence.

    python tools/fuzz.py --inputs 2000 --seed 0

Inputs are random bytes, and valid files that are cut off, have bits flipped or parts repeated, or
have odd values in their fields. Whatever a reader raises but `InputError` counts as a crash. Exit
code 1 if there is one, or if reading took more than 2 GB of memory.
"""

import argparse
import contextlib
import io
import itertools
import json
import random
import resource
import shutil
import struct
import sys
import tempfile
import traceback
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from PIL import Image

import irem
from irem.apps.sat import read_dimacs
from irem.cli import arrays
from irem.evaluation import read_calibrations
from irem.memory import size_text
from irem.paper import EXPERIMENTS, QUICK, Study
from irem.paper.results import read_result
from irem.picture_files import read_picture
from irem.training.run import ZOO_FOLDER

ROOT = Path(__file__).parents[1]
MEMORY = 2e9
"""How much memory reading may take beyond what the program takes."""

# A small run, and a result with cells and one with figures.
_RUN = "edge-copy"
_RESULTS = ("table1", "figures", "sat")
# Odd values as JSON has them; text, since some are no values of Python.
_ODD_JSON = (
    *("null", "true", "[]", "{}", '""', "0", "-1", "1e400", "NaN", "-Infinity", "1e-320", "0.5"),
    *("99999999999999999999999", "9" * 5000, "[" * 2000 + "]" * 2000, '{"a": [null]}', '"\\ud800"'),
    *("1000000000", "2147483648", '"nan"', "[[]]", '["a", 1]'),
)
_ODD_WORDS = (
    *("", "-", "#", "1_2", "٣", "9" * 5000, "-0", "+1", "1e400", "nan", "inf", "0x10", "1,5", '"'),
    *(
        "%",
        "c",
        "p",
        "cnf",
        "1000000000",
        "-2147483648",
        "4294967297",
        "\x00",
        "\ufeff",
        "\x85",
        ";",
    ),
)
_ODD_SHAPES = (
    *("()", "(-1,)", "(-1, 3)", "(0, 10**9)", "(60000000000000,)", "None", "[3]", "(3.0,)", "3"),
    *(
        "(True, 3)",
        f"({'1, ' * 70})",
        "(" * 500,
        "(99999999999999999999,)",
        "(3, 4" + ", 1" * 40 + ")",
    ),
)
_ODD_TYPES = (
    *("'<f16'", "'<c8'", "'|O'", "'<U9'", "'|V8'", "'>i2'", "'<M8[s]'", "'|b1'", "'<f3'", "None"),
    *("[('a', '<f4')]", "('<f4', (3,))", "''", "'|S0'", "[('a', '|O')]", "{'x': 1}", "'<f8,<f8'"),
)


class Reader(NamedTuple):
    """A reader of files.

    Arguments:
        name: What is printed.
        valid: Valid files that inputs are made from, by the names that they are read under.
        read: Reads the file of that name in a folder; its neighbours are valid.
        odd: Returns a valid file with something odd in it.
    """

    name: str
    valid: dict[str, bytes]
    read: Callable[[Path], Any]
    odd: Callable[[random.Random, bytes], bytes]


class Count(NamedTuple):
    """What became of the inputs of a reader."""

    inputs: int
    valid: int
    refused: int
    crashed: list[str]
    memory: int


def readers() -> list[Reader]:
    """Return every reader of irem."""
    run = {p.name: p.read_bytes() for p in (ZOO_FOLDER / _RUN).iterdir() if p.suffix != ".md"}
    settings, calibration = "run.json", "calibration.json"
    weights = "checkpoint.safetensors"
    results = {f"{name}.json": (ROOT / f"results/{name}.json").read_bytes() for name in _RESULTS}
    return [
        Reader("run folder: settings", {settings: run[settings]}, _read_run, odd_json),
        Reader("run folder: weights", {weights: run[weights]}, _read_run, odd_safetensors),
        Reader("calibration", {calibration: run[calibration]}, _read_calibration, odd_json),
        Reader("study", {"study.json": _study_settings()}, _read_study, odd_json),
        Reader("results", results, lambda path: read_result(path.parent, path.stem), odd_json),
        Reader("arrays: .npy", _arrays(".npy"), _read_array, odd_npy),
        Reader("arrays: .npz", _arrays(".npz"), _read_array, odd_npz),
        Reader("tables: .csv", {"x.csv": b"1,2.5,\n-3,4,1e9\n0,nan,inf\n"}, _read_array, odd_text),
        Reader("formulas: DIMACS", {"f.cnf": _FORMULA}, read_dimacs, odd_text),
        Reader("pictures: PNG", _pictures("PNG", ".png"), read_picture, odd_png),
        Reader("pictures: JPEG", _pictures("JPEG", ".jpg"), read_picture, odd_jpeg),
        Reader("pictures: TIFF", _pictures("TIFF", ".tif"), read_picture, odd_tiff),
    ]


def feed(reader: Reader, inputs: int, seed: int, keep: Path | None = None) -> Count:
    """Feed so many inputs to a reader.

    Arguments:
        reader: The reader.
        inputs: How many.
        seed: Where they are drawn from.
        keep: A folder for inputs that crash it.
    """
    valid = refused = 0
    crashed: list[str] = []
    with _folder(reader) as folder:
        for name in reader.valid:
            reader.read(folder / name)  # as it is, every file is valid
        before = _peak()
        for number in range(inputs):
            draw = random.Random(f"{seed} {reader.name} {number}")
            name = draw.choice(sorted(reader.valid))
            content = make_input(reader, reader.valid[name], draw)
            (folder / name).write_bytes(content)
            try:
                reader.read(folder / name)
                valid += 1
            except irem.InputError:
                refused += 1
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(place.filename).name}:{place.lineno}"
                crashed.append(f"input {number}: {type(error).__name__}: {error!s:.150} ({where})")
                if keep is not None:
                    (keep / f"{number}-{name}").write_bytes(content)
            (folder / name).write_bytes(reader.valid[name])
    return Count(inputs, valid, refused, crashed, _peak() - before)


def make_input(reader: Reader, valid: bytes, draw: random.Random) -> bytes:
    """Return random bytes, or a valid file with some damage."""
    kind = draw.random()
    if kind < 0.1:
        return draw.randbytes(draw.choice((0, 1, 7, 64, 1000)))
    if kind < 0.25:
        return valid[: draw.randrange(len(valid))]
    if kind < 0.45:
        return flip_bits(valid, draw)
    if kind < 0.55:
        return splice(valid, draw)
    content = reader.odd(draw, valid)
    return flip_bits(content, draw) if draw.random() < 0.1 else content


def flip_bits(content: bytes, draw: random.Random) -> bytes:
    """Return bytes of which a few bits are the other way round, half of the time near the start."""
    changed = bytearray(content)
    among = min(len(changed), 200) if draw.random() < 0.5 else len(changed)
    for _ in range(draw.choice((1, 1, 2, 8))):
        if among:
            changed[draw.randrange(among)] ^= 1 << draw.randrange(8)
    return bytes(changed)


def splice(content: bytes, draw: random.Random) -> bytes:
    """Return bytes of which a part is left out, repeated, or replaced by others."""
    start = draw.randrange(len(content))
    end = min(len(content), start + draw.choice((1, 4, 20, 200)))
    inside = draw.choice((b"", 2 * content[start:end], draw.randbytes(end - start)))
    return content[:start] + inside + content[end:]


def odd_json(draw: random.Random, valid: bytes) -> bytes:
    """Return JSON in which one value, at any depth, is another, is missing, or has a new name."""
    mark = "@odd@"
    values = json.loads(valid)
    parent, key = values, None
    while True:
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        key = draw.choice(keys)
        if not isinstance(parent[key], dict | list) or not parent[key] or draw.random() < 0.3:
            break
        parent = parent[key]
    what = draw.random()
    if what < 0.15 and isinstance(parent, dict):
        parent[draw.choice(("", "name", "odd", "__class__"))] = parent.pop(key)
    elif what < 0.3:
        del parent[key]
    else:
        parent[key] = mark
    return json.dumps(values).replace(f'"{mark}"', draw.choice(_ODD_JSON)).encode()


def odd_safetensors(draw: random.Random, valid: bytes) -> bytes:
    """Return weights whose header says odd things."""
    (length,) = struct.unpack_from("<Q", valid)
    header = valid[8 : 8 + length]
    if draw.random() < 0.2:
        return struct.pack("<Q", draw.choice((0, 2**63, 2**40, length + 1))) + valid[8:]
    header = odd_json(draw, header)
    return struct.pack("<Q", len(header)) + header + valid[8 + length :]


def odd_npy(draw: random.Random, valid: bytes) -> bytes:
    """Return an array with an odd type or shape in its header."""
    del valid
    dtype = draw.choice(_ODD_TYPES) if draw.random() < 0.5 else "'<f4'"
    shape = draw.choice(_ODD_SHAPES) if draw.random() < 0.7 else "(3, 4)"
    order = draw.choice(("False", "True", "None", "0"))
    header = f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}}}\n".encode()
    version = draw.choice((b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x07\x01"))
    size = struct.pack("<H" if version[0] == 1 else "<I", len(header))
    return b"\x93NUMPY" + version + size + header + draw.randbytes(draw.choice((0, 48, 4800)))


def odd_npz(draw: random.Random, valid: bytes) -> bytes:
    """Return an archive with odd members, or with odd numbers in the headers of its members."""
    if draw.random() < 0.4:
        file = io.BytesIO()
        method = draw.choice((0, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
        with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method) as archive:
            warnings.simplefilter("ignore")
            for name in draw.choices(("x.npy", "y.npy", "a.txt", ".npy", "../x.npy", "d/"), k=2):
                archive.writestr(name, odd_npy(draw, b""))
        return file.getvalue()
    changed = bytearray(valid)
    signature = draw.choice((b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"))
    start = changed.index(signature) + 4
    at = draw.randrange(start, min(start + 40, len(changed) - 4))
    struct.pack_into("<I", changed, at, draw.choice((0, 1, 9, 97, 2**31, 2**32 - 1)))
    return bytes(changed)


def odd_text(draw: random.Random, valid: bytes) -> bytes:
    """Return a text of which some words are others."""
    text = valid.decode()
    for _ in range(draw.choice((1, 1, 3))):
        at = draw.randrange(len(text) + 1)
        word, between = draw.choice(_ODD_WORDS), draw.choice(("", " ", ",", ";", "\n", "\r", "\t"))
        text = text[:at] + between + word + between + text[at + draw.choice((0, 1, 2)) :]
    return text.encode(draw.choice(("utf-8", "utf-8", "latin-1", "utf-16")), errors="replace")


def odd_png(draw: random.Random, valid: bytes) -> bytes:
    """Return a PNG file with odd sizes or kinds, and sums that fit them."""
    header = bytearray(valid[12:29])  # IHDR: width, height, depth, kind and methods
    field = draw.choice((4, 8))
    if draw.random() < 0.5:
        struct.pack_into(
            ">I", header, field, draw.choice((0, 1, 5000, 2**16, 2**31 - 1, 2**32 - 1))
        )
    else:
        header[draw.randrange(12, 17)] = draw.choice((0, 1, 2, 3, 4, 6, 8, 16, 255))
    return valid[:12] + header + struct.pack(">I", zlib.crc32(header)) + valid[33:]


def odd_jpeg(draw: random.Random, valid: bytes) -> bytes:
    """Return a JPEG file with odd numbers after one of its markers."""
    changed = bytearray(valid)
    markers = [
        i for i in range(len(valid) - 8) if valid[i] == 0xFF and valid[i + 1] not in (0, 0xFF)
    ]
    at = draw.choice(markers) + draw.randrange(1, 8)
    struct.pack_into(">H", changed, at, draw.choice((0, 1, 8, 2**15, 2**16 - 1)))
    return bytes(changed)


def odd_tiff(draw: random.Random, valid: bytes) -> bytes:
    """Return a TIFF file with an odd number in one of its tags."""
    changed = bytearray(valid)
    (start,) = struct.unpack_from("<I", valid, 4)
    (number,) = struct.unpack_from("<H", valid, start)
    at = start + 2 + 12 * draw.randrange(number) + draw.choice((0, 2, 4, 8))
    form = draw.choice(("<H", "<I"))
    odd = (0, 1, 2, 7, 16, 255, 5000, 2**16 - 1) if form == "<H" else (0, 1, 99, 2**31, 2**32 - 1)
    struct.pack_into(form, changed, at, draw.choice(odd))
    return bytes(changed)


_FORMULA = b"c a formula\np cnf 4 3\n1 -2 0\n3 4 -1 0\n2 -4 0\n%\n0\n"


def _arrays(suffix: str) -> dict[str, bytes]:
    """Arrays of a few kinds."""
    kept = {}
    for kind, order in itertools.product(("<f4", ">f8", "<i2"), "CF"):
        file, x = io.BytesIO(), np.arange(12).reshape(3, 4).astype(kind, order=order)
        if suffix == ".npy":
            np.save(file, x)
        else:
            np.savez_compressed(file, x=x, other=np.ones(2))
        kept[f"{kind[1:]}-{order}{suffix}"] = file.getvalue()
    return kept


def _pictures(kind: str, suffix: str) -> dict[str, bytes]:
    """Pictures of a few kinds."""
    grey = np.random.default_rng(0).integers(0, 256, (24, 16), np.uint8)
    modes = {"grey": Image.fromarray(grey), "colour": Image.fromarray(np.stack(3 * [grey], -1))}
    if kind != "JPEG":
        modes["deep"] = Image.fromarray(grey.astype(np.uint16) * 257)
        modes["palette"] = modes["colour"].convert("P")
    kept = {}
    for name, picture in modes.items():
        file = io.BytesIO()
        picture.save(file, kind)
        kept[f"{name}{suffix}"] = file.getvalue()
    return kept


def _study_settings() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        Study(Path(folder), QUICK)
        return (Path(folder) / "study.json").read_bytes()


@contextlib.contextmanager
def _folder(reader: Reader):
    """A folder with the valid files of a reader, and of a run where it reads one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if reader.read in (_read_run, _read_calibration):
            shutil.copytree(ZOO_FOLDER / _RUN, folder, dirs_exist_ok=True)
        for valid, content in reader.valid.items():
            (folder / valid).write_bytes(content)
        yield folder


def _read_run(path: Path) -> Any:
    return irem.load(path.parent)


def _read_calibration(path: Path) -> Any:
    return read_calibrations(irem.load(path.parent))


def _read_study(path: Path) -> Any:
    return Study(path.parent, QUICK)


def _read_array(path: Path) -> Any:
    x = arrays.read(path)
    return irem.formats.Tables(1, (2, 3), missing=True).as_batch(x)


def _peak() -> int:
    """The most memory that this process has had, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Feed all readers, and print what became of the inputs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=2000, help="how many, over all readers")
    parser.add_argument("--seed", type=int, default=0, help="where they are drawn from")
    parser.add_argument("--keep", type=Path, help="a folder for inputs that crash a reader")
    given = parser.parse_args()
    every = readers()
    assert set(_RESULTS) <= set(EXPERIMENTS)
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
    print(f"{'reader':22}  inputs  valid  refused  crashed  memory")
    counts = []
    for i, reader in enumerate(every):
        number = given.inputs // len(every) + (i < given.inputs % len(every))
        count = feed(reader, number, given.seed, given.keep)
        counts.append(count)
        print(
            f"{reader.name:22}  {count.inputs:6}  {count.valid:5}  {count.refused:7}  "
            f"{len(count.crashed):7}  {size_text(count.memory)}"
        )
        for crash in count.crashed:
            print(f"    {crash}")
    total = [sum(c[i] if i < 3 else len(c.crashed) for c in counts) for i in range(4)]
    memory = sum(c.memory for c in counts)
    print(
        f"{'all':22}  {total[0]:6}  {total[1]:5}  {total[2]:7}  {total[3]:7}  {size_text(memory)}"
    )
    sys.exit(1 if total[3] or memory > MEMORY else 0)


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    main()
