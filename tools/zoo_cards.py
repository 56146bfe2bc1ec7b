"""Write the cards of the zoo (all but that of pictures) from results/ and the domains of tasks.

    python tools/zoo_cards.py

Run it after `tools/ship.py` has put other models into the package, and `tools/zoo_errors.py` and
`tools/outside.py` have measured them.
"""

import json
from pathlib import Path

import equinox as eqx
import jax

import irem
from irem.evaluation.tables import number, with_error

ROOT = Path(__file__).parent.parent
ZOO = ROOT / "src/irem/zoo"

# What a model is for, what it is given, and what it cannot do.
WORDS = {
    "edge-copy": (
        "An IREM model that copies the numbers on the edges of a graph of any size.",
        "The easiest of the paper's tasks; it is here for completeness.",
        "Nothing else.",
    ),
    "connected-components": (
        "An IREM model that tells which pairs of nodes of a graph are connected.",
        "`x` is an n x n matrix with 1 where two nodes are joined (either way) and 0 elsewhere; "
        "round the answer (`Solution.rounded`).",
        "Graphs unlike random ones, with certainty: it was trained on sparse random graphs of 2 to "
        "10 nodes, whose paths are short. Its errors are those of a few graphs: most have next to "
        "none. `Solution.decided` tells whether every entry was near 0 or 1.",
    ),
    "shortest-path": (
        "An IREM model that finds the lengths of the shortest paths between all nodes of a graph.",
        "`x` is a symmetric n x n matrix of positive lengths with zeros on the diagonal, of any "
        "scale; every pair has an edge (a missing one is a long one).",
        "Directed graphs, negative lengths, and graphs whose missing edges are marked with "
        "infinity or zero. The path itself is not told.",
    ),
    "addition": (
        "An IREM model that adds two vectors of any length and scale.",
        "`x` is of shape (2, n).",
        "Anything but sums.",
    ),
    "matrix-completion": (
        "An IREM model that fills in the missing entries of a noisy matrix of low rank.",
        "`x` is a matrix of any shape and scale with zeros where an entry is not given.",
        "Matrices of much lower rank than 10, for which far better answers exist, entries that are "
        "missing for a reason, and true zeros.",
    ),
    "matrix-inverse": (
        "An IREM model that inverts symmetric positive definite matrices.",
        "`x` is a matrix of any size and scale; the worse its condition, the more steps.",
        "Matrices that are not symmetric or not positive definite. Training saw random matrices "
        "2 R R^T + I/2 of 20 x 20, whose largest eigenvalue is about a hundred times the smallest; "
        "with eigenvalues far smaller still, the answer is too small in those directions.",
    ),
}


PROTOCOL = (
    "The model of the tables of the paper's protocol, trained on its problems alone; for problems "
    "of your own use `zoo:{}`."
)


def measured_rows(task):
    """Errors of the model of the protocol on many problems, by difficulty."""
    return json.loads((ROOT / "results/zoo.json").read_text())[task]


def wrong_answers(row):
    """How many answers of 0 and 1 had a wrong entry; nothing for other answers."""
    return f"{row['wrong_problems']:,}" if "wrong_problems" in row else ""


def error_table(task, cells):
    """Errors on fresh problems beside the paper's and the floors."""
    found = measured_rows(task)
    rows = [
        [
            cell["difficulty"],
            f"{row['problems']:,}",
            with_error(row["mse"], row["mse_sem"]),
            "" if cell["paper"] is None else cell["paper"],
            number(row["trivial"]),
            number(cell["best"]),
            *([wrong_answers(row)] if "wrong_problems" in row else []),
        ]
        for cell in cells
        for row in [found[cell["difficulty"]]]
    ]
    head = ["problems", "number", "error", "IREM in the paper", "trivial", "best possible"]
    return markdown([*head, "answers with a wrong entry"][: len(rows[0])], rows)


