"""Ctrl-C that ends the program at any moment, or waits for a safe one."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Generator
from types import FrameType

from irem.files import remove_open_files

INTERRUPTED = 130
"""The exit code of a program that was interrupted."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_entered: list[Interrupt] = []


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
        del number, frame
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        print(self._message, file=sys.stderr)


@contextlib.contextmanager
def exit_on_interrupt() -> Generator[None]:
    """While entered, Ctrl-C and SIGTERM end the process at once, with exit code 130.

    Python handles signals between two of its own instructions, which compiled programs and their
    compilers do not return to for minutes, and an exception on top of their threads ends in a
    crash. So a thread that waits for signals removes unfinished files and ends the process. Where
    an `Interrupt` is entered, that is left to the second signal.
    """
    if not _in_main_thread():
        yield
        return
    waiting, woken = socket.socketpair()
    woken.setblocking(False)
    previous = {number: signal.signal(number, _leave_to_thread) for number in _SIGNALS}
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
    while numbers := waiting.recv(1):
        if numbers[0] not in _SIGNALS:
            continue
        patient = _entered[-1] if _entered else None
        if patient is not None and patient not in told and not patient.asked:
            told.add(patient)
            continue
        remove_open_files()
        os.write(2, b"irem: interrupted.\n")
        os._exit(INTERRUPTED)


def _leave_to_thread(number: int, frame: FrameType | None) -> None:
    """Do nothing: the thread that waits for signals ends the process."""
    del number, frame


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
