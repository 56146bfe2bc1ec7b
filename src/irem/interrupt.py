"""Ctrl-C that ends the program at any moment, or waits for a safe one."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator
from types import FrameType
from typing import NoReturn

from irem.files import remove_open_files

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_entered: list[Interrupt] = []
_caught: list[int] = []
# The main thread may come here again by a second signal, so it may take it twice.
_ending = threading.RLock()


def exit_code() -> int:
    """Return the exit code of a program that a signal ended: 130 for Ctrl-C, 143 for SIGTERM.

    It is 128 and the number of the last signal that was caught, by which shells know it.
    """
    return 128 + (_caught[-1] if _caught else signal.SIGINT)


class Interrupt:
    """While entered, the first Ctrl-C only sets `asked`; the second one interrupts at once.

    SIGTERM counts as Ctrl-C. Outside the main thread signals cannot be caught, and nothing changes.

    Arguments:
        message: What is said at the first one.
    """

    def __init__(self, message: str) -> None:
        self.asked = False
        self._message = message
        self._previous: dict[int, object] = {}

    def __enter__(self) -> Interrupt:
        """Catch the signals."""
        if _in_main_thread():
            for number in _SIGNALS:
                self._previous[number] = signal.signal(number, self._handle)
            _entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Give the signals back."""
        if self._previous:
            _entered.remove(self)
        for number, previous in self._previous.items():
            signal.signal(number, previous)  # pyright: ignore[reportArgumentType]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        _caught.append(number)
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        print(self._message, file=sys.stderr)


@contextlib.contextmanager
def exit_on_interrupt() -> Generator[None]:
    """While entered, Ctrl-C and SIGTERM end the process at once, with exit code 130 and 143.

    Python handles signals between two of its own instructions, which compiled programs and their
    compilers do not return to for minutes, and an exception on top of their threads ends in a
    crash. So a thread that waits for signals removes unfinished files and ends the process, unless
    the main thread is there first. Where an `Interrupt` is entered, that is left to the second
    signal.
    """
    if not _in_main_thread():
        yield
        return
    _caught.clear()  # those of a program that ran before in this process
    waiting, woken = socket.socketpair()
    woken.setblocking(False)
    previous = {number: signal.signal(number, _end) for number in _SIGNALS}
    descriptor = signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_wait, args=(waiting,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(descriptor)
        for number, handler in previous.items():
            signal.signal(number, handler)
        woken.close()
        thread.join()
        waiting.close()


def _wait(waiting: socket.socket) -> None:
    """End the process at a signal that no `Interrupt` waits for; return when there are no more."""
    told: set[Interrupt] = set()
    received = 0
    while numbers := waiting.recv(1):
        if numbers[0] not in _SIGNALS:
            continue
        received += 1
        if len(_caught) >= received:
            continue  # the main thread was there first, and its `Interrupt` may be over
        patient = _entered[-1] if _entered else None
        if patient is not None and patient not in told:
            told.add(patient)
            continue
        _end(numbers[0])


def _end(number: int, frame: FrameType | None = None) -> NoReturn:
    """End the process without half a file, and say so once: two threads may come here."""
    del frame
    while not _ending.acquire(blocking=False):
        time.sleep(1.0)  # the other thread ends the process before that
    remove_open_files()
    os.write(2, b"irem: interrupted.\n")
    os._exit(128 + number)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
