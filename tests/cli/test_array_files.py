"""Arrays in files: what is read, and one sentence for everything else."""

import io
import struct
import zipfile

import numpy as np
import pytest

import irem
from irem.cli import arrays, csv_files, numpy_files


def npy(descr="<f8", shape="(2, 3)", order="False", content=bytes(48)):
    """The bytes of a .npy file with any header."""
    header = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def as_npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def read(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return arrays.read(path)


NUMBERS = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "f8", "g", "i1", ">i8", "u2", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_kind_of_number_are_read(dtype, order, tmp_path):
    x = NUMBERS.astype(dtype, order=order)
    np.testing.assert_array_equal(read(tmp_path, "x.npy", as_npy(x)), x)
    np.savez_compressed(tmp_path / "x.npz", x=x, other=np.ones(2))
    np.testing.assert_array_equal(arrays.read(tmp_path / "x.npz"), x)


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (2, 0, 5)])
def test_arrays_of_odd_shapes_are_read(shape, tmp_path):
    np.savez(tmp_path / "x.npz", np.zeros(shape))
    assert arrays.read(tmp_path / "x.npz").shape == shape
    assert read(tmp_path, "x.npy", as_npy(np.zeros(shape))).shape == shape


BAD_ARRAYS = {
    "complex": (npy("<c16"), "must hold numbers, got an array of complex128"),
    "text": (npy("<U4"), "must hold numbers, got an array of <U4"),
    "objects": (npy("|O"), "must hold numbers, got an array of object"),
    "fields": (npy([("a", "<f4"), ("b", "<f4")]), "must hold numbers"),
    "sub-arrays": (npy(("<f4", (3,))), "is not a NumPy file"),
    "terabytes": (npy(shape="(60000000000000,)"), "announces 480.0 TB of numbers and has 48 bytes"),
    "more than there is": (npy(shape="(10**90,)"), "is not a NumPy file"),
    "a huge axis": (npy(shape=f"(0, {10**30})"), "is not a NumPy file"),
    "negative": (npy(shape="(-2, -3)"), "its shape is (-2, -3)"),
    "minus one": (npy(shape="(-1, 3)"), "its shape is (-1, 3)"),
    "no shape": (npy(shape="None"), "is not a NumPy file"),
    "fractions": (npy(shape="(2.0, 3.0)"), "is not a NumPy file"),
    "unknown type": (npy("<q99"), "is not a NumPy file"),
    "nested": (npy(shape="(" * 3000 + ")" * 3000), "is not a NumPy file"),
    "unbalanced": (npy(shape="((("), "is not a NumPy file"),
    "another version": (npy().replace(b"\x01\x00", b"\x09\x00", 1), "the version 9.0"),
    "cut off": (npy()[:-1], "announces 48 bytes of numbers and has 47 bytes"),
    "header alone": (npy()[:20], "is not a NumPy file"),
    "nothing": (b"", "is not a NumPy file"),
    "other bytes": (bytes(range(256)), "is not a NumPy file"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_an_array_that_is_none_gets_one_sentence(name, tmp_path):
    content, sentence = BAD_ARRAYS[name]
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", content)
    (tmp_path / "x.npy").write_bytes(content)
    for suffix in (".npy", ".npz"):
        with pytest.raises(irem.InputError) as refused:
            arrays.read(tmp_path / f"x{suffix}")
        said = str(refused.value)
        assert sentence in said
        assert "\n" not in said
        assert len(said) < 400


def test_members_of_an_archive_that_are_no_arrays_do_not_matter(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("readme.txt", "Hello.")
        archive.writestr("numbers.npy", as_npy(NUMBERS))
    np.testing.assert_array_equal(arrays.read(tmp_path / "x.npz"), NUMBERS)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("readme.txt", "Hello.")
    with pytest.raises(irem.InputError, match=r"holds 0 arrays; call the problems `x`"):
        arrays.read(tmp_path / "x.npz")


def patched(folder, at, value, *, method=zipfile.ZIP_DEFLATED):
    """An archive whose two headers have other numbers of 16 bits after so many bytes."""
    path = folder / "x.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("x.npy", as_npy(NUMBERS))
    content = bytearray(path.read_bytes())
    central = content.index(b"PK\x01\x02")
    struct.pack_into("<H", content, at, value)
    struct.pack_into("<H", content, central + at + 2, value)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("at", "value"), [(6, 1), (8, 97), (8, 9)])
def test_an_archive_that_is_encrypted_or_packed_in_an_unknown_way(at, value, tmp_path):
    with pytest.raises(irem.InputError, match="is not a NumPy file of numbers") as refused:
        arrays.read(patched(tmp_path, at, value))
    assert ("it is encrypted" in str(refused.value)) == (at == 6)


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_a_damaged_archive(method, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", method) as archive:
        archive.writestr("x.npy", as_npy(np.random.default_rng(0).uniform(size=99)))
    content = (tmp_path / "x.npz").read_bytes()
    middle = len(content) // 2
    for broken in (content[:middle], content[:middle] + b"????" + content[middle + 4 :]):
        with pytest.raises(irem.InputError, match="is not a NumPy file of numbers"):
            read(tmp_path, "x.npz", broken)


def test_an_archive_that_expands_beyond_the_limit_is_not_expanded(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "x.npz", np.zeros(10**6))
    assert (tmp_path / "x.npz").stat().st_size < 10**5
    monkeypatch.setattr(numpy_files, "LARGEST_ARCHIVED", 4e6)
    with pytest.raises(irem.InputError, match=r"8\.0 MB of memory, and 4\.0 MB .* as a \.npy file"):
        arrays.read(tmp_path / "x.npz")


def test_a_large_table_is_not_read_as_text(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "LARGEST_TABLE", 1e3)
    with pytest.raises(irem.InputError, match=r"limit; give it as a \.npy file"):
        read(tmp_path, "x.csv", b"1,2,3\n" * 100)


@pytest.mark.parametrize(
    "text",
    [
        "1,2\n3,\n",
        "1;2\n3;\n",
        "\ufeff1;2\r\n\r\n3; \r\n",
        "1 , 2.0\r3,",
        "1e0,+2\n3,nan",
    ],
)
def test_tables_of_commas_and_of_semicolons_are_read(text, tmp_path):
    found = read(tmp_path, "x.csv", text.encode())
    np.testing.assert_array_equal(found, [[1, 2], [3, np.nan]])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1,2\n#3,4\n5,6\n", "'#3' in row 2 is not a number"),
        ("# a comment\n1,2\n", "'# a comment' in row 1 is not a number"),
        ("a,1\n2,3\n", "'a' in row 1 is not a number: if row 1 is a header, give every column a"),
        ("a\tb\n1\t2,5\n", "'2,5' in row 2, column 'b', is not a number: write a point, not"),
        ("1 2\n", "separated by commas, semicolons or tabs"),
        ("1_2,3\n", "'1_2' in row 1 is not a number"),
        ("\u0661,2\n", "in row 1 is not a number"),
        ("1,2\u20283,4\n", "in row 1 is not a number"),
        (f"{'9x' * 4000}\n", f"'{'9x' * 10}...' in row 1"),
        ("1,2\n3\n", "its rows have from 1 to 2 cells"),
        (" \n\n", "it is empty"),
    ],
)
def test_what_is_no_table_of_numbers_gets_one_sentence(text, sentence, tmp_path):
    with pytest.raises(irem.InputError, match="is not a table of numbers") as refused:
        read(tmp_path, "x.csv", text.encode())
    assert sentence in str(refused.value)


def test_a_table_in_another_encoding(tmp_path):
    with pytest.raises(irem.InputError, match="it is not UTF-8 text"):
        read(tmp_path, "x.csv", "1,2".encode("utf-16"))
