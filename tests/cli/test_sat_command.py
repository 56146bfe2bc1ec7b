import json

import pytest

import irem
from irem.apps.sat import read_dimacs

SATISFIABLE = "p cnf 3 2\n1 -3 0\n2 3 -1 0\n"
UNSATISFIABLE = "p cnf 1 2\n1 0\n-1 0\n"


def write(folder, text, encoding="utf-8"):
    path = folder / "f.cnf"
    path.write_text(text, encoding=encoding, newline="")
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
        ("p cnf 2 1\n1_2 0\n", (), "'1_2' where a literal should be"),
        ("p cnf 2 1\n\u0661 0\n", (), "where a literal should be"),
        (f"p cnf 2 1\n1{5000 * '0'} 0\n", (), "at most 2,147,483,647"),
        (f"p cnf 1{5000 * '0'} 1\n1 0\n", (), "expected 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 1_0 1\n1 0\n", (), "expected 'p cnf VARIABLES CLAUSES'"),
        ("p cnf -1 1\n1 0\n", (), "expected 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 1000000000 1\n1 0\n", (), "1,000,000,000 variables from 32 starts needs about"),
        (SATISFIABLE, ("--starts", 10**11), "from 100,000,000,000 starts needs about"),
        (SATISFIABLE, ("--max-steps", 10**12), "`max_steps` must be at most 2,147,483,647"),
        (SATISFIABLE, ("--starts", 0), "`starts` must be greater than 0"),
        (SATISFIABLE, ("--rounds", 0), "`rounds` must be greater than 0"),
    ],
)
def test_bad_formulas_get_one_sentence(irem_cli, tmp_path, text, arguments, sentence):
    result = irem_cli("sat", write(tmp_path, text), *arguments)
    assert result.code == 2
    assert sentence in result.err
    assert len(result.err) < 500
    assert result.out == ""


def test_files_that_are_none_get_one_sentence(irem_cli, tmp_path):
    assert "no file" in irem_cli("sat", tmp_path / "none.cnf").err
    (tmp_path / "b.cnf").write_bytes(b"\xff\xfe\x00")
    result = irem_cli("sat", tmp_path / "b.cnf")
    assert result.code == 2
    assert "no header" in result.err


# What Latin-1 has at the place of an ellipsis in Windows is an end of a line to Python.
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_comments_may_be_in_any_language(encoding, end, tmp_path):
    text = f"c für \x85 alle\n{SATISFIABLE}c ende é\n"
    formula = read_dimacs(write(tmp_path, text.replace("\n", end), encoding))
    assert formula.variables == 3
    assert formula.literals.tolist() == [[1, -3, 0], [2, 3, -1]]


def test_one_long_clause_among_many_is_refused_before_the_table_is_made(monkeypatch):
    monkeypatch.setattr("irem.memory.available", lambda: 10**6)
    long = " ".join(map(str, range(1, 1001)))
    text = f"p cnf 1000 1001\n{long} 0\n" + "1 0\n" * 1000
    with pytest.raises(irem.InputError, match=r"the longest of 1,000 literals, .* 4\.0 MB"):
        irem.parse_dimacs(text)
