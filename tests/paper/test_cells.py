import dataclasses
from collections.abc import Mapping

import numpy as np
import pytest

import irem
from irem.paper.cells import (
    Cell,
    DifficultyCell,
    Spread,
    indexed_by_difficulty,
    lowest_error,
    read_cell,
    spread,
)

ABOUT = {"task": "addition", "method": "irem", "paper": None, "commit": "abc"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Short(Cell):
    """A cell of a test."""

    size: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Long(Short):
    """A cell with fields of every type that cells have."""

    share: float | None
    times: tuple[float | None, ...]
    also: Mapping[str, Spread]
    seen: bool
    note: str | None = None


GIVEN = {
    **ABOUT,
    "size": 3,
    "share": 1,
    "times": [0.5, None],
    "also": {"fixed": {"mean": None, "std": None, "seeds": 1, "mse_by_seed": [None]}},
    "seen": True,
}


def test_a_cell_is_read_and_written_again_without_a_change():
    cell = Long.from_dict(GIVEN)
    assert cell.times == (0.5, None)
    assert cell.also["fixed"].error == float("inf")
    assert cell.device is None
    assert cell.as_dict() == GIVEN
    assert Long.from_dict({**GIVEN, "note": "n"}).as_dict() == {**GIVEN, "note": "n"}


def test_the_kind_is_the_one_whose_fields_are_most_alike():
    assert type(read_cell([Short, Long], GIVEN, "it")) is Long
    assert type(read_cell([Long, Short], {**ABOUT, "size": 3}, "it")) is Short


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sise": 3}, "'f.json': cells[2] has the unknown field 'sise'."),
        ({"seen": None}, "'f.json': cells[2], field 'seen', is None; expected bool."),
        ({"size": 3.5}, "'f.json': cells[2], field 'size', is 3.5; expected int."),
        ({"size": True}, "'f.json': cells[2], field 'size', is True; expected int."),
        ({"seen": 1}, "'f.json': cells[2], field 'seen', is 1; expected bool."),
        ({"share": "many"}, "'f.json': cells[2], field 'share', is 'many'; expected float."),
        ({"times": [0.5, "x"]}, "'f.json': cells[2], field 'times', is 'x'; expected float."),
        ({"also": {"fixed": {}}}, "'f.json': cells[2], field 'also', lacks the field 'mean'."),
    ],
)
def test_what_is_wrong_with_a_field_is_said_with_file_cell_and_field(changes, sentence):
    with pytest.raises(irem.InputError) as raised:
        read_cell([Short, Long], {**GIVEN, **changes}, "'f.json': cells[2]")
    assert str(raised.value) == sentence


def test_a_missing_field_and_what_is_no_cell_are_refused():
    with pytest.raises(irem.InputError, match=r"^The cell lacks the field 'size'\.$"):
        Short.from_dict(ABOUT)
    with pytest.raises(irem.InputError, match=r"^cells\[0\] is 7 and not a cell\.$"):
        read_cell([Short], 7, "cells[0]")


def test_spread_is_mean_and_deviation_of_a_sample():
    values = [0.1, 0.4, 0.7]
    found = spread(values)
    assert found.mean == pytest.approx(0.4)
    assert found.std == pytest.approx(np.std(values, ddof=1))
    assert found.mse_by_seed == (0.1, 0.4, 0.7)
    assert spread([1.0]).std is None


def test_cells_are_grouped_and_compared_within_task_and_difficulty():
    cells = [
        DifficultyCell(
            task=task, method=method, difficulty=difficulty, paper=None, commit=None,
            trivial=1.0, best=0.0, **vars(spread([value])),
        )
        for task, method, difficulty, value in (
            ("a", "irem", "same", 0.5),
            ("a", "recurrent", "same", 0.2),
            ("a", "irem", "harder", 0.1),
            ("b", "irem", "same", 0.01),
        )
    ]  # fmt: skip
    assert lowest_error(cells, cells[0]) == 0.2
    groups = indexed_by_difficulty(cells, "task", "method")
    assert list(groups) == [("a", "irem"), ("a", "recurrent"), ("b", "irem")]
    assert groups["a", "irem"]["harder"] == (2, cells[2])
