"""What is reported of all answers together."""

from pathlib import Path
from typing import Any

import numpy as np
import typer

from irem.descent import Reason, Solution
from irem.verdicts import Verdict

# So many problems are named in a message; of more, their number.
_NAMED = 5


class Tally:
    """What is reported of all answers together.

    Arguments:
        binary: Whether answers are to be 0 or 1.
        max_steps: The step budget of the first descent on every problem.
    """

    def __init__(self, binary: bool, max_steps: int | None) -> None:
        self.max_steps = max_steps
        self.faults: tuple[str, ...] = ()
        self._binary = binary
        self._parts: list[dict[str, np.ndarray]] = []
        self._answer: tuple[int, ...] = ()
        self._alone = False

    def add(self, solution: Solution, left_out: np.ndarray) -> None:
        """Add the next answers."""
        self._alone = np.ndim(solution.steps) == 0
        self._answer = solution.y.shape if self._alone else solution.y.shape[1:]
        self._parts.append(_columns(solution, left_out, self._binary))

    @property
    def problems(self) -> int:
        """Number of problems so far."""
        return len(self._all("steps"))

    @property
    def refused(self) -> int:
        """Number of problems outside the domain of the model."""
        return self._count("refused")

    @property
    def unverified(self) -> int:
        """Number of problems that were not refused, and whose answers are not verified."""
        return self.problems - self._count("verified") - self.refused

    @property
    def unanswered(self) -> list[int]:
        """The problems without an answer whose descents failed."""
        return np.flatnonzero(self._all("unanswered")).tolist()

    def shape(self, problems: int) -> list[int]:
        """Return the shape of the array of all answers."""
        return list(self._answer) if self._alone else [problems, *self._answer]

    def as_dict(self) -> dict[str, Any]:
        """Return the counts and means for JSON."""
        energy, reason = self._all("energy"), self._all("reason")
        finite = energy[np.isfinite(energy)]
        counts = {
            "problems": self.problems,
            "verified": self._count("verified"),
            "unverified": self.unverified,
            "failed": self._count("failed"),
            "unchecked": self._count("unchecked"),
            "refused": self.refused,
            "unanswered": self.unanswered,
            "largest_residual": self._largest_residual(),
            "converged": self._mean("converged"),
            "steps_mean": self._mean("steps"),
            "energy_mean": float(finite.mean()) if finite.size else None,
            "reasons": {r.label: int((reason == r).sum()) for r in Reason},
            "abstained": self._count("left_out"),
            "unfamiliar": self._count("unfamiliar"),
        }
        return counts | ({"decided": self._mean("decided")} if self._binary else {})

    def tell(self, out: Path, max_error: float | None) -> None:
        """Print what was found: first how many answers hold."""
        typer.echo(self._verdicts())
        decided = f"{100 * self._mean('decided'):.1f} % decided; " if self._binary else ""
        what = "one problem" if self.problems == 1 else f"{self.problems} problems"
        typer.echo(
            f"Answered {what} in {self._mean('steps'):.1f} steps on average; "
            f"{100 * self._mean('converged'):.1f} % converged; {decided}written to '{out}'."
        )
        abstained = self._count("left_out")
        if max_error is not None:
            typer.echo(
                f"Abstained from {abstained} of {self.problems}: their expected error is "
                f"above {max_error:g} ({self._count('unfamiliar')} are unlike the validation "
                "problems); their answers are NaN."
            )
        elif abstained:
            typer.echo(f"{abstained} of {self.problems} are not verified; their answers are NaN.")

    def warn(self) -> None:
        """Say on standard error which answers not to rely on."""
        said = list(self.faults)
        if self.refused > len(self.faults):
            said.append(f"{self.refused} problems are refused in all.")
        if self._count("failed"):
            said.append(f"{self._named('failed')} failed the check: do not rely on it.")
        if self.unanswered:
            said.append(
                f"{self._named('unanswered')} does not exist: no step lowered its energy, or its "
                "energy is not finite."
            )
        lost = ~self._all("converged") & self._all("unchecked") & ~self._all("unanswered")
        if lost.any():
            said.append(
                f"{_named(lost)} had not converged after {self._all('steps')[lost].max():,} steps "
                "and may be wrong: too little training, or a problem unlike those of training."
            )
        for sentence in said:
            typer.echo(f"irem: {sentence}", err=True)

    def _verdicts(self) -> str:
        """How many answers were checked, and what the checks say."""
        if self._count("unchecked") == self.problems:
            return "No answer can be checked: the problems do not say what would be right."
        parts = [f"Verified {self._count('verified')} of {self.problems}"]
        for name, words in (
            ("failed", "failed"),
            ("unchecked", "cannot be checked"),
            ("refused", "refused"),
            ("unanswered", "without an answer"),
        ):
            parts += [f"{self._count(name)} {words}"] if self._count(name) else []
        largest = self._largest_residual()
        worst = "" if largest is None else f"; the largest residual is {largest:.2g}"
        return f"{', '.join(parts)}{worst}."

    def _largest_residual(self) -> float | None:
        residual = self._all("residual")[~self._all("refused") & ~self._all("unanswered")]
        residual = residual[~np.isnan(residual)]
        return float(residual.max()) if residual.size else None

    def _named(self, name: str) -> str:
        return _named(self._all(name))

    def _count(self, name: str) -> int:
        return int(self._all(name).sum())

    def _mean(self, name: str) -> float:
        return float(self._all(name).mean())

    def _all(self, name: str) -> np.ndarray:
        """One number of every answer."""
        return np.concatenate([part[name] for part in self._parts])


def _columns(solution: Solution, left_out: np.ndarray, binary: bool) -> dict[str, np.ndarray]:
    """What is kept of some answers, one entry for each."""
    steps = np.atleast_1d(np.asarray(solution.steps))
    column = lambda value, default: (  # noqa: E731
        np.full(steps.shape, default) if value is None else np.atleast_1d(np.asarray(value))
    )
    verdict = column(solution.verdict, Verdict.UNCHECKED)
    reason = column(solution.reason, -1)
    refused = reason == Reason.REFUSED
    unanswered = ~column(solution.answered, True) & ~refused
    left_out = np.atleast_1d(left_out)
    return {
        "steps": steps,
        "converged": column(solution.converged, False),
        "energy": column(solution.energy, np.nan).astype(np.float64),
        "reason": reason,
        "residual": column(solution.residual, np.nan),
        "verified": verdict == Verdict.VERIFIED,
        "failed": (verdict == Verdict.FAILED) & ~refused & ~unanswered,
        "unchecked": verdict == Verdict.UNCHECKED,
        "refused": refused,
        "unanswered": unanswered,
        "left_out": left_out,
        "unfamiliar": np.isinf(column(solution.expected_error, 0.0)),
        "decided": (column(solution.decided, False) if binary else steps < 0) & ~left_out,
    }


def _named(chosen: np.ndarray) -> str:
    """Which answers, in words: by the places of their problems where they are few."""
    places = np.flatnonzero(chosen)
    if len(chosen) == 1:
        return "The answer"
    if len(places) > _NAMED:
        return f"Each of {len(places)} of {len(chosen)} answers"
    listed = ", ".join(map(str, places))
    return f"Answer {listed}" if len(places) == 1 else f"Each of the answers {listed}"
