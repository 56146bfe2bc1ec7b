"""What every task offers."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.checks import count, known
from irem.domain import Domain
from irem.errors import InputError
from irem.formats import AbstractFormat
from irem.memory import check_memory
from irem.problem import Problem
from irem.verdicts import Check, Verdict

# Making problems takes as much memory as so many batches of them.
_INTERMEDIATES = 4

Difficulty = str | int
"""Which problems: a name, or a number, of nodes or of the strength of noise."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class AbstractTask(abc.ABC):
    """A source of problems with known answers, and of the floors every method is measured by.

    Everything is pure JAX, so that problems are made inside the compiled training loop. A task is a
    dataclass and a PyTree: fields that hold arrays are its leaves, all others are its settings.

    Arguments:
        variant: `"released"` draws problems as the authors' program does, `"paper"` as the text
            of the paper says. The paper's numbers fit the released program. `"wide"`, where a task
            has it, draws from a wide mixture of problems such as users bring.
    """

    name: ClassVar[str]
    """The name on the command line."""
    summary: ClassVar[str]
    """One line that says what is asked."""
    binary: ClassVar[bool] = False
    """Whether every entry of an answer is 0 or 1, so that answers can be rounded."""
    difficulties: ClassVar[tuple[str, ...]] = ("same", "harder")
    """Named difficulties for evaluation."""
    training: ClassVar[str] = "same"
    """The difficulty that training draws from."""
    power: ClassVar[int | None] = None
    """If `c**power * y` answers `c * x`, that power, 1 or -1."""
    trivial_mse: ClassVar[Mapping[str, float]] = MappingProxyType({})
    """Error of `trivial` by difficulty, measured by `tools/floors.py` on 20,000 problems."""
    oracle_mse: ClassVar[Mapping[str, float]] = MappingProxyType({})
    """Error of `oracle` by difficulty, measured likewise; a sampler on 2,000 problems."""
    oracle_problems: ClassVar[int | None] = None
    """On how many problems `oracle` is affordable, where it is a slow estimate."""

    variants: ClassVar[tuple[str, ...]] = ("released", "paper")
    """Values that `variant` may have."""
    tolerance: ClassVar[float] = 0.01
    """The largest residual with which an answer counts as verified."""
    complete_check: ClassVar[bool] = True
    """Whether an answer with a small residual is right; if not, it cannot be checked."""

    variant: str = "released"

    def __init_subclass__(cls, **options: Any) -> None:
        """Make every task a PyTree."""
        super().__init_subclass__(**options)
        jax.tree_util.register_pytree_node(
            cls, _flatten, lambda aux, leaves: _build(cls, aux, leaves)
        )

    def __post_init__(self) -> None:
        """Refuse settings that make no problem."""
        known("variant", self.variant, self.variants)

    @property
    @abc.abstractmethod
    def format(self) -> AbstractFormat:
        """What problems and answers look like."""

    @property
    def any_size(self) -> AbstractFormat:
        """What problems of any size look like, where models take others than those of training."""
        return self.format

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one problem."""

    @abc.abstractmethod
    def trivial(self, x: PyTree) -> Float[Array, "..."]:
        """Return the answer of a predictor that learns nothing. Takes leading batch axes."""

    @abc.abstractmethod
    def oracle(self, x: PyTree) -> Float[Array, "..."]:
        """Return the best answer that can be given from `x` alone. Takes leading batch axes."""

    @property
    def domain(self) -> Domain:
        """Which problems are answered; by default all of the right format."""
        return Domain()

    def residuals(self, x: PyTree, y: np.ndarray) -> np.ndarray | None:
        """Return by how much answers miss what they should satisfy, in relative terms.

        A residual bounds the relative error of an answer. It judges, and computes no answer.

        Arguments:
            x: A batch of problems.
            y: Their answers, in float64.

        Returns:
            One number for each; `None` where a task has no check.
        """
        del x, y
        return None

    def check(self, x: PyTree, y: Any) -> Check:
        """Return a verdict and a residual for every answer of a batch."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            residual = self.residuals(x, np.asarray(y, np.float64))
        if residual is None:
            nothing = np.full(np.shape(y)[0], np.nan)
            return Check(np.full(nothing.shape, Verdict.UNCHECKED, np.int32), nothing)
        residual = np.where(np.isnan(residual), np.inf, residual)
        passed = Verdict.VERIFIED if self.complete_check else Verdict.UNCHECKED
        verdict = np.where(residual <= self.tolerance, passed, Verdict.FAILED)
        return Check(verdict.astype(np.int32), residual)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of problems, smallest first, at which errors and steps are compared, if any."""
        return ()

    @property
    def calibration_difficulties(self) -> tuple[Difficulty, ...]:
        """The validation problems that expected errors are fitted to."""
        return ("same", "harder")

    def batch(self, key: PRNGKeyArray, n: int, difficulty: Difficulty = "same") -> Problem:
        """Draw `n` problems, stacked along a leading axis.

        Examples:
            >>> import irem, jax
            >>> irem.tasks.get("addition").batch(jax.random.key(0), 3, "harder").y.shape
            (3, 400)
        """
        count("n", n)
        self.check_difficulty(difficulty)
        shapes = jax.tree.leaves(eqx.filter_eval_shape(_batch, self, key, n, difficulty))
        check_memory(
            f"A batch of {n:,} problems of '{self.name}', difficulty {difficulty},",
            _INTERMEDIATES * sum(s.size * s.dtype.itemsize for s in shapes),
            "ask for fewer or smaller problems",
        )
        return _batch(self, key, n, difficulty)

    def check_difficulty(self, difficulty: Difficulty) -> None:
        """Refuse a difficulty that this task does not have."""
        if not isinstance(difficulty, str):
            raise InputError(
                f"Task '{self.name}' has no sizes to choose from, got difficulty {difficulty}; "
                f"use one of {', '.join(self.difficulties)}."
            )
        known("difficulty", difficulty, self.difficulties)

    def settings(self) -> dict[str, Any]:
        """Return the fields that are not arrays, as plain values."""
        return dict(_settings(self))

    def without_arrays(self) -> AbstractTask | None:
        """Return what a model keeps of its task: the task itself, unless that holds arrays."""
        return None if self.leaves() else self

    def for_chunk(self, number: int) -> AbstractTask:
        """Return the task that a chunk of iterations draws its problems from, on the device."""
        del number
        return self

    def leaves(self) -> dict[str, Any]:
        """Return the fields that hold arrays, by name."""
        return {name: getattr(self, name) for name in _leaf_names(self)}


@eqx.filter_jit
def _batch(task: AbstractTask, key: PRNGKeyArray, n: int, difficulty: Difficulty) -> Problem:
    return jax.vmap(lambda k: task.sample(k, difficulty))(jax.random.split(key, n))


# Where a task that JAX built keeps the names of its leaves.
_LEAF_NAMES = "_leaf_names"


def _leaf_names(task: AbstractTask) -> tuple[str, ...]:
    """The fields that hold arrays; of a task that JAX built, those that did when it was flattened.

    JAX and Equinox put other things in place of arrays, which have to stay leaves.
    """
    kept = vars(task).get(_LEAF_NAMES)
    if kept is not None:
        return kept
    names = (f.name for f in dataclasses.fields(task))
    return tuple(name for name in names if _has_arrays(getattr(task, name)))


def _has_arrays(value: Any) -> bool:
    return any(eqx.is_array(leaf) for leaf in jax.tree.leaves(value))


def _settings(task: AbstractTask) -> list[tuple[str, Any]]:
    leaves = _leaf_names(task)
    names = (f.name for f in dataclasses.fields(task))
    return [(name, getattr(task, name)) for name in names if name not in leaves]


def _flatten(task: AbstractTask) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    leaves = task.leaves()
    return tuple(leaves.values()), (tuple(leaves), tuple(_settings(task)))


def _build(kind: type[AbstractTask], aux: tuple[Any, ...], leaves: tuple[Any, ...]) -> AbstractTask:
    """A task of which leaves may be anything that JAX puts there: nothing is checked again."""
    names, settings = aux
    task = object.__new__(kind)
    vars(task).update(dict(settings) | dict(zip(names, leaves, strict=True)))
    vars(task)[_LEAF_NAMES] = names
    return task
