"""Ctrl-C in the middle of compiled code, which Python does not get to interrupt."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from irem.interrupt import Interrupt, exit_code, exit_on_interrupt

# Decomposing this matrix takes far longer than the test, in one call of compiled code.
BUSY = """
import sys
from pathlib import Path
import numpy as np
from irem.files import whole_file
from irem.interrupt import Interrupt, exit_on_interrupt

with exit_on_interrupt(), whole_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    with Interrupt("Wait.") if sys.argv[2] == "patient" else file:
        print("ready", flush=True)
        np.linalg.svd(np.random.default_rng(0).normal(size=(5000, 5000)))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("kind", ["plain", "patient"])
def test_a_signal_ends_the_process_at_once_and_leaves_nothing_behind(tmp_path, kind, number):
    command = [sys.executable, "-c", BUSY, str(tmp_path / "out"), kind]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.2)
            process.send_signal(number)
            if kind == "patient":  # the first one is left to the program, the second is not
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(1)
                process.send_signal(number)
            assert process.wait(10) == 128 + number
            assert process.stderr.read().endswith("irem: interrupted.\n")
        finally:
            process.kill()
    assert not list(tmp_path.iterdir())


def test_a_patient_program_is_asked_once_and_interrupted_by_the_second(capsys):
    with Interrupt("Wait.") as interrupt:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupt.asked
        assert capsys.readouterr().err == "Wait.\n"
        assert exit_code() == 130
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert exit_code() == 143


# The handler of the main thread has run before the thread that waits for signals gets its turn.
FIRST = """
import signal, threading, time
from irem import interrupt

real = interrupt.Interrupt._handle
def handled(self, number, frame):
    real(self, number, frame)
    seen.set()
seen = threading.Event()
interrupt.Interrupt._handle = handled

class Late:
    def __init__(self, waiting):
        self.waiting = waiting
    def recv(self, size):
        number = self.waiting.recv(size)
        if number:
            seen.wait(10)
        return number
wait = interrupt._wait
interrupt._wait = lambda waiting: wait(Late(waiting))

with interrupt.exit_on_interrupt(), interrupt.Interrupt("Wait.") as asked:
    signal.raise_signal(signal.SIGTERM)
    time.sleep(0.5)
    print("work is kept:", asked.asked)
"""


def test_the_first_signal_is_left_to_a_patient_program_whoever_gets_it_first():
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "work is kept: True\n"), done.stderr


def test_signals_are_given_back():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    threads = threading.active_count()
    with exit_on_interrupt(), Interrupt("Wait."):
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert signal.set_wakeup_fd(-1) == -1
    assert threading.active_count() == threads


def test_a_signal_of_an_earlier_program_is_forgotten():
    for number in (signal.SIGTERM, signal.SIGINT):
        with exit_on_interrupt(), Interrupt("Stopping.") as interrupt:
            assert exit_code() == 130
            signal.raise_signal(number)
            assert interrupt.asked
            assert exit_code() == 128 + number
