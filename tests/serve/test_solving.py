"""Answers over HTTP are those of the library."""

import io

import numpy as np
import pytest
from serve.serving import loopback, problem, sums_model

import irem


@pytest.fixture(scope="module")
def client():
    with loopback() as found:
        yield found


def test_answers_are_those_of_the_library(client):
    problems = [problem(i) for i in range(5)]
    status, found, _ = client.solve(problems)
    assert status == 200
    expected = sums_model().run.solve(np.array(problems))
    answers = found["answers"]
    assert [a["steps"] for a in answers] == expected.steps.tolist()
    np.testing.assert_allclose([a["y"] for a in answers], expected.y, rtol=1e-5)
    np.testing.assert_allclose([a["y"] for a in answers], np.sum(problems, axis=1), rtol=1e-3)
    np.testing.assert_allclose([a["residual"] for a in answers], expected.residual, rtol=0.01)
    assert all(a["verified"] and a["converged"] and a["refused"] is None for a in answers)


def test_several_starts_and_seeds_are_as_in_the_library(client):
    x = np.array([problem(3)])
    (answer,) = client.solve(x.tolist(), starts=3)[1]["answers"]
    expected = sums_model().run.solve(x, starts=3)
    assert answer["steps"] == int(expected.steps[0])
    (other,) = client.solve(x.tolist(), seed=7)[1]["answers"]
    (same,) = client.solve(x.tolist(), seed=7)[1]["answers"]
    (usual,) = client.solve(x.tolist())[1]["answers"]
    assert other["y"] == same["y"] != usual["y"]


def test_a_step_budget_ends_a_descent(client):
    (answer,) = client.solve([problem(1, hard=1e-3)], max_steps=7)[1]["answers"]
    assert answer["steps"] == 7
    assert answer["reason"] == "budget"
    assert answer["verified"] is False


def test_an_answer_that_fails_is_tried_again_and_all_steps_are_counted(client):
    x = [problem(2, hard=1e-6)]
    (once,) = client.solve(x, restarts=0)[1]["answers"]
    (twice,) = client.solve(x, restarts=2)[1]["answers"]
    assert once["verified"] is False
    expected = sums_model().run.solve(np.array(x), retries=2)
    assert twice["steps"] == int(expected.steps[0]) > once["steps"]
    np.testing.assert_allclose(twice["y"], expected.y[0], rtol=1e-5)


def test_arrays_of_numpy_are_answered(client):
    x = np.array([problem(i) for i in range(3)])
    file = io.BytesIO()
    np.save(file, x)
    status, found, _ = client(
        "POST",
        "/v1/models/sums/solve?restarts=0",
        file.getvalue(),
        content_type="application/octet-stream",
    )
    assert status == 200
    np.testing.assert_allclose([a["y"] for a in found["answers"]], x.sum(1), rtol=1e-3)


def test_every_step_is_returned_where_it_is_asked_for(client):
    x = np.array([problem(4)])
    (answer,) = client.solve(x.tolist(), trajectory=True)[1]["answers"]
    model = sums_model()
    keys = irem.descent.content_keys(model.model.format.as_batch(x)[0])
    expected = irem.solve(model.model, x, key=keys, trajectory=True, max_steps=200)
    steps, path = int(expected.steps[0]), answer["trajectory"]
    assert path["steps"] == list(range(steps + 1))
    energies = np.asarray(expected.trajectory.energies)[0, : steps + 1]
    np.testing.assert_allclose(path["energies"], energies, rtol=1e-4, atol=1e-9)
    ys = np.asarray(expected.trajectory.ys)[0, : steps + 1]
    np.testing.assert_allclose(path["ys"], ys, rtol=1e-5, atol=1e-6)


def test_problems_of_several_sizes_share_a_request(client):
    problems = [[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]
    answers = client.solve(problems)[1]["answers"]
    for answer, x in zip(answers, problems, strict=True):
        np.testing.assert_allclose(answer["y"], np.sum(x, axis=0), rtol=1e-3)


def test_what_is_said_of_a_model(client):
    (model,) = client("GET", "/v1/models")[1]["models"]
    assert model["name"] == "sums"
    assert model["kind"] == "vectors"
    assert model["task"] == "addition"
    assert model["checked"] is True
    assert model["card"] is None
    assert model["summary"] == "Add two vectors of 400 entries."
    assert model["sizes"] == {"compared": [], "max": 64}


def test_examples_can_be_sent_back(client):
    problems = client("GET", "/v1/models/sums/examples?size=3")[1]["problems"]
    assert all(np.shape(p["problem"]) == (2, 3) for p in problems)
    status, found, _ = client.solve([p["problem"] for p in problems], max_steps=5)
    assert status == 200
    assert len(found["answers"]) == len(problems)


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json"])
def test_pages_load_nothing_from_elsewhere(client, path):
    status, data, headers = client("GET", path)
    assert status == 200
    assert "default-src 'self'" in headers["content-security-policy"]
    text = str(data)
    assert "http://" not in text
    assert "https://" not in text
