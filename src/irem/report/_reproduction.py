"""A folder of results as one page, as Markdown, and as text for a terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from irem._errors import InputError
from irem.experiments import EXPERIMENTS, read_result
from irem.report import _page as html
from irem.report._paper_figures import paper_figures
from irem.report._paper_tables import comparison, contradictions, result_table
from irem.report._tables import Table

TITLES: Mapping[str, str] = {
    "table1": "Table 1: five methods, six tasks",
    "ablation": "Table 2: replay and truncated gradients",
    "step-size": "Table 3: the step size of training",
    "composition": "Table 4: additions applied to their own output",
    "denoising": "Appendix A: pictures with noise",
    "sums": "Table 1 with the sum of messages",
    "longer": "Addition after five times the training",
    "protocol": "What choosing on test problems changes",
    "scratchpad": "Appendix B: a scratchpad beside the answer",
    "structure": "Beyond the paper: energies that see structure",
    "stability": "What keeps training stable",
    "figures": "Figures",
}

_EXPLANATIONS: Mapping[str, str] = {
    "table1": (
        "Elementwise mean squared error on fresh problems, mean and standard deviation over seeds. "
        "Trivial is a predictor that learns nothing, best the exact answer or, for completion, the "
        "Bayes estimate of the first 200 problems. Graphs have 10 nodes (same) and 15 (harder); "
        "all methods take the mean of messages. No test problem chose a checkpoint, a step count "
        "or a step size."
    ),
    "ablation": (
        "IREM on shortest paths. Speed is relative to the whole method (larger is faster), memory "
        "is what XLA's own analysis says one compiled training iteration needs beside its "
        "arguments. Without replay an iteration has half the descents."
    ),
    "step-size": "IREM on addition, trained with steps of another size.",
    "composition": (
        "Every method adds to its own output, again and again. Operands are drawn from (-1, 1), so "
        "sums leave the range of training."
    ),
    "denoising": (
        "Peak signal to noise ratio in dB on pictures that training has not seen, the mean over "
        "pictures; larger is better. Brightness is clipped and not rounded. Training draws noise "
        "from 0 to 55 for each patch and is not told how much; 65 and 75 are beyond it. Printed "
        "rows are the paper's own, on the same pictures if those are BSD68; BM3D, WNNM and "
        "non-local means are told the strength of the noise. The U-Net is the network inside the "
        "energy, in one pass; every method sees as many patches in every update, IREM half of "
        "them replayed. The two longer rows begin with one and the same U-Net, trained three "
        "times as long in one pass, and go on for as many updates as the other rows have, at a "
        "lower rate: one in one pass, the other as the network of an energy."
    ),
    "sums": (
        "The graphs of Table 1, all methods with the sum of messages as GINE has it. Trained on 2 "
        "to 10 nodes, sums leave the range of training at 15."
    ),
    "longer": (
        "The paper says 10,000 iterations for every method. Baselines that learn more slowly gain "
        "from more of them; here everything is as in Table 1 but for five times as many."
    ),
    "protocol": (
        "IREM's error after the last iteration, which is what this project reports, and the "
        "smallest error seen on the test problems in ten looks during training, which is how "
        "the released program scores."
    ),
    "scratchpad": (
        "IREM without a scratchpad, as in Table 1, and with one that descends along with the "
        "answer: so many numbers beside every answer or, for graphs, beside every node. Its "
        "network is narrower, for at most as many parameters. The first error is where the energy "
        "stops changing or after 500 steps; the second after the number of steps that is best on "
        "validation problems like those of training. The paper describes the scratchpad and prints "
        "no error for it; its error without one is shown."
    ),
    "structure": (
        "IREM with energies on pairs and on tables, trained on the problems of same alone (graphs "
        "of 2 to 10 nodes). The error is that of default inference; trivial and best are its "
        "floors. The last columns have the error of some problems (walked, in the cells) after so "
        "many steps: training has five. Every cell names its device."
    ),
    "stability": (
        "IREM with all of clipped replay, clipped gradients and a decaying learning rate, with all "
        "but one, and with none, as in the paper. Energies of the paper train as in "
        "Table 1, those that see structure for a fifth of their iterations. Updates that are not "
        "finite are skipped everywhere; their number over all seeds is shown."
    ),
}

_CAPTIONS: Mapping[str, str] = {
    "teaser": (
        "A slice of the learned landscape of one harder addition, and the paths from two first "
        "guesses; each star is one step."
    ),
    "steps-by-size": (
        "Shortest paths: error against steps by number of nodes, IREM and the recurrent network. "
        "Both were trained with 5 steps on 2 to 10 nodes. Dotted: the trivial predictor."
    ),
    "steps-by-difficulty": (
        "Error against steps for all methods; all were trained with 5. Feedforward has one step; "
        "PonderNet is shown as if it never halted."
    ),
    "element-error": (
        "Squared error of each of the entries of one harder addition after every step of IREM."
    ),
    "energy-landscape": (
        "Energy of perturbed answers above the minimum that descents find, against their distance "
        "from the truth. Candidates below the minimum are not shown."
    ),
    "composition-curve": (
        "Error against the number of nested additions: mean and range over seeds. Crosses: the "
        "paper."
    ),
    "denoising-steps": (
        "Quality of BSD68 or other test pictures against the steps of the descent that was trained "
        "with 5; once the energy stops falling, nothing changes any more."
    ),
    "composition-example": (
        "Four vectors added by three nested descents; the first nine entries of each as 3 x 3."
    ),
}

DEVIATIONS: Sequence[str] = (
    "Problems are drawn as the released program draws them.",
    "Graphs take the mean of messages in all methods; GINE has their sum.",
    "GINE's energy has the released program's hidden layer before its last one, and swish.",
    "The recurrent network has 304 units for vectors and 96 for graphs, for about as many "
    "parameters as the others; the appendix prints 196 and 128.",
    "PonderNet and iterative feedforward have 500 units for vectors, not 512, for the same reason.",
    "PonderNet is that of Banino et al.; the state between its steps is the last answer.",
    "Iterative feedforward undoes a diffusion of five steps, is told the level of noise, gives the "
    "clean answer, weighs all levels the same and does not scale the answers.",
    "Recurrent networks are trained by the error of their last step.",
    "Baselines train on fresh problems alone; IREM has as many replayed ones beside them.",
    "Inference adapts its steps and stops by itself; the paper has a fixed step.",
)
"""Where Table 1 departs from the paper, in the order of the documentation."""

_WIDE = ("steps-by-difficulty", "energy-landscape", "composition-example")


def read_results(folder: Path) -> dict[str, dict[str, Any]]:
    """The results in a folder by name, in the order of the paper; at least one."""
    if not folder.is_dir():
        raise InputError(f"There is no folder '{folder}'; `irem reproduce` makes one.")
    found = {n: read_result(folder, n) for n in EXPERIMENTS if (folder / f"{n}.json").is_file()}
    if not found:
        raise InputError(
            f"'{folder}' holds no results; make them with `irem reproduce table1 --quick`."
        )
    return found


def reproduction_figures(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Figure]:
    """Every figure of which there are numbers, by name."""
    found = results["figures"]["figures"] if "figures" in results else None
    composed = results["composition"]["cells"] if "composition" in results else None
    denoised = results["denoising"]["cells"] if "denoising" in results else None
    return paper_figures(found, composed, denoised)


def reproduction_page(folder: Path) -> str:
    """One page with every table and figure in `folder` that needs nothing beside itself."""
    results = read_results(folder)
    parts = [html.paragraph(_scope(results) + _MOUSE)]
    for name, result in results.items():
        if name == "figures":
            continue
        parts += [html.heading(TITLES[name]), html.paragraph(_EXPLANATIONS[name])]
        parts += [result_table(result).as_html(), html.paragraph(_source(name, result))]
        if name == "table1":
            for title, words, table in _against_the_paper(result["cells"]):
                parts += [html.heading(title), html.paragraph(words), table.as_html()]
            parts += [html.heading("What differs from the paper's text"), html.bullets(DEVIATIONS)]
    drawn = reproduction_figures(results)
    if drawn:
        parts.append(html.heading(TITLES["figures"]))
        captions = {name: text for name, text in _CAPTIONS.items() if name in drawn}
        shown = [html.figure(drawn[n], text, wide=n in _WIDE) for n, text in captions.items()]
        parts.append(html.grid(shown))
        parts += [html.paragraph(_source(n, results[n])) for n in ("figures",) if n in results]
    return html.page("Learning iterative reasoning, reproduced", parts, _FOOT)


def reproduction_markdown(folder: Path) -> str:
    """Every table in `folder` as Markdown."""
    parts = ["# Learning iterative reasoning, reproduced\n"]
    results = read_results(folder)
    parts.append(_scope(results) + "\n")
    for name, result in results.items():
        if name != "figures":
            parts += [f"## {TITLES[name]}\n", _EXPLANATIONS[name] + "\n"]
            parts += [result_table(result).as_markdown(), _source(name, result) + "\n"]
        if name == "table1":
            for title, words, table in _against_the_paper(result["cells"]):
                parts += [f"### {title}\n", words + "\n", table.as_markdown()]
            parts += ["### What differs from the paper's text\n"]
            parts += ["".join(f"{i}. {text}\n" for i, text in enumerate(DEVIATIONS, start=1))]
    return "\n".join(parts)


def _against_the_paper(cells: list[dict[str, Any]]) -> list[tuple[str, str, Table]]:
    """Sections that compare Table 1 with the printed one; none for tasks of other sizes."""
    if all(cell["paper"] is None for cell in cells):
        return []
    return [
        ("Cell by cell against the paper", _VERDICTS, comparison(cells, "table1.json")),
        ("Where the order is not the paper's", _ORDER, contradictions(cells, "table1.json")),
    ]


def as_text(result: Mapping[str, Any]) -> str:
    """One result for a terminal."""
    name = result["experiment"]
    if name == "figures":
        return "Figures: " + ", ".join(result["figures"])
    return f"{TITLES[name]}\n\n{result_table(result).as_text()}\n\n{_source(name, result)}\n"


def _scope(results: Mapping[str, Mapping[str, Any]]) -> str:
    """At which scale, in words; a quick reproduction says so first."""
    scales = {result["scale"]["name"] for result in results.values()}
    intro = (
        "The tables and figures of 'Learning Iterative Reasoning through Energy Minimization' (Du, "
        "Li, Tenenbaum, Mordatch, ICML 2022), made again beside the printed numbers."
    )
    if scales == {"full"}:
        return intro
    return (
        "This is a quick reproduction: far less training than the paper's, fewer seeds, fewer test "
        "problems. Its numbers show that everything works and roughly how methods compare; for the "
        "paper's settings run with --full. " + intro
    )


def _source(name: str, result: Mapping[str, Any]) -> str:
    """Settings and origin of a result, in one paragraph."""
    scale, versions = result["scale"], result["versions"]
    vectors, graphs = scale["vectors"], scale["graphs"]
    commit = result["commit"]
    origin = f"{result['device']}, JAX {versions['jax']}, irem {versions['irem']}" + (
        f", commit {commit[:12]}." if commit else "."
    )
    if name == "denoising":
        images, pictures = scale["images"], result["cells"][0]["pictures"]
        return (
            f"{name}.json: one model each, {pictures} test pictures; {images['iterations']} "
            f"iterations of {images['batch_size']} patches, learning rate "
            f"{images['learning_rate']} ({images['decay']}), gradients clipped at "
            f"{images['clip_norm']}; {origin}"
        )
    if name == "structure":
        first = result["cells"][0]
        most = max(cell["problems"] for cell in result["cells"])
        return (
            f"{name}.json: {first['seeds']} seeds, at most {most} test problems, fewer of large "
            f"graphs; {origin}"
        )
    if name == "stability":
        seeds = result["cells"][0]["seeds"]
        return f"{name}.json: {seeds} seeds, {scale['problems']} test problems; {origin}"
    longer = name == "longer"
    iterations = result["cells"][0]["iterations"] if longer else vectors["iterations"]
    return (
        f"{name}.json: {scale['seeds']} seeds, {scale['problems']} test problems; "
        f"{iterations} iterations of {vectors['batch_size']} fresh problems (graphs "
        f"{graphs['iterations']} of {graphs['batch_size']}), learning rate "
        f"{vectors['learning_rate']} ({vectors['decay']}); {origin}"
    )


_ORDER = (
    "Every pair of methods whose order here is not the paper's, with the smallest and the largest "
    "error of a seed of both."
)
_VERDICTS = (
    "Ratio is this error over the printed one. IREM's cell is reached at a ratio of at most 1.1; a "
    "baseline's is as printed within that factor either way. The rank among the five methods, 1 "
    "for the smallest error, is given as here/paper."
)
_MOUSE = (
    " Rest the mouse on a number for its place in the result files and the number of every seed."
)
_FOOT = "Every number is in the JSON files beside this page, with each seed's value and settings."
