"""Models that come along, over HTTP."""

import numpy as np
import pytest
from serve.serving import running

from irem.serve import Limits, load_models

LIMITS = Limits(seconds=60.0)
MATRIX = np.array([[2.0, 1.0], [1.0, 3.0]])


@pytest.fixture(scope="module")
def client():
    models = load_models(["zoo:matrix-inverse", "zoo:matrix-completion"], LIMITS)
    with running(models.values(), LIMITS) as found:
        yield found


def test_an_inverse_is_walked_to_its_truth_and_its_product_is_the_identity(client):
    result = client.walk(MATRIX.tolist(), model="matrix-inverse", landscape=False)[-1]
    assert result["type"] == "result"
    assert result["verified"] is True
    np.testing.assert_allclose(result["truth"], np.linalg.inv(MATRIX), rtol=1e-5)
    np.testing.assert_allclose(result["y"], np.linalg.inv(MATRIX), atol=1e-3)
    np.testing.assert_allclose(result["product"], np.eye(2), atol=1e-3)


def test_the_slice_of_a_table_has_the_ends_of_both_starts_at_the_energies_they_ended_with(client):
    table = (np.outer([1, 2, 3.0], [1, -1, 2]) + 0.5).tolist()
    table[0][1] = table[2][2] = None
    events = client.walk(table, model="matrix-completion", starts=2, steps=60)
    (plane,) = [event for event in events if event["type"] == "landscape"]
    ends = {e["start"]: e["energy"] for e in events if e["type"] == "end"}
    ticks = np.array(plane["axes"][0])
    for path, number in zip(plane["paths"], plane["starts"], strict=True):
        u, v = (int(np.argmin(np.abs(ticks - place))) for place in path[-1])
        np.testing.assert_allclose([ticks[u], ticks[v]], path[-1], atol=1e-9)
        np.testing.assert_allclose(plane["energies"][v][u], ends[number], rtol=1e-5)


def test_models_are_described_by_their_cards_and_by_how_large_problems_may_be(client):
    inverse, completion = client("GET", "/v1/models")[1]["models"]
    said = "An IREM model that inverts symmetric positive definite matrices of any size and scale."
    assert inverse["summary"] == said
    assert inverse["sizes"]["max"] == 256
    assert completion["summary"].startswith("An IREM model that fills in")
    assert completion["summary"].count(".") == 1
