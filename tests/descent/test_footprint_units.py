"""Estimates of memory, with a limit that is just enough and one byte less."""

from types import SimpleNamespace

import jax.numpy as jnp
import pytest

import irem
from irem.descent import footprint


def refused(monkeypatch, limit, check, *arguments):
    """What is said, if anything, where only so many bytes are free."""
    for name in ("irem.descent.footprint.available", "irem.memory.available"):
        monkeypatch.setattr(name, lambda: limit)
    try:
        check(*arguments)
    except irem.InputError as error:
        return str(error)
    return None


def test_a_trajectory_counts_its_first_point_and_is_there_twice(monkeypatch):
    y = jnp.zeros((3, 5), jnp.float32)
    needed = 2 * 3 * 5 * 4 * (7 + 1)
    assert refused(monkeypatch, needed, footprint.check_trajectory, y, 7) is None
    said = refused(monkeypatch, needed - 1, footprint.check_trajectory, y, 7)
    assert "3 problems after each of 7 steps" in said


def test_starts_repeat_the_problem_and_have_an_answer_each(monkeypatch):
    x = {"a": jnp.zeros((3, 5), jnp.float32), "b": jnp.zeros((3,), bool)}
    needed = 10 * (3 * 5 * 4 + 3 + 4 * 3 * 2)
    assert refused(monkeypatch, needed, footprint.check_starts, x, (2,), 10) is None
    said = refused(monkeypatch, needed - 1, footprint.check_starts, x, (2,), 10)
    assert "3 problems from 10 first guesses each" in said


class Program:
    """Stands for a compiled program of a known need."""

    def __init__(self):
        self.compiled, self.asked = self, 0

    def lower(self):
        self.asked += 1
        return self

    def compile(self):
        return self

    def memory_analysis(self):
        return SimpleNamespace(
            temp_size_in_bytes=900, argument_size_in_bytes=90, output_size_in_bytes=10
        )


@pytest.mark.parametrize(
    ("at_once", "words"),
    [(1, "a problem of size 2 x 3"), (4, "4 problems at the same time, each of size 2 x 3")],
)
def test_a_program_is_asked_where_its_need_is_in_doubt(monkeypatch, at_once, words):
    program = Program()
    check = (footprint.check_program, program, (), at_once, (2, 3))
    assert refused(monkeypatch, 4096 * 6 * at_once, *check) is None
    assert program.asked == 0
    assert refused(monkeypatch, 1000, *check) is None
    said = refused(monkeypatch, 999, *check)
    assert words in said
    assert ("fewer at a time" in said) == (at_once > 1)
    assert program.asked == 2
