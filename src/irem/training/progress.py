"""What a training run shows: a progress bar and TensorBoard scalars."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from irem.training.run import History
from irem.training.scalars import Scalars

# Longest time between two lines, or one chunk of iterations.
_LINE_SECONDS = 4.0


class Progress:
    """Shows a history as it grows.

    Arguments:
        folder: Where TensorBoard scalars go, if anywhere.
        iterations: Where training ends.
        seeds: Number of models trained together.
        progress: Whether to draw a progress bar on standard error; `"lines"` for lines instead,
            which are also printed where no bar can be drawn.
        done: Iterations already behind a resumed run.
    """

    def __init__(
        self, folder: Path | None, iterations: int, seeds: int, progress: bool | str, done: int
    ) -> None:
        # Slow to import, and not needed where nothing is drawn.
        from rich import progress as rich_progress  # noqa: PLC0415
        from rich.console import Console  # noqa: PLC0415

        self._scalars = None if folder is None else Scalars(folder, done)
        text = rich_progress.TextColumn
        columns = (
            text("training"),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            text("{task.fields[rate]}"),
            rich_progress.TimeRemainingColumn(),
            text("{task.fields[note]}"),
        )
        console = Console(stderr=True)
        bar_fits = progress is True and console.is_terminal
        self._bar = rich_progress.Progress(*columns, console=console, disable=not bar_fits)
        self._task = self._bar.add_task(
            "", total=iterations, completed=done, rate="", note="compiling"
        )
        self._lines = console if progress and not bar_fits else None
        self._iterations, self._line_at = iterations, time.monotonic()
        self._seeds = seeds
        self._done, self._time = done, time.monotonic()

    def __enter__(self) -> Progress:
        """Start the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the bar and close the files."""
        self._bar.stop()
        if self._scalars is not None:
            self._scalars.close()

    def show(self, history: History) -> None:
        """Show the last chunk of `history`."""
        done, now = int(history.iteration[-1]), time.monotonic()
        rate = (done - self._done) / max(now - self._time, 1e-9)
        self._done, self._time = done, now
        skipped = int(history.skipped.sum())
        note = f"loss {np.mean(history.loss[-1]):.2e}"
        note += f", {skipped} updates skipped" if skipped else ""
        self._bar.update(self._task, completed=done, rate=f"{rate:.0f} it/s", note=note)
        due = now - self._line_at > _LINE_SECONDS or done == self._iterations
        if self._lines is not None and due:
            left = (self._iterations - done) / rate
            line = f"training {done}/{self._iterations}, {rate:.0f} it/s, {left:.0f} s left, {note}"
            self._lines.print(line, highlight=False, soft_wrap=True)
            self._line_at = now
        if self._scalars is not None:
            self._scalars.write(done, self._last(history, rate))

    def _last(self, history: History, rate: float) -> dict[str, float]:
        """The last chunk of `history` by the names that TensorBoard shows."""
        scalars = {"iterations_per_second": rate}
        for seed in range(self._seeds):
            tag = "" if self._seeds == 1 else f"/model{seed}"
            scalars[f"loss{tag}"] = history.loss[-1, seed]
            scalars[f"gradient_norm{tag}"] = history.gradient_norm[-1, seed]
            scalars[f"skipped_updates{tag}"] = history.skipped[-1, seed]
        return scalars
