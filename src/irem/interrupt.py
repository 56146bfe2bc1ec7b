"""Ctrl-C that waits for a safe moment."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType


class Interrupt:
    """While entered, the first Ctrl-C only sets `asked`; the second one interrupts at once.

    Outside the main thread signals cannot be caught, and nothing changes.

    Arguments:
        message: What is said at the first one.
    """

    def __init__(self, message: str) -> None:
        self.asked = False
        self._message = message
        self._previous: object = None

    def __enter__(self) -> Interrupt:
        """Catch the signal."""
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        """Give the signal back."""
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)  # pyright: ignore[reportArgumentType]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        print(self._message, file=sys.stderr)
