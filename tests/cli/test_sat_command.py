import json

import pytest

SATISFIABLE = "p cnf 3 2\n1 -3 0\n2 3 -1 0\n"
UNSATISFIABLE = "p cnf 1 2\n1 0\n-1 0\n"


def write(folder, text):
    path = folder / "f.cnf"
    path.write_text(text)
    return path


def test_a_satisfying_assignment_is_printed_as_solvers_do(irem_cli, tmp_path):
    result = irem_cli("sat", write(tmp_path, SATISFIABLE))
    assert result.code == 10
    status, values = result.out.splitlines()
    assert status == "s SATISFIABLE"
    literals = [int(word) for word in values.split()[1:]]
    assert [abs(n) for n in literals] == [1, 2, 3, 0]
    for clause in ((1, -3), (2, 3, -1)):
        assert set(clause) & set(literals)


def test_what_is_not_found_is_unknown(irem_cli, tmp_path):
    result = irem_cli("sat", write(tmp_path, UNSATISFIABLE), "--rounds", 2)
    assert (result.code, result.out) == (0, "s UNKNOWN\n")


def test_json_has_the_same_answer_and_exit_code(irem_cli, tmp_path):
    result = irem_cli("sat", write(tmp_path, SATISFIABLE), "--json")
    assert result.code == 10
    printed = json.loads(result.out)
    assert printed["status"] == "SATISFIABLE"
    assert len(printed["assignment"]) == 3


def test_long_assignments_are_wrapped(irem_cli, tmp_path):
    result = irem_cli("sat", write(tmp_path, "p cnf 200 1\n1 200 0\n"), "--starts", 1)
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 78
    words = [int(w) for line in lines[1:] for w in line.split()[1:]]
    assert [abs(w) for w in words] == [*range(1, 201), 0]


@pytest.mark.parametrize(
    ("text", "arguments", "sentence"),
    [
        ("p cnf 2 1\n1 5 0\n", (), "names variable 5"),
        ("p cnf 2 1\n0\n", (), "empty clause"),
        (SATISFIABLE, ("--starts", 0), "`starts` must be greater than 0"),
        (SATISFIABLE, ("--rounds", 0), "`rounds` must be greater than 0"),
    ],
)
def test_bad_formulas_get_one_sentence(irem_cli, tmp_path, text, arguments, sentence):
    result = irem_cli("sat", write(tmp_path, text), *arguments)
    assert result.code == 2
    assert sentence in result.err
    assert result.out == ""


def test_files_that_are_none_get_one_sentence(irem_cli, tmp_path):
    assert "no file" in irem_cli("sat", tmp_path / "none.cnf").err
    (tmp_path / "b.cnf").write_bytes(b"\xff\xfe\x00")
    result = irem_cli("sat", tmp_path / "b.cnf")
    assert result.code == 2
    assert "more than plain text" in result.err
