"""Clients share slots: nobody waits for another's slow problem, and who leaves frees a slot."""

import json
import socket
import threading
import time

import pytest
from serve.serving import LIMITS, loopback, problem, running, sums_model


@pytest.fixture(scope="module")
def client():
    with loopback() as found:
        yield found


SOLVE = "/v1/models/sums/solve"
HARD = 1e-6


def request(body):
    text = json.dumps(body).encode()
    head = f"POST {SOLVE} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(text)}\r\n\r\n".encode() + text


def hard_request(count=10):
    problems = [problem(i, hard=HARD) for i in range(count)]
    return request({"problems": problems, "restarts": 250})


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def busy(client):
    """A client that asks for hard problems, and goes away at the end."""
    client.solve([problem()])
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(hard_request())
        wait_for(lambda: client.gauge("irem_waiting_problems") == 10)
        yield connection
    wait_for(lambda: client.gauge("irem_waiting_problems") == 0)


def test_easy_problems_do_not_wait_for_hard_ones(client, busy):
    began = time.monotonic()
    for i in range(5):
        status, found, _ = client.solve([problem(i)])
        assert status == 200
        assert found["answers"][0]["verified"]
    assert time.monotonic() - began < 10
    assert client.gauge("irem_waiting_problems") == 10


def test_who_goes_away_frees_the_slots(client, busy):
    busy.close()
    wait_for(lambda: client.gauge("irem_waiting_problems") == 0)


def test_a_walk_whose_watcher_goes_away_ends(client):
    text = json.dumps({"problem": problem(1, hard=HARD), "landscape": False}).encode()
    head = "POST /v1/models/sums/walk HTTP/1.1\r\nhost: localhost\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", client.port)) as connection:
        connection.sendall(head.encode() + text)
        wait_for(lambda: client.gauge("irem_walks") == 1)
        assert connection.recv(10)
    wait_for(lambda: client.gauge("irem_walks") == 0)


def test_too_many_problems_are_refused_for_now(client, busy):
    status, found, headers = client.solve([problem()] * 20)
    assert status == 503
    assert found["error"]["code"] == "queue_full"
    assert headers["retry-after"] == "1"
    assert client.solve([problem()])[0] == 200
    assert LIMITS.waiting == 24


def test_a_request_that_takes_too_long_is_given_up():
    limits = type(LIMITS)(seconds=1.0)
    with running([sums_model(limits)], limits) as client:
        client.solve([problem()])
        status, found, _ = client.solve([problem(0, hard=HARD)], restarts=250)
        assert status == 503
        assert found["error"]["code"] == "timed_out"
        wait_for(lambda: client.gauge("irem_waiting_problems") == 0)
        events = client.walk(problem(0, hard=HARD), restarts=250, landscape=False)
        assert events[-1]["type"] == "error"
        assert events[-1]["error"]["code"] == "timed_out"


def test_many_clients_at_once_get_their_own_answers(client):
    wrong, done = [], []

    def ask(seed):
        x = problem(seed, hard=0.02 if seed % 3 == 0 else 0)
        status, found, _ = client.solve([x])
        if status != 200:
            wrong.append((status, found))
            return
        expected = [a + b for a, b in zip(*x, strict=True)]
        (answer,) = found["answers"]
        errors = [abs(a - b) for a, b in zip(answer["y"], expected, strict=True)]
        done.append(answer["verified"] and max(errors) < 0.05)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert done == [True] * 20


def test_an_engine_that_fails_once_goes_on(client, monkeypatch):
    from irem.serve import batch_worker

    monkeypatch.setattr(batch_worker, "judge", lambda *_: 1 / 0)
    status, found, _ = client.solve([problem()])
    assert status == 500
    assert found["error"]["code"] == "failed"
    monkeypatch.undo()
    assert client.solve([problem()])[0] == 200
    assert client("GET", "/healthz")[1]["status"] == "ok"
