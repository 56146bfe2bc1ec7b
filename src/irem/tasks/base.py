"""What every task offers."""

import abc
import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem._checks import count, known
from irem._errors import InputError
from irem._problem import Problem

Difficulty = str | int


@dataclasses.dataclass(frozen=True, kw_only=True)
class AbstractTask(abc.ABC):
    """A source of problems with known answers, and of the floors every method is measured by.

    Everything is pure JAX, so that problems are made inside the compiled training loop.

    Arguments:
        variant: `"released"` draws problems as the authors' program does, `"paper"` as the text
            of the paper says. The paper's numbers fit the released program.
    """

    name: ClassVar[str]
    """The name on the command line."""
    kind: ClassVar[str] = "vectors"
    """What problems are: `"vectors"` of a fixed size, `"graphs"` or `"images"` of any size."""
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
    paper_mse: ClassVar[Mapping[str, float]] = MappingProxyType({})
    """IREM's error in the paper's first table, by difficulty."""
    trivial_mse: ClassVar[Mapping[str, float]] = MappingProxyType({})
    """Error of `trivial` by difficulty, measured by `benchmarks/floors.py` on 20,000 problems."""
    oracle_mse: ClassVar[Mapping[str, float]] = MappingProxyType({})
    """Error of `oracle` by difficulty, measured likewise; a sampler on 2,000 problems."""
    oracle_problems: ClassVar[int | None] = None
    """On how many problems `oracle` is affordable, where it is a slow estimate."""

    variant: str = "released"

    def __post_init__(self) -> None:
        """Refuse settings that make no problem."""
        known("variant", self.variant, ("released", "paper"))

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one problem."""

    @abc.abstractmethod
    def trivial(self, x: PyTree) -> Float[Array, "..."]:
        """The answer of a predictor that learns nothing. Takes leading batch axes."""

    @abc.abstractmethod
    def oracle(self, x: PyTree) -> Float[Array, "..."]:
        """The best answer that can be given from `x` alone. Takes leading batch axes."""

    @property
    @abc.abstractmethod
    def shapes(self) -> tuple[tuple[int | None, ...], tuple[int | None, ...]]:
        """Shapes of `x` and `y`; `None` stands for a number of nodes, which is free."""

    def batch(self, key: PRNGKeyArray, n: int, difficulty: Difficulty = "same") -> Problem:
        """Draw `n` problems, stacked along a leading axis.

        Examples:
            >>> import irem, jax
            >>> irem.tasks.get("addition").batch(jax.random.key(0), 3, "harder").y.shape
            (3, 400)
        """
        count("n", n)
        self.check_difficulty(difficulty)
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
        """What `irem.tasks.get(task.name, **task.settings())` needs to make this task again."""
        return dataclasses.asdict(self)


@eqx.filter_jit
def _batch(task: AbstractTask, key: PRNGKeyArray, n: int, difficulty: Difficulty) -> Problem:
    return jax.vmap(lambda k: task.sample(k, difficulty))(jax.random.split(key, n))
