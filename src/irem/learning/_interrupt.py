"""Ctrl-C that waits for a safe moment."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType


class Interrupt:
    """While entered, the first Ctrl-C only sets `asked`; the second one interrupts at once.

    Outside the main thread signals cannot be caught, and nothing changes.
    """

    def __init__(self) -> None:
        self.asked = False
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
        print(
            "Stopping at the end of this chunk of iterations; Ctrl-C again drops the chunk.",
            file=sys.stderr,
        )
