"""What `irem evaluate` and `irem solve` say where 0 or 1 is asked for."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.cli.tally import Tally
from irem.training import History

TASK = irem.tasks.get("connected-components")
# Lowest at 0.3 and 0.9 instead of 0 and 1: right after rounding, and decided where no 0 is.
ENERGY = irem.energy.from_function(
    lambda x, y: jnp.sum((y - 0.6 * TASK.oracle(x) - 0.3) ** 2), answer_shape=(4, 4)
)
STEP = ("--step", 0.5)  # to the minimum at once
SETTINGS = {"iterations": 0, "method": {"name": "irem"}, "energy": {"name": "by hand"}}


@pytest.fixture
def by_hand(monkeypatch):
    """In place of a run that was trained: one that needs no training."""
    run = irem.Run(TASK, (ENERGY,), 0, History.empty(1), SETTINGS)
    monkeypatch.setattr("irem.load", lambda _: run)
    monkeypatch.setattr("irem.cli.common.load", lambda _: run)
    return "by-hand"


def test_evaluate_says_what_is_right_after_rounding(by_hand, irem_cli):
    arguments = ("evaluate", by_hand, "--difficulty", 4, "--problems", 20, *STEP)
    printed = json.loads(irem_cli(*arguments, "--json").out)
    assert printed["entries_right"] == printed["exact"] == 1.0
    assert printed["mse"] > 0.01
    assert 0 < printed["trivial_exact"] <= printed["trivial_entries_right"] <= 1
    lines = irem_cli(*arguments).out
    trivial = printed["trivial_entries_right"], printed["trivial_exact"]
    for name, what, floor in zip(
        ("entries right", "exact"), ("entries", "problems"), trivial, strict=True
    ):
        expected = f"{name:>14}  100.0 % of {what}, rounded (trivial {100 * floor:.1f} %)\n"
        assert expected in lines


def test_solve_says_which_share_is_decided(by_hand, irem_cli, tmp_path):
    x, out = tmp_path / "x.npy", tmp_path / "y.npy"
    # Everything is joined in the first graph alone, so that no entry of its answer is 0.3.
    np.save(x, np.stack([np.ones((4, 4)), np.eye(4), np.zeros((4, 4)), np.eye(4)]))
    arguments = ("solve", by_hand, x, "--out", out, *STEP)
    result = irem_cli(*arguments, "--json")
    assert json.loads(result.out)["decided"] == 0.25
    np.testing.assert_allclose(np.load(out)[0], 0.9, atol=1e-2)  # written as it was found
    assert "100.0 % converged; 25.0 % decided; written to" in irem_cli(*arguments).out


def test_an_answer_that_is_abstained_from_is_not_decided():
    numbers, counts = jnp.zeros(3), jnp.zeros(3, int)
    solution = irem.Solution(
        y=jnp.array([[0.0, 1.0], [0.1, 0.9], [0.5, 1.0]]),
        energy=numbers,
        steps=counts,
        converged=counts == 0,
        reason=counts,
        first_energy=numbers,
        gradient_norm=numbers,
    )
    tally = Tally(True, None)
    for _ in range(2):  # page by page
        tally.add(solution, np.array([True, False, False]))
    assert tally.as_dict()["decided"] == pytest.approx(2 / 6)
