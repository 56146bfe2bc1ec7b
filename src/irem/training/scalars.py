"""Scalars for TensorBoard."""

import math
import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from irem.files import naming

EVENTS = "events.out.tfevents."
"""What the names of files that TensorBoard reads begin with."""


class Scalars:
    """An event file that is written at once, in this thread.

    tensorboardX has the format, but its writer hands events to a thread of its own: when the disk
    is full that thread dies and the program waits for it forever. The file appears with the first
    scalar.

    Arguments:
        folder: Where the file goes.
        done: Iterations already behind a resumed run; later scalars of a killed run are struck out.
    """

    def __init__(self, folder: Path, done: int) -> None:
        self._folder, self._done = folder, done
        self._file: BinaryIO | None = None

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        """Add those scalars at `step` that are finite; a gap in a curve is where they were not."""
        # Slow to import, and not needed in a run without a folder.
        from tensorboardX.proto.event_pb2 import Event  # noqa: PLC0415 # pyright: ignore[reportAttributeAccessIssue]
        from tensorboardX.summary import scalar  # noqa: PLC0415

        finite = {name: float(v) for name, v in scalars.items() if math.isfinite(v)}
        with naming(self._folder):
            if self._file is None:
                self._file = self._open()
            for name, value in finite.items():
                self._add(Event(wall_time=time.time(), step=step, summary=scalar(name, value)))
            self._file.flush()

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            with naming(self._folder):
                self._file.close()

    def _open(self) -> BinaryIO:
        from tensorboardX.proto.event_pb2 import (  # noqa: PLC0415
            Event,  # pyright: ignore[reportAttributeAccessIssue]
            SessionLog,  # pyright: ignore[reportAttributeAccessIssue]
        )

        name = f"{EVENTS}{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        self._file = open(self._folder / name, "wb")  # noqa: SIM115 - closed in `close`
        self._add(Event(wall_time=time.time(), file_version="brain.Event:2"))
        started = SessionLog(status=SessionLog.START)
        self._add(Event(wall_time=time.time(), step=self._done + 1, session_log=started))
        return self._file

    def _add(self, event: object) -> None:
        """Append one record: length, its checksum, data, its checksum."""
        from tensorboardX.record_writer import masked_crc32c  # noqa: PLC0415

        data = event.SerializeToString()  # pyright: ignore[reportAttributeAccessIssue]
        length = struct.pack("<Q", len(data))
        checks = (struct.pack("<I", masked_crc32c(part)) for part in (length, data))
        assert self._file is not None
        self._file.write(length + next(checks) + data + next(checks))
