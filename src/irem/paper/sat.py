"""Section 3.3: 3-SAT by descent on a hand-written energy, beside a network that is trained on it.

Random formulas of three literals; a SAT solver says which of them can be satisfied at all.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from irem.apps.sat import Formula, as_literals, random_formula, satisfy
from irem.energy import SAT
from irem.errors import InputError
from irem.evaluation.tables import Entry, Table, number
from irem.paper.cells import Cell
from irem.paper.experiment import Drawing, Experiment, Result
from irem.paper.study import Study

if TYPE_CHECKING:
    import matplotlib.figure

# Formulas whose energies and gradients are computed together where their cost is measured.
_TIMED_BATCH = 256
_TRAINING_BATCH = 128


@dataclasses.dataclass(frozen=True, kw_only=True)
class SatCell(Cell):
    """A measurement on random formulas of three literals.

    Arguments:
        part: Which part of the experiment: `sizes`, `ratios`, `evaluations` or `feedforward`.
        variables: Variables of a formula.
    """

    part: str
    variables: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchCell(SatCell):
    """How many satisfiable formulas `irem.satisfy` satisfies with its default settings.

    Arguments:
        ratio: Clauses for each variable.
        formulas: How many satisfiable formulas were tried.
        solved: How many were satisfied.
        in_first_round: How many of them before any weight was raised.
        descents_mean: Mean number of descents.
        seconds: For all formulas together.
    """

    ratio: float
    formulas: int
    solved: int
    in_first_round: int
    descents_mean: float
    seconds: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluationCell(SatCell):
    """The cost of one energy and its gradient.

    Arguments:
        clauses: Clauses of the formula.
        microseconds: Of one evaluation in a batch of 256, one number for every repetition.
    """

    clauses: int
    microseconds: tuple[float, ...]

    @property
    def median(self) -> float | None:
        """The median over repetitions, if there are any."""
        return float(np.median(self.microseconds)) if self.microseconds else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeedforwardCell(SatCell):
    """How many satisfiable formulas a network satisfies in one pass.

    Arguments:
        ratio: Clauses for each variable.
        formulas: How many satisfiable formulas were tried.
        iterations: Updates of its training.
        solved: How many were satisfied.
    """

    ratio: float
    formulas: int
    iterations: int
    solved: int


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured, before the share of the scale.

    Arguments:
        formulas: Pairs of a number of variables and how many formulas have it.
        ratio: Clauses for each variable, of those and of the network's formulas.
        ratios: Clauses for each variable at which 100 variables are tried.
        ratio_formulas: How many formulas at each.
        timed: Numbers of variables at which an evaluation is timed.
        repetitions: How often.
        network_variables: Numbers of variables at which a network is trained.
        network_formulas: How many formulas it is tried on.
        network_iterations: Updates of its training.
        network_width: Width of its three layers.
    """

    formulas: tuple[tuple[int, int], ...] = ((20, 100), (50, 100), (100, 100), (200, 50))
    ratio: float = 3.5
    ratios: tuple[float, ...] = (3.0, 3.25, 3.5, 3.75, 4.0, 4.1, 4.2)
    ratio_formulas: int = 30
    timed: tuple[int, ...] = (20, 50, 100, 200, 500, 1000, 2000)
    repetitions: int = 20
    network_variables: tuple[int, ...] = (5, 10, 15, 20, 30)
    network_formulas: int = 200
    network_iterations: int = 2000
    network_width: int = 512

    def scaled(self, share: float) -> "Settings":
        """Return the settings with a share of the formulas and of the network's training."""
        part = lambda value: max(round(share * value), 1)  # noqa: E731
        return dataclasses.replace(
            self,
            formulas=tuple((variables, part(value)) for variables, value in self.formulas),
            ratio_formulas=part(self.ratio_formulas),
            repetitions=part(self.repetitions),
            network_formulas=part(self.network_formulas),
            network_iterations=part(self.network_iterations),
        )


SETTINGS = Settings()


_KINDS = (SearchCell, EvaluationCell, FeedforwardCell)