def card(task, cells):
    """The whole text."""
    what, given, cannot = WORDS[task]
    first = cells[0]
    run = json.loads((ZOO / f"{task}-protocol" / "run.json").read_text())
    energy = {k: v for k, v in run["energy"].items() if k not in ("name", "paths")}
    kind = {"pair": "Pair", "table": "Table"}[run["energy"]["name"]]
    settings = {**energy, **run["energy"].get("paths", {})}
    sizes = ", ".join(f"{name} {value}" for name, value in settings.items())
    optimiser = run["optimiser"]
    batch = run["batch_size"]
    graphs = " (graphs of 2 to 10 nodes)" if "30 nodes" in [c["difficulty"] for c in cells] else ""
    about = {
        "energy": f"`{kind}`: {sizes}; {first['parameters']:,} parameters",
        "trained on": f"problems of difficulty `same`{graphs} alone",
        "training": (
            f"{run['iterations']:,} iterations of {batch} fresh and {batch} replayed problems, "
            f"{run['method']['num_steps']} steps of size {run['method']['step_size']:g}, last step "
            f"differentiated; Adam at {optimiser['learning_rate']} with cosine decay, gradients "
            f"clipped at {optimiser['clip_norm']}, replayed entries at {run['replay']['clip']:g}; "
            f"{'CPU' if first['device'] == 'cpu' else first['device']}"
        ),
        "chosen": f"best of {first['seeds']} seeds on validation problems like those of training",
        "inference": "backtracking descent from a random guess until the energy stops falling",
    }
    lines = [
        f"# zoo:{task}-protocol",
        "",
        what,
        "",
        PROTOCOL.format(task),
        "",
        given,
        "",
        "| | |",
        "| --- | --- |",
    ]
    lines += [f"| {name} | {value} |" for name, value in about.items()]
    lines += [
        "",
        "Elementwise mean squared error on fresh problems ± its standard error "
        "(`python tools/zoo_errors.py`):",
        "",
        *error_table(task, cells),
    ]
    return "\n".join([*lines, "", f"What it cannot do: {cannot[0].lower()}{cannot[1:]}", ""])


# What the models for users are for, what they are given, and what they cannot do.
ROBUST_WORDS = {
    "edge-copy": (
        "An IREM model that copies the numbers on the edges of a graph of any size and scale.",
        "`x` is an n x n matrix. The easiest of the tasks; it is here for completeness.",
        "Nothing else.",
    ),
    "connected-components": (
        "An IREM model that tells which pairs of nodes of a graph of any kind are connected.",
        "`x` is an n x n matrix with 1 where two nodes are joined (either way) and 0 elsewhere.",
        "Directed reachability: an edge counts in both directions.",
    ),
    "shortest-path": (
        "An IREM model that finds the lengths of the shortest paths between all nodes of a graph, "
        "directed or not.",
        "`x` is an n x n matrix of lengths of any scale; NaN, infinity or an empty cell means that "
        "there is no edge, as does 0 where none of them occurs. The answer is infinite where no "
        "path leads.",
        "Negative lengths, and graphs whose longest edge is over a million times the shortest: "
        "most of their answers fail the check. The path itself is not told.",
    ),
    "addition": (
        "An IREM model that adds two vectors of any length, every entry of any scale.",
        "`x` is of shape (2, n).",
        "Anything but sums.",
    ),
    "matrix-completion": (
        "An IREM model that fills in the missing entries of a table of low rank, noisy or not.",
        "`x` is a table of any shape and scale; NaN, infinity or an empty cell is missing. Where "
        "there is none of them, zeros count as missing, as in the paper. The given entries are "
        "kept.",
        "Entries that are missing for a reason. The answers cannot be checked: nothing in a table "
        "says what is missing. A row or column without any given entry is answered by the means "
        "of the others.",
    ),
    "matrix-inverse": (
        "An IREM model that inverts symmetric positive definite matrices of any size and scale.",
        "`x` is an n x n matrix; the worse its condition, the more steps.",
        "Matrices whose condition is far above 1,000: most answers fail their check then.",
    ),
}

# Where the measurements of a model stand in results/outside.json.
OUTSIDE = {
    "shortest-path": ("graphs",),
    "connected-components": ("components",),
    "matrix-inverse": ("matrices",),
    "matrix-completion": ("tables",),
    "addition": ("sums", "addition"),
    "edge-copy": ("sums", "edge-copy"),
}


