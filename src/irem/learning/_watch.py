"""What one sees of a training run: a progress bar and TensorBoard scalars."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from irem.learning._run import History


class Watcher:
    """Shows a history as it grows.

    Arguments:
        folder: Where TensorBoard scalars go, if anywhere.
        iterations: Where training ends.
        seeds: Number of models trained together.
        progress: Whether to draw a progress bar on standard error.
        done: Iterations already behind a resumed run.
    """

    def __init__(
        self, folder: Path | None, iterations: int, seeds: int, progress: bool, done: int
    ) -> None:
        self._writer = None
        if folder is not None:
            # Slow to import, and not needed without a folder.
            from tensorboardX import SummaryWriter  # noqa: PLC0415

            # What a killed run wrote after its last checkpoint is struck out.
            self._writer = SummaryWriter(str(folder), purge_step=done + 1)
        columns = (
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), disable=not progress)
        self._task = self._bar.add_task("", total=iterations, completed=done, rate="", note="")
        self._seeds = seeds
        self._done, self._time = done, time.monotonic()

    def __enter__(self) -> Watcher:
        """Start the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the bar and close the files."""
        self._bar.stop()
        if self._writer is not None:
            self._writer.close()

    def show(self, history: History) -> None:
        """Show the last chunk of `history`."""
        done, now = int(history.iteration[-1]), time.monotonic()
        rate = (done - self._done) / max(now - self._time, 1e-9)
        self._done, self._time = done, now
        skipped = int(history.skipped.sum())
        note = f"loss {np.mean(history.loss[-1]):.2e}"
        note += f", {skipped} updates skipped" if skipped else ""
        self._bar.update(self._task, completed=done, rate=f"{rate:.0f} it/s", note=note)
        if self._writer is not None:
            self._write(self._writer, history, rate)

    def _write(self, writer: Any, history: History, rate: float) -> None:
        step = int(history.iteration[-1])
        for seed in range(self._seeds):
            tag = "" if self._seeds == 1 else f"/model{seed}"
            writer.add_scalar(f"loss{tag}", history.loss[-1, seed], step)
            writer.add_scalar(f"gradient_norm{tag}", history.gradient_norm[-1, seed], step)
            writer.add_scalar(f"skipped_updates{tag}", history.skipped[-1, seed], step)
        writer.add_scalar("iterations_per_second", rate, step)
