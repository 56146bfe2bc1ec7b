"""Descents that are watched."""

import numpy as np
import pytest
from serve.serving import loopback, problem


@pytest.fixture(scope="module")
def client():
    with loopback() as found:
        yield found


def test_a_walk_tells_every_step_and_the_answer(client):
    x = problem(0)
    events = client.walk(x, landscape=False)
    (answer,) = client.solve([x])[1]["answers"]
    kinds = [event["type"] for event in events]
    assert kinds[0] == "begin"
    assert kinds[-2:] == ["end", "result"]
    steps = [step for event in events if event["type"] == "steps" for step in event["steps"]]
    assert steps == list(range(answer["steps"] + 1))
    energies = [e for event in events if event["type"] == "steps" for e in event["energies"]]
    assert np.all(np.diff(energies) <= 1e-9)
    result = events[-1]
    np.testing.assert_allclose(result["y"], answer["y"], rtol=1e-6)
    np.testing.assert_allclose(result["truth"], np.sum(x, axis=0), rtol=1e-6)
    assert result["verified"] is True
    assert "Every entry is the sum" in result["check"]


def test_several_starts_are_walked_side_by_side(client):
    events = client.walk(problem(1), starts=3, landscape=False)
    ended = [event["start"] for event in events if event["type"] == "end"]
    assert sorted(ended) == [0, 1, 2]
    first = {e["start"]: e["ys"][0] for e in reversed(events) if e["type"] == "steps"}
    assert len({tuple(y) for y in first.values()}) == 3


def test_further_tries_are_further_starts(client):
    events = client.walk(problem(2, hard=1e-6), restarts=2, landscape=False)
    ended = [event for event in events if event["type"] == "end"]
    assert [event["start"] for event in ended] == [0, 1, 2]
    assert events[-1]["steps"] == sum(event["steps"] for event in ended)
    assert events[-1]["verified"] is False


def test_the_budget_of_a_walk_is_kept(client):
    events = client.walk(problem(3, hard=1e-4), steps=5, landscape=False)
    assert events[0]["budget"] == 5
    assert events[-1]["steps"] == 5
    assert "not satisfy" in events[-1]["check"]


def test_a_slice_of_the_landscape_has_the_answer_at_its_origin(client):
    x = np.array(problem(5))
    events = client.walk(x.tolist(), starts=2)
    (plane,) = [event for event in events if event["type"] == "landscape"]
    energies, (u, v) = np.array(plane["energies"]), np.array(plane["axes"])
    assert energies.shape == (len(v), len(u))
    for path in plane["paths"]:
        assert np.abs(path[-1]).max() < 0.01
    np.testing.assert_allclose(plane["paths"][0][0], [1, 0], atol=1e-6)
    np.testing.assert_allclose(plane["paths"][1][0], [0, 1], atol=1e-6)
    # The energy is a quadratic form, so on the plane it is one in u and v.
    firsts = [
        next(e["ys"][0] for e in events if e["type"] == "steps" and e["start"] == start)
        for start in (events[-1]["start"], 1 - events[-1]["start"])
    ]
    end = np.array(events[-1]["y"])
    axes = np.array(firsts) - end
    points = end + u[None, :, None] * axes[0] + v[:, None, None] * axes[1]
    expected = np.minimum(1, np.abs(x[0]).min()) * np.square(points - x.sum(0)).sum(-1)
    np.testing.assert_allclose(energies, expected, rtol=1e-3, atol=1e-5)


def test_long_walks_keep_fewer_steps(client):
    events = client.walk(problem(6, hard=0.003), steps=1000, landscape=False)
    told = [event for event in events if event["type"] == "steps"]
    energies = [e for event in told for e in event["energies"]]
    steps = [s for event in told for s in event["steps"]]
    assert len(energies) == events[-1]["steps"] + 1 > 400
    assert steps[:64] == list(range(64))
    assert len(steps) < len(energies) / 2
    assert all(len(event["ys"]) == len(event["steps"]) for event in told)