def training_of(run):
    """How a model was trained, in words."""
    batch, optimiser, average = run["batch_size"], run["optimiser"], run["average"]["name"]
    replayed = "" if run["replay"]["name"] == "none" else f" and {batch} replayed"
    through = (
        "all steps"
        if run["gradient"]["name"] == "full-unroll"
        else (
            "the last one"
            if run["gradient"].get("k", 1) == 1
            else f"the last {run['gradient']['k']}"
        )
    )
    averaged = "" if average == "none" else "; averaged weights"
    return (
        f"{run['iterations']:,} iterations of {batch} fresh{replayed} problems, "
        f"{run['method']['num_steps']} steps of size {run['method']['step_size']:g}, gradients "
        f"through {through}; Adam at {optimiser['learning_rate']:g}{averaged}"
    )


def robust_card(task, results):
    """The card of a model for users."""
    what, given, cannot = ROBUST_WORDS[task]
    run = irem.load(ZOO / task)
    settings = run.settings
    kind = type(run.model.energy).__name__
    sizes = ", ".join(f"{k} {v}" for k, v in settings["energy"].items() if k != "name")
    leaves = jax.tree.leaves(eqx.filter(run.model, eqx.is_inexact_array))
    parameters = sum(leaf.size for leaf in leaves)
    about = {
        "energy": f"`{kind}`: {sizes}; {parameters:,} parameters",
        "trained on": "problems of the variant `wide` (the recipe `robust`)",
        "training": NOT_BY_ALGORITHM1.get(task) or training_of(settings),
        "inference": (
            f"{run.model.default_step} from a random guess, at most "
            f"{run.model.default_max_steps:,} steps; up to three more tries where the check fails"
        ),
    }
    rules = [rule.says for rule in run.task.domain.rules]
    lines = [f"# zoo:{task}", "", what, "", given, ""]
    lines += ["It answers problems for which:", "", *(f"- {rule}" for rule in rules), ""] * bool(
        rules
    )
    lines += [
        "| | |",
        "| --- | --- |",
        *(f"| {name} | {text} |" for name, text in about.items()),
        "",
    ]
    found = results
    for name in OUTSIDE[task]:
        found = found[name]
    lines += ["Problems unlike those of training (`python tools/outside.py`):", ""]
    lines += measured(found)
    return "\n".join([*lines, "", f"What it cannot do: {cannot[0].lower()}{cannot[1:]}", ""])


# Models whose weights were found otherwise.
NOT_BY_ALGORITHM1 = {
    "matrix-completion": (
        "weights fitted by the errors of whole descents on 512 tables of four sizes, 60 rounds of "
        "a random search (`tools/fit_lowrank.py`), not by Algorithm 1"
    ),
    "connected-components": (
        "the weights of `zoo:shortest-path`, read in another way "
        "(`tools/components_from_paths.py`); nothing is trained"
    ),
}


def measured(found):
    """The table of one part of results/outside.json."""
    if "within_1.2" in found:
        head = ["tables", "number", "error", "the better of soft-impute and least squares"]
        rows = [
            [name, f["problems"], *(with_error(f[n], f[f"{n}_sem"]) for n in ERRORS)]
            for name, f in found["families"].items()
        ]
        kept = "kept" if found["given_entries_kept"] else "CHANGED"
        after = (
            "Errors relative to the deviation of the missing entries, means ± their standard "
            f"errors; given entries are {kept}."
        )
        return [*markdown(head, rows), "", after]
    head = ["problems", "number", "verified and right", "right but marked", "wrong but verified"]
    rows = [
        [name, *(part[key] for key in COUNTS)]
        for name, part in {**found["families"], "all": found}.items()
    ]
    return markdown(head, rows)


ERRORS = ("mean_error", "mean_error_of_the_better")
COUNTS = ("problems", "verified_and_right", "right_but_marked", "wrong_but_verified")


def markdown(head, rows):
    """The lines of a table."""
    line = lambda cells: f"| {' | '.join(map(str, cells))} |"  # noqa: E731
    return [line(head), line(["---"] * len(head)), *map(line, rows)]


def pages():
    """All cards as they should read, by path."""
    cells = json.loads((ROOT / "results/structure.json").read_text())["cells"]
    of = lambda task: [c for c in cells if c["task"] == task]  # noqa: E731
    results = json.loads((ROOT / "results/outside.json").read_text())
    protocol = {ZOO / f"{task}-protocol" / "README.md": card(task, of(task)) for task in WORDS}
    return protocol | {ZOO / t / "README.md": robust_card(t, results) for t in ROBUST_WORDS}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