def run(study: Study, settings: Settings = SETTINGS) -> list[SatCell]:
    """Return formulas solved by size and ratio, costs of an evaluation, and a network's share."""
    _sat_solver()  # refuse before anything is measured
    of = settings.scaled(study.scale.formulas)
    searches = {f"sizes-{n}": ("sizes", n, of.ratio, k) for n, k in of.formulas}
    searches |= {f"ratios-{r}": ("ratios", 100, r, of.ratio_formulas) for r in of.ratios}
    work: dict[str, Callable[[], SatCell]] = {
        **{name: lambda a=a: measure_search(study, *a) for name, a in searches.items()},
        **{f"evaluations-{n}": lambda n=n: _measure_evaluation(study, n, of) for n in of.timed},
        **{
            f"feedforward-{n}": lambda n=n: measure_feedforward(study, n, of)
            for n in of.network_variables
        },
    }
    return [
        cell
        for name, measure in work.items()
        for cell in study.cells("sat", name, _KINDS, lambda m=measure: [m()])
    ]


def _sat_solver() -> Any:
    try:
        from pysat.solvers import Cadical153  # noqa: PLC0415  (needed by this experiment alone)
    except ImportError as error:
        raise InputError(
            "The experiment sat needs a SAT solver, which says whether a formula can be satisfied; "
            "install one with `pip install python-sat`."
        ) from error
    return Cadical153


def is_satisfiable(formula: Formula, assumptions: Sequence[int] | np.ndarray = ()) -> bool:
    """Return whether a formula has a satisfying assignment that agrees with some literals."""
    with _sat_solver()(bootstrap_with=formula.literals.tolist()) as solver:
        return solver.solve(assumptions=[int(literal) for literal in assumptions])


def satisfiable_formulas(variables: int, ratio: float, count: int) -> list[Formula]:
    """Return the first random formulas that can be satisfied."""
    found, seed = [], 0
    while len(found) < count:
        key = jax.random.fold_in(jax.random.key(variables), seed)
        formula = random_formula(key, variables, round(ratio * variables))
        seed += 1
        if is_satisfiable(formula):
            found.append(formula)
    return found


def measure_search(study: Study, part: str, variables: int, ratio: float, count: int) -> SearchCell:
    """Return how many satisfiable formulas are satisfied within the default budget."""
    start = time.perf_counter()
    answers = []
    for index, formula in enumerate(satisfiable_formulas(variables, ratio, count)):
        found = satisfy(formula, key=jax.random.key(index))
        if found.assignment is not None:
            assert is_satisfiable(formula, as_literals(found.assignment))
        answers.append(found)
    solved = [a for a in answers if a.assignment is not None]
    return SearchCell(
        **_about(study, "irem", part, variables),
        ratio=ratio,
        formulas=count,
        solved=len(solved),
        in_first_round=sum(a.rounds == 1 for a in solved),
        descents_mean=float(np.mean([a.descents for a in answers])),
        seconds=time.perf_counter() - start,
    )


def _measure_evaluation(study: Study, variables: int, settings: Settings) -> EvaluationCell:
    """Microseconds of one evaluation of the energy and its gradient, four clauses a variable."""
    formula = random_formula(jax.random.key(0), variables, round(4.0 * variables))
    landscape = jax.value_and_grad(SAT(variables).landscape(formula.literals))
    both = jax.jit(jax.vmap(landscape))
    y = jax.random.uniform(jax.random.key(1), (_TIMED_BATCH, variables), minval=-1.0)
    jax.block_until_ready(both(y))
    times = []
    for _ in range(settings.repetitions):
        start = time.perf_counter()
        jax.block_until_ready(both(y))
        times.append(1e6 * (time.perf_counter() - start) / _TIMED_BATCH)
    return EvaluationCell(
        **_about(study, "irem", "evaluations", variables),
        clauses=len(formula.literals),
        microseconds=tuple(times),
    )


