"""What is refused, and that the server goes on."""

import io
import json
import socket
import time

import numpy as np
import pytest
from serve.serving import LIMITS, loopback, problem, running, sums_model


@pytest.fixture(scope="module")
def client():
    with loopback() as found:
        yield found


SOLVE = "/v1/models/sums/solve"
JSON = "application/json"


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def header(shape, descr="<f8"):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


BAD_JSON = {
    "nothing": b"",
    "half": b'{"problems": [[',
    "NaN": b'{"problems": [[[NaN, 1], [1, 2]]]}',
    "infinity": b'{"problems": [[[1e999, 1], [1, 2]]]}',
    "a list": b"[1, 2]",
    "no problems": b'{"problems": []}',
    "text": b'{"problems": [[["a", "b"], ["c", "d"]]]}',
    "ragged": b'{"problems": [[[1, 2], [1]]]}',
    "null": b'{"problems": [[[null, 2], [1, 2]]]}',
    "not UTF-8": b'{"problems": "\xff\xfe"}',
    "an unknown field": b'{"problems": [[[1, 2], [1, 2]]], "step": 3}',
    "a wrong option": b'{"problems": [[[1, 2], [1, 2]]], "starts": "many"}',
    "no first guess": b'{"problems": [[[1, 2], [1, 2]]], "starts": 0}',
    "budget and restarts": b'{"problems": [[[1, 2], [1, 2]]], "max_steps": 5, "restarts": 1}',
    "nested": b'{"problems": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "a long number": b'{"problems": [[[' + b"9" * 5000 + b", 1], [1, 2]]]}",
}


@pytest.mark.parametrize("body", BAD_JSON.values(), ids=BAD_JSON)
def test_malformed_json_is_refused_in_one_sentence(client, body):
    status, found, _ = client("POST", SOLVE, body, content_type=JSON)
    assert status == 400
    assert found["error"]["code"] == "malformed"
    assert len(found["error"]["message"]) > 20


BAD_ARRAYS = {
    "no array": b"problems",
    "objects": npy(np.array([{"a": 1}], dtype=object), allow_pickle=True),
    "text": npy(np.array(["a", "b"])),
    "complex numbers": npy(np.ones((2, 2), complex)),
    "a terabyte": header((10**6, 10**6)),
    "a negative size": header((-1, -1)) + b"x" * 8,
    "half of it": npy(np.ones((3, 2, 4)))[:-8],
    "code": header("__import__('os').system('true')"),
    "another shape": npy(np.ones((3, 5, 4))),
    "NaN": npy(np.full((1, 2, 4), np.nan)),
}


@pytest.mark.parametrize("body", BAD_ARRAYS.values(), ids=BAD_ARRAYS)
def test_arrays_that_are_no_problems_are_refused(client, body):
    status, found, _ = client("POST", SOLVE, body, content_type="application/x-npy")
    assert status == 400
    assert found["error"]["code"] == "malformed"


@pytest.mark.parametrize(
    ("problems", "options"),
    [
        ([problem()] * (LIMITS.problems + 1), {}),
        ([[[1.0] * 65, [1.0] * 65]], {}),
        ([problem()], {"starts": LIMITS.starts + 1}),
        ([problem()], {"restarts": LIMITS.restarts + 1}),
        ([problem()], {"max_steps": LIMITS.steps + 1}),
    ],
    ids=["problems", "entries", "starts", "restarts", "steps"],
)
def test_more_than_one_request_may_ask_for(client, problems, options):
    status, found, _ = client.solve(problems, **options)
    assert status == 413
    assert found["error"]["code"] == "too_large"


@pytest.mark.parametrize("chunked", [False, True], ids=["said", "chunked"])
def test_a_gigabyte_is_refused_without_being_read(client, chunked):
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
        length = "transfer-encoding: chunked" if chunked else "content-length: 1000000000"
        head = f"POST {SOLVE} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {JSON}\r\n{length}\r\n"
        connection.sendall(head.encode() + b"\r\n")
        chunk, sent = b"10000\r\n" + b"x" * 65536 + b"\r\n", 0
        try:
            while chunked and sent < 10**9:
                connection.sendall(chunk)
                sent += len(chunk)
        except ConnectionError:
            pass  # it was refused before the end
        else:
            assert not sent
            assert connection.recv(100).startswith(b"HTTP/1.1 413")
        assert sent < 2 * 10**8
    assert client.solve([problem()])[0] == 200


def test_a_body_that_does_not_arrive_is_given_up(client):
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
        head = f"POST {SOLVE} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {JSON}\r\n"
        connection.sendall(f"{head}content-length: 100\r\n\r\n{{".encode())
        began = time.monotonic()
        assert connection.recv(100).startswith(b"HTTP/1.1 408")
        assert time.monotonic() - began < 10 * LIMITS.reading


PATHS = {
    "/v1/models/none/solve": 404,
    "/v1/models/../../etc/passwd/solve": 404,
    "/page/../service.py": 404,
    "/page/%2e%2e/service.py": 404,
    "/page/..%2f..%2f..%2fetc%2fpasswd": 404,
    "/page//etc/passwd": 404,
    "/page/%00": 404,
    "/nothing": 404,
}


@pytest.mark.parametrize(("path", "status"), PATHS.items())
def test_paths_lead_nowhere_else(client, path, status):
    method = "POST" if path.endswith("solve") else "GET"
    found = client(method, path, {"problems": [problem()]} if method == "POST" else None)
    assert found[0] == status
    assert set(found[1]) == {"error"}


def test_other_methods_and_types_are_refused(client):
    assert client("DELETE", SOLVE)[0] == 405
    status, found, _ = client("POST", SOLVE, "x", content_type="text/plain")
    assert status == 415
    assert "application/json" in found["error"]["message"]
    assert client("GET", "/v1/models/sums/examples?size=x")[0] == 400
    assert client("GET", "/v1/models/sums/examples?size=-1")[0] == 400


@pytest.mark.parametrize(
    "headers", [{"host": "evil.example"}, {"origin": "https://evil.example"}], ids=["host", "page"]
)
def test_pages_of_other_sites_may_not_use_the_server(client, headers):
    assert client("GET", "/v1/models", **headers)[0] == 403


def test_wrong_tokens_are_refused():
    with running([sums_model()], token="secret-1") as client:
        for given in ({}, {"authorization": "Bearer secret-2"}, {"authorization": "secret-1"}):
            status, found, headers = client("GET", "/v1/models", **given)
            assert status == 401
            assert found["error"]["code"] == "token"
            assert headers["www-authenticate"] == "Bearer"
        assert client("POST", SOLVE, b"x" * 10)[0] == 401
        assert client("GET", "/v1/models", authorization="Bearer secret-1")[0] == 200
        assert client("GET", "/healthz")[0] == 200


def test_requests_are_counted(client):
    client.solve([problem()])
    client("GET", "/nothing/at/all")
    text = client("GET", "/metrics")[1].decode()
    assert 'irem_requests_total{route="/v1/models/{name}/solve",status="200"}' in text
    assert 'irem_requests_total{route="other",status="404"}' in text
    assert 'irem_answers_total{model="sums",verdict="verified"}' in text
    assert "/nothing" not in text
    for line in text.splitlines():
        assert line.startswith("#") or float(line.rsplit(" ", 1)[1]) >= 0


def test_the_description_has_every_path(client):
    schema = json.loads(json.dumps(client("GET", "/openapi.json")[1]))
    assert SOLVE.replace("sums", "{name}") in schema["paths"]
    fields = schema["paths"]["/v1/models/{name}/walk"]["post"]["requestBody"]["content"][JSON]
    assert "landscape" in fields["schema"]["properties"]
    text = client("GET", "/docs")[1].decode()
    assert all(path in text for path in schema["paths"])
