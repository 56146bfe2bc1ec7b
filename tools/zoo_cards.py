"""Write the cards of the zoo (all but that of pictures) from results/structure.json.

    python tools/zoo_cards.py

Run it after `tools/ship.py` has put other models into the package.
"""

import json
from pathlib import Path

import jax

from irem.evaluation.tables import number
from irem.keys import training_keys

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
        "10 nodes, whose paths are short. Of 1,000 random graphs of 15 nodes two had a wrong pair. "
        "`Solution.decided` tells whether every entry was near 0 or 1.",
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


def shipped(cell):
    """Which of the models of a cell comes along."""
    settings = json.loads((ZOO / cell["task"] / "run.json").read_text())
    keys = [jax.random.key_data(k).tolist() for k in training_keys(0, cell["seeds"])]
    return keys.index(settings["keys"][0])


def card(task, cells):
    """The whole text."""
    what, given, cannot = WORDS[task]
    first = cells[0]
    model = shipped(first)
    run = json.loads((ZOO / task / "run.json").read_text())
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
    lines = [f"# zoo:{task}", "", what, "", given, "", "| | |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in about.items()]
    lines += [
        "",
        "Elementwise mean squared error on fresh problems (`irem reproduce structure`):",
        "",
    ]
    lines += ["| problems | error | IREM in the paper | trivial | best possible |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for cell in cells:
        paper = "" if cell["paper"] is None else cell["paper"]
        lines.append(
            f"| {cell['difficulty']} ({cell['problems']}) | {number(cell['mse_by_seed'][model])} | "
            f"{paper} | {number(cell['trivial'])} | {number(cell['best'])} |"
        )
    return "\n".join([*lines, "", f"What it cannot do: {cannot[0].lower()}{cannot[1:]}", ""])


def pages():
    """All cards as they should read, by path."""
    cells = json.loads((ROOT / "results/structure.json").read_text())["cells"]
    of = lambda task: [c for c in cells if c["task"] == task]  # noqa: E731
    return {ZOO / task / "README.md": card(task, of(task)) for task in WORDS}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