def measure_feedforward(study: Study, variables: int, settings: Settings) -> FeedforwardCell:
    """Return how many satisfiable formulas a trained network satisfies in one pass."""
    network = _trained_network(variables, settings)
    formulas = satisfiable_formulas(variables, settings.ratio, settings.network_formulas)
    inputs = jnp.stack([_incidence(jnp.asarray(f.literals), variables).ravel() for f in formulas])
    answers: Bool[np.ndarray, "formulas variables"] = np.asarray(jax.vmap(network)(inputs)) > 0
    right = [f.satisfied_by(a).all() for f, a in zip(formulas, answers, strict=True)]
    return FeedforwardCell(
        **_about(study, "feedforward", "feedforward", variables),
        ratio=settings.ratio,
        formulas=settings.network_formulas,
        iterations=settings.network_iterations,
        solved=int(np.sum(right)),
    )


def _trained_network(variables: int, settings: Settings) -> eqx.nn.MLP:
    """A network that was trained to lower the energy of its own answer.

    It is checked by the same energy as the descent, and has fresh formulas at every iteration.
    """
    clauses = round(settings.ratio * variables)
    sizes = (clauses * variables, variables, settings.network_width, 3)
    network = eqx.nn.MLP(*sizes, key=jax.random.key(0))
    energy, optimiser = SAT(variables), optax.adam(1e-3)

    def draw(key: PRNGKeyArray) -> Int[Array, "clauses 3"]:
        key_places, key_signs = jax.random.split(key)
        places = jax.random.uniform(key_places, (clauses, variables))
        chosen = jax.lax.top_k(places, 3)[1]
        return (chosen + 1) * jax.random.rademacher(key_signs, chosen.shape, jnp.int32)

    def loss(network: eqx.nn.MLP, literals: Int[Array, "batch clauses 3"]) -> Float[Array, ""]:
        answers = jax.vmap(lambda x: network(_incidence(x, variables).ravel()))(literals)
        return jax.vmap(energy)(literals, answers).mean()

    @eqx.filter_jit
    def step(network: eqx.nn.MLP, state: Any, key: PRNGKeyArray) -> tuple[eqx.nn.MLP, Any]:
        literals = jax.vmap(draw)(jax.random.split(key, _TRAINING_BATCH))
        gradient = eqx.filter_grad(loss)(network, literals)
        updates, state = optimiser.update(gradient, state)
        return eqx.apply_updates(network, updates), state

    state = optimiser.init(eqx.filter(network, eqx.is_array))
    for key in jax.random.split(jax.random.key(1), settings.network_iterations):
        network, state = step(network, state, key)
    return network


def _incidence(
    literals: Int[Array, "clauses 3"], variables: int
) -> Float[Array, "clauses variables"]:
    """The sign of a variable where a clause has it, else 0."""
    rows = jnp.arange(literals.shape[0])[:, None]
    empty = jnp.zeros((literals.shape[0], variables))
    return empty.at[rows, jnp.abs(literals) - 1].set(jnp.sign(literals).astype(empty.dtype))


def _about(study: Study, method: str, part: str, variables: int) -> dict[str, Any]:
    about = {"task": "3-sat", "method": method, "paper": None}
    return {**about, "part": part, "variables": variables, **study.origin()}


Kind = TypeVar("Kind", bound=SatCell)


def cells_of(cells: Sequence[Cell], kind: type[Kind], part: str) -> list[Kind]:
    """Return the cells of one part of the experiment."""
    return [cell for cell in cells if isinstance(cell, kind) and cell.part == part]


def solved_share(cell: SearchCell | FeedforwardCell) -> float:
    """Return the share of satisfiable formulas that were satisfied, in %."""
    return 100 * cell.solved / max(cell.formulas, 1)


_PARTS = {
    "sizes": "descent, by size",
    "ratios": "descent, by clause ratio",
    "evaluations": "one evaluation",
    "feedforward": "feedforward network",
}


def table(cells: Sequence[SatCell], file: str) -> Table:
    """Parts of the experiment down; what each has across."""
    rows = []
    for index, cell in enumerate(cells):
        columns = [f"{cell.variables:,}", *_columns(cell)]
        place = f"{file}: cells[{index}]"
        rows.append(
            (Entry(_PARTS.get(cell.part, cell.part)), *(Entry(text, place) for text in columns))
        )
    header = ("measured", "variables", "clauses a variable", "formulas", "solved")
    header += ("in the first round", "descents", "microseconds")
    return Table(header, tuple(rows), labels=1)


