"""Problems of one file that several hosts answer, each its own part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import jax
import numpy as np

from irem.cli.common import progress_bar
from irem.descent import Solution, split_key
from irem.files import whole_file
from irem.hosts import check_same, gather_numbers, hosts, together


class Problems(Protocol):
    """Problems along an axis, which can be answered in parts."""

    @property
    def problems(self) -> int:
        """How many there are."""
        ...

    def part(self, rows: slice) -> Any:
        """Return some of them."""
        ...

    def solutions(self, *, by: Any, key: Any, **options: Any) -> Iterator[Solution]:
        """Answer them."""
        ...


def answer_own_part(
    pages: Problems, out: Path, *, by: Any, key: Any, **options: Any
) -> Callable[..., Iterator[Solution]]:
    """Answer the problems of this host, wait for the others, and return what reads all answers.

    Answers lie in files beside `out`, on a disk that all hosts see, until they are read. They are
    those of one host: first guesses depend on the place of a problem in the whole file.

    Arguments:
        pages: The problems of all hosts.
        out: Where all answers will go.
        by: A function like `irem.solve`.
        key: Where first guesses are drawn from.
        options: As `by` takes them.
    """
    check_same("list of problems", f"{pages.problems} {out.resolve()}")
    rows = own_rows(pages.problems, jax.process_index(), hosts())
    own_keys = split_key(key, pages.problems)[rows]
    written = together(lambda: _write(pages.part(rows), out, by=by, key=own_keys, **options))
    parts = [
        _part(out, host, number)
        for host, count in enumerate(gather_numbers(written)[:, 0].astype(int))
        for number in range(count)
    ]
    return lambda on_batch: _read(parts, on_batch)


def own_rows(problems: int, host: int, number: int) -> slice:
    """Return which problems a host answers: parts are as equal as possible, and in order.

    Examples:
        >>> [own_rows(7, host, 3) for host in range(3)]
        [slice(0, 2, None), slice(2, 4, None), slice(4, 7, None)]
    """
    return slice(problems * host // number, problems * (host + 1) // number)


def _write(pages: Problems, out: Path, **options: Any) -> int:
    """Answer problems, and return how many files the answers are in."""
    if not pages.problems:
        return 0
    written = 0
    with progress_bar("answering", pages.problems) as advance:
        for number, solution in enumerate(pages.solutions(on_batch=advance, **options)):
            fields = {n: np.asarray(v) for n, v in vars(solution).items() if v is not None}
            with whole_file(_part(out, jax.process_index(), number)) as file:
                np.savez(file, allow_pickle=False, **fields)
            written += 1
    return written


def _read(parts: list[Path], on_batch: Callable[[int], None]) -> Iterator[Solution]:
    """Return the answers in files, which are removed in the end."""
    try:
        for part in parts:
            with np.load(part) as fields:
                solution = Solution(**{"energy": None, **fields})
            yield jax.tree.map(jax.numpy.asarray, solution)
            on_batch(np.size(solution.steps))
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def _part(out: Path, host: int, number: int) -> Path:
    return out.with_name(f".{out.name}.host-{host}-part-{number}.npz")
