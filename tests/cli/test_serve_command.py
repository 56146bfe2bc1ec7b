"""`irem serve` as a process of its own: it ends in order."""

import json
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from serve.serving import Client

from irem.cli import serve as serve_command
from irem.errors import InputError
from irem.serve import open_socket

MODEL = "zoo:prefix-sums"
LONG = "01" * 600


def start(*options):
    command = [sys.executable, "-m", "irem", "serve", MODEL, "--port", "0", "--no-warm", "--json"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    told = json.loads(process.stdout.readline())
    assert told["models"] == ["prefix-sums"]
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)", told["address"])
    return process, Client(int(found[1]))


def send(client, bits, **options):
    """A connection with a request that is under way."""
    text = json.dumps({"problems": [{"bits": bits}], **options}).encode()
    head = "POST /v1/models/prefix-sums/solve HTTP/1.1\r\nhost: localhost\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n"
    connection = socket.create_connection(("127.0.0.1", client.port), timeout=120)
    connection.sendall(head.encode() + text)
    deadline = time.monotonic() + 60
    while client.gauge("irem_waiting_problems") == 0:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return connection


def read_all(connection):
    data = b""
    while chunk := connection.recv(65536):
        data += chunk
    return data


def test_sigterm_finishes_what_is_under_way_and_ends_with_zero():
    process, client = start()
    with process, send(client, "0110" * 8) as connection:
        process.send_signal(signal.SIGTERM)
        data = read_all(connection)
        assert process.wait(60) == 0
    assert data.startswith(b"HTTP/1.1 200")
    (answer,) = json.loads(data.partition(b"\r\n\r\n")[2])["answers"]
    parities, odd = [], 0
    for bit in "0110" * 8:
        odd ^= int(bit)
        parities.append(odd)
    assert answer["y"]["bits"] == "".join(map(str, parities))
    assert answer["verified"]
    with pytest.raises(OSError, match="refused"):
        client("GET", "/healthz")


def test_a_second_signal_ends_at_once():
    process, client = start()
    with process, send(client, LONG) as connection:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
        connection.close()


def test_other_machines_need_a_token(irem_cli):
    found = irem_cli("serve", MODEL, "--host", "0.0.0.0")
    assert found.code == 2
    assert "--token" in found.err


def test_what_cannot_be_served(irem_cli, tmp_path):
    assert irem_cli("serve", tmp_path / "none").code == 2
    found = irem_cli("serve", MODEL, MODEL)
    assert found.code == 2
    assert "Two models" in found.err
    assert irem_cli("serve", MODEL, "--token", " ").code == 2
    with pytest.raises(InputError, match="Cannot listen"), open_socket("127.0.0.1", 0) as taken:
        open_socket("127.0.0.1", taken.getsockname()[1])


def test_answers_are_sent_at_once():
    with open_socket("127.0.0.1", 0) as listening:
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_without_the_extra_the_command_says_what_to_install(irem_cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "irem.serve", None)
    found = irem_cli("serve", "--token", "x")
    assert found.code == 2
    assert "irem[serve]" in found.err


def test_the_models_that_come_along_are_served_by_default():
    names = serve_command._those_of_the_zoo()
    assert "zoo:sudoku" in names
    assert not [name for name in names if name.endswith("-protocol")]