def _columns(cell: SatCell) -> list[str]:
    if isinstance(cell, EvaluationCell):
        ratio = cell.clauses / max(cell.variables, 1)
        return [f"{ratio:g}", "", "", "", "", number(cell.median)]
    assert isinstance(cell, SearchCell | FeedforwardCell)
    shown = [f"{cell.ratio:g}", str(cell.formulas), f"{solved_share(cell):.0f} %"]
    if isinstance(cell, SearchCell):
        return [*shown, str(cell.in_first_round), f"{cell.descents_mean:.0f}", ""]
    return [*shown, "", "", ""]


def draw_curves(result: Result) -> "matplotlib.figure.Figure":
    """Draw the cost of an evaluation, descents by clause ratio, and a network's share."""
    from irem.paper import drawing  # noqa: PLC0415  (only drawing loads matplotlib)

    figure, ((cost, ratios, network),) = drawing.grid(1, 3, 3.8, 3.0)
    colour = drawing.COLOURS["irem"]
    timed = cells_of(result.cells, EvaluationCell, "evaluations")
    variables = [cell.variables for cell in timed]
    times = np.asarray([cell.median for cell in timed], np.float64)
    cost.loglog(variables, times, "o-", color=colour)
    if variables and variables[-1]:
        linear = times[-1] / variables[-1] * np.asarray(variables)
        cost.loglog(variables, linear, ":", color="#6b7280", label="in proportion")
    cost.set_xlabel("variables, clause ratio 4")
    cost.set_ylabel("microseconds an evaluation")
    cost.legend(frameon=False, fontsize=8)
    by_ratio = cells_of(result.cells, SearchCell, "ratios")
    descents = [cell.descents_mean for cell in by_ratio]
    ratios.plot([cell.ratio for cell in by_ratio], descents, "o-", color=colour)
    ratios.set_ylim(0)
    ratios.set_xlabel("clauses a variable (100 variables)")
    ratios.set_ylabel("descents until satisfied, mean")
    by_size = cells_of(result.cells, SearchCell, "sizes")
    of_network = cells_of(result.cells, FeedforwardCell, "feedforward")
    for found, label in ((by_size, "descent"), (of_network, "network")):
        shares, sizes = [solved_share(cell) for cell in found], [cell.variables for cell in found]
        line = drawing.colour(found[0].method) if found else None
        network.semilogx(sizes, shares, "o-", color=line, label=label)
    network.set_ylim(-4, 104)
    network.set_xlabel("variables, clause ratio 3.5")
    network.set_ylabel("satisfiable formulas solved, %")
    network.legend(frameon=False, fontsize=8, loc="center right")
    return figure


def _describe(result: Result) -> str:
    return (
        f"{result.file}: random satisfiable formulas of three literals, default settings of "
        f"`irem.satisfy`; {result.origin}"
    )


EXPERIMENT = Experiment(
    name="sat",
    title="Section 3.3: 3-SAT by descent",
    explanation=(
        "Random formulas of three literals which a SAT solver says can be satisfied. Descents on "
        "an energy that is zero where every clause is satisfied look for an assignment: 32 at the "
        "same time in every round, and weights of unsatisfied clauses grow from round to round. "
        "The cost is that of one energy and its gradient in a batch of 256. The feedforward "
        "network has three layers of 512 and is trained to lower the same energy of its answer in "
        "one pass; its size depends on that of the formulas."
    ),
    run=run,
    kinds=_KINDS,
    table=table,
    drawings={
        "sat": Drawing(
            "3-SAT: the cost of an evaluation against the number of variables, the mean number of "
            "descents against the clause ratio, and the share of satisfiable formulas that "
            "descents and a feedforward network satisfy.",
            draw_curves,
            wide=True,
        )
    },
    describe=_describe,
)
