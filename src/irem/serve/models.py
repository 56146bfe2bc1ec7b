"""Models as a server holds them: loaded, with their programs, and with what is said of them."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.descent import Energy, content_keys, default_max_steps, default_retries, default_step
from irem.descent.algorithm2 import first_point
from irem.descent.padding import padded
from irem.descent.programs import Programs
from irem.descent.rules import make_descent, until_answer_holds
from irem.errors import InputError
from irem.serve.base_kind import AbstractKind
from irem.serve.kinds import kind_of
from irem.serve.landscapes import compile_heights
from irem.serve.limits import Limits
from irem.serve.stacks import alike, filled_up, shapes, stacked
from irem.tasks import AbstractTask
from irem.training import ZOO, Run, load, read_calibrations
from irem.training.answering import again_by

WALK_SIZES = (1, 4)
"""Numbers of descents that are recorded at the same time."""

_AT_ONCE = 16
"""Of how many problems the descents are begun at the same time."""

_CARD = "README.md"
_NOUNS = {
    "sudoku": "Sudoku puzzles",
    "maze": "Mazes",
    "prefix-sums": "Parities of a line of bits",
    "shortest-path": "Shortest paths in a graph",
    "connected-components": "Connected components of a graph",
    "matrix-inverse": "Inverse of a matrix",
    "matrix-completion": "Tables with missing numbers",
    "addition": "Sums of two vectors",
    "edge-copy": "Copies of the edges of a graph",
    "denoise": "Pictures with noise",
}


class ServedModel:
    """A trained model, and all that requests need of it.

    Arguments:
        name: What it is called in addresses.
        run: The run that it is from.
        limits: How large problems may be.
    """

    def __init__(self, name: str, run: Run[Any], limits: Limits) -> None:
        model = run.model
        if not isinstance(model, Energy):
            raise InputError(
                f"'{name}' is a network that answers by itself, and a server descends energies; "
                "give a run of an energy."
            )
        self.name, self.run, self.model = name, run, model
        self.task = getattr(model, "task", None)
        self.kind: AbstractKind = kind_of(run.task, model.format, limits)
        calibrations = run.calibrations or read_calibrations(run)
        self.calibration = None if calibrations is None else calibrations[0]
        self._programs: dict[Any, Programs] = {}
        self._heights: dict[Any, Future[Any]] = {}
        self._answer_shapes: dict[Any, tuple[int, ...]] = {}
        self._lock = threading.Lock()

    @functools.cached_property
    def retries(self) -> int:
        """How often an answer that fails its check is sought again."""
        return default_retries(self.model)

    def describe(self) -> dict[str, Any]:
        """Return what there is to know before a problem is sent."""
        arrays = jax.tree.leaves(eqx.filter(self.model, eqx.is_inexact_array))
        return {
            "name": self.name,
            "task": self.run.task.name,
            "title": _NOUNS.get(self.run.task.name, self.name),
            "kind": self.kind.name,
            "summary": _first_sentence(self.card) or _sentence(type(self.run.task).summary),
            "parameters": sum(leaf.size for leaf in arrays),
            "sizes": {"compared": list(self.run.task.sizes), "max": self.kind.longest},
            "card": self.card,
            "checked": self.is_checked,
        }

    @functools.cached_property
    def card(self) -> str | None:
        """What its card says."""
        path = None if self.run.path is None else self.run.path / _CARD
        return path.read_text("utf-8") if path is not None and path.is_file() else None

    @functools.cached_property
    def is_checked(self) -> bool:
        """Whether its answers are checked."""
        if self.task is None:
            return False
        own = type(self.task).residuals is not AbstractTask.residuals
        return own and self.task.complete_check

    def faults(self, batch: PyTree) -> str | None:
        """Return why a problem, a batch of one, is refused."""
        return None if self.task is None else self.task.domain.faults(batch)[0]

    def budget(self, batch: PyTree) -> int:
        """Return the step budget of a problem where none is given."""
        return default_max_steps(self.model, batch)

    def rules(self, batch: PyTree, attempt: int) -> tuple[Any, int]:
        """Return the step rule and the budget of the first try, or of a later one."""
        options = again_by(self.model, batch) if attempt else {}
        step = options.get("step", default_step(self.model))
        return step, options.get("max_steps", self.budget(batch))

    def place(
        self, batches: Sequence[PyTree], starts: int = 1, attempt: int = 0, seed: int = 0
    ) -> list[tuple[PyTree, np.ndarray]]:
        """Return problems at one of a few sizes, and where the descents of a try begin.

        The first guesses of a problem depend on its own numbers, those it is padded with, and the
        seed. For problems that are not padded they are those of `Run.solve` with seed 0.

        Arguments:
            batches: The problems, each a batch of one.
            starts: The number of first guesses of each.
            attempt: The number of the try.
            seed: The seed.
        """
        large = [padded(self.model.format, batch) for batch in batches]
        numbers = jnp.uint32(attempt), jnp.uint32(seed)
        found: dict[int, tuple[PyTree, np.ndarray]] = {}
        for places in alike([shapes(x) for x in large]):
            shape = self.answer_shape(large[places[0]])
            for first in range(0, len(places), _AT_ONCE):
                some = places[first : first + _AT_ONCE]
                x = stacked([large[some[i]] for i in filled_up(len(some))])
                points = np.asarray(_first_points(self.model, x, shape, starts, *numbers))
                for place, row in zip(some, points, strict=False):
                    found[place] = jax.tree.map(lambda leaf: leaf[0], large[place]), row
        return [found[i] for i in range(len(batches))]

    def answer_shape(self, batch: PyTree) -> tuple[int, ...]:
        """Return the shape of the answer to a problem."""
        kind = shapes(batch)
        if kind not in self._answer_shapes:
            one = jax.tree.map(lambda leaf: jnp.asarray(leaf)[0], batch)
            self._answer_shapes[kind] = self.model.format.answer_shape(one) or ()
        return self._answer_shapes[kind]

    def programs(self, step: Any, x: PyTree, y0: np.ndarray, *, recorded: bool = False) -> Programs:
        """Return the programs for problems of a shape; they may have to be compiled."""
        kind = (str(step), shapes((x, y0)), jax.tree.structure(x), recorded)
        with self._lock:
            if kind not in self._programs:
                descent = make_descent(self.model, step)
                if not recorded:  # who watches sees a walk to its end
                    descent = until_answer_holds(descent)
                sizes = {"sizes": WALK_SIZES} if recorded else {}
                self._programs[kind] = Programs(descent, x, y0, recorded=recorded, **sizes)
            return self._programs[kind]

    @property
    def compiled(self) -> int:
        """How many programs have been compiled."""
        with self._lock:
            return sum(len(programs.compiled) for programs in self._programs.values())

    def heights(
        self,
        x: PyTree,
        points: np.ndarray,
        by: Executor,
        then: Callable[[], None],
        *,
        double: bool,
    ) -> Future[Any]:
        """Return the program that computes the energies of some points of a landscape.

        Arguments:
            x: A problem.
            points: As many points as it computes.
            by: What compiles it.
            then: Called when it is there.
            double: Whether it is in 64 bits, as the descent was: an energy may depend on that.
        """
        kind = (shapes((x, points)), jax.tree.structure(x), double)
        with self._lock:
            if kind not in self._heights:
                self._heights[kind] = by.submit(
                    compile_heights, self.model, x, points, double=double
                )
                self._heights[kind].add_done_callback(lambda _: then())
            return self._heights[kind]


def load_models(names: Sequence[str], limits: Limits) -> dict[str, ServedModel]:
    """Load models by the names of their folders, or as `zoo:NAME`.

    Raises:
        InputError: One cannot be served, or two have the same name.
    """
    models: dict[str, ServedModel] = {}
    for given in names:
        name = given.removeprefix(ZOO) if given.startswith(ZOO) else Path(given).resolve().name
        if name in models:
            raise InputError(f"Two models are called '{name}'; rename the folder of one of them.")
        models[name] = ServedModel(name, load(given), limits)
    return models


def cropped(y: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return an answer to a padded problem at its own size."""
    return y[tuple(slice(n) for n in shape)]


@eqx.filter_jit
def _first_points(
    model: Any, x: PyTree, shape: tuple[int, ...], starts: int, attempt: Array, seed: Array
) -> Float[Array, "problems starts ..."]:
    """Return the points where the descents on some problems begin."""

    def of_problem(x: PyTree, key: PRNGKeyArray) -> Array:
        for number in (seed, attempt):
            key = jnp.where(number > 0, jax.random.fold_in(key, number), key)
        keys = jax.random.split(key, starts) if starts > 1 else key[None]
        return jax.vmap(lambda key: first_point(model, x, shape, key=key))(keys)

    return jax.vmap(of_problem)(x, content_keys(x))


def _first_sentence(card: str | None) -> str | None:
    """Return the first sentence of a card, which is below its title."""
    found = re.search(r"^[^#\s|].*?[.](?=\s|$)", card or "", re.DOTALL | re.MULTILINE)
    return None if found is None else " ".join(found[0].split())


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
