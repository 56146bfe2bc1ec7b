"""Write the tables of the README and the docs, and the figures, from the JSON in results/.

    python tools/render_results.py

What stands between two comments such as `<!-- results -->` and `<!-- end of results -->` is
replaced.
"""

import json
import re
from pathlib import Path

import numpy as np
import zoo_cards

from irem import paper
from irem.evaluation.page import png
from irem.evaluation.tables import number, with_error, with_spread
from irem.paper.sat import EvaluationCell, FeedforwardCell, SearchCell, cells_of, solved_share
from irem.paper.table1 import comparison, contradictions, irem_table

ROOT = Path(__file__).parent.parent
PUZZLES = ("puzzles", "puzzle-training", "puzzle-family")
SHOWN = (
    "composition-curve",
    "steps-by-difficulty",
    "steps-by-size",
    "energy-landscape",
    "denoising-steps",
    "sat",
    "puzzle-walk",
    "mazes",
    "maze-steps",
    "maze-walk",
)


def sums_table(results):
    """IREM with the sum of messages and the paper's fixed step."""
    rows = []
    for row in results["rows"]:
        if row["method"]["energy"].get("aggregate") != "sum":
            continue
        error = with_error(row["mse"], np.std(row["mse_by_model"], ddof=1))
        floors = [number(row["trivial_mse"]), number(row["oracle_mse"])]
        rows.append([row["task"], row["difficulty"], error, f"{row['paper_mse']:.4f}", *floors])
    return markdown(["task", "difficulty", "sum of messages", "paper", "trivial", "best"], rows)


def pace(results):
    """Milliseconds of an iteration of addition, in words."""
    alone, together = (np.median(p["ms_per_iteration_per_model"]) for p in results["pace"])
    return (
        f"Training pace on one {results['device']}, addition, 128 fresh and 128 replayed problems, "
        f"data, replay and optimiser included: {alone:.2f} ms an iteration; "
        f"{results['pace'][1]['seeds']} seeds together, {together:.2f} ms for each.\n"
    )


def cell_of(row):
    """Task, energy and difficulty of a row of results/inference.json."""
    aggregate = f" ({row['aggregate']})" if "aggregate" in row else ""
    return row["task"] + aggregate, row.get("difficulty")


def markdown(header, rows):
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def by_cell(rows):
    """Rows grouped by cell, in order."""
    cells = {}
    for row in rows:
        cells.setdefault(cell_of(row), []).append(row)
    return cells


def rules_table(results):
    """Error and steps of every step rule."""
    names = list(dict.fromkeys(row["rule"] for row in results["rules"]))
    rows = []
    for cell, group in by_cell(results["rules"]).items():
        shown = {r["rule"]: f"{number(r['mse'])} ({r['steps_mean']:.0f})" for r in group}
        rows.append([*cell, *(shown[name] for name in names)])
    return markdown(["task", "difficulty", *names], rows)


def search_table(results):
    """The default beside the best fixed step of a search."""
    fixed = by_cell(results["fixed"])
    rows = []
    for cell, group in by_cell(results["rules"]).items():
        default = next(r for r in group if r["rule"] == results["default"])
        best = min(fixed[cell], key=lambda r: r["mse"])
        trained = next(r for r in fixed[cell] if r["factor"] == 1)
        size = f"{best['factor']:g}" if best["factor"] >= 1 else f"1/{1 / best['factor']:g}"
        rows.append(
            [
                *cell,
                number(default["mse"]),
                f"{default['steps_mean']:.0f}",
                number(best["mse"]),
                f"{size}, {best['steps_mean']:.0f}, {100 * best['converged']:.0f} %",
                f"{default['mse'] / best['mse']:.3f}",
                f"{number(trained['mse'])} ({trained['steps_mean']:.0f})",
            ]
        )
    header = ["task", "difficulty", "default", "steps", "best fixed step"]
    header += ["its size, steps, converged", "ratio", "trained size (steps)"]
    return markdown(header, rows)


def sizes_table(results):
    """Errors and steps by number of nodes."""
    sizes = {}
    for row in results["sizes"]:
        sizes.setdefault((cell_of(row)[0], row["nodes"]), {})[row["rule"]] = row
    rows = []
    for (task, nodes), both in sizes.items():
        default, fixed = both[results["default"]], both["fixed"]
        shown = [number(fixed["mse"]), number(default["mse"]), f"{default['steps_mean']:.0f}"]
        rows.append([task, nodes, *shown, f"{100 * default['converged']:.0f} %"])
    header = ["task", "nodes", "fixed step", "default", "its steps", "converged"]
    return markdown(header, rows)


def trust_table(results):
    """What expected errors are worth."""
    rows = []
    for row in results["trust"]:
        errors = [number(row[name]) for name in ("mse", "expected", "abstaining")]
        best = number(row["best_risk"][-2])
        variation, rank = f"{row['variation']:.2f}", f"{row['rank_correlation']:.2f}"
        rows.append([*cell_of(row), *errors, best, variation, rank])
    header = ["task", "difficulty", "error", "expected", "without the worst tenth", "best possible"]
    return markdown([*header, "variation", "rank correlation"], rows)


def mixed_table(results):
    """Problems per second of a batch of mixed difficulty."""
    rows = []
    for row in results:
        rates = [f"{row['problems_per_second'][k]:.0f}" for k in ("turns", "batches", "one_batch")]
        gains = [f"{row[f'faster_than_{k}']:.2f}" for k in ("batches", "one_batch")]
        same = f"{100 * row['same_steps_as_batches']:.2f} %"
        graphs = f"2 to {row['largest_nodes']}"
        rows.append([row["device"], graphs, row["slots"], *rates, *gains, same])
    header = ["device", "nodes", "slots", "queue", "batches", "one batch"]
    return markdown([*header, "gain on batches", "gain on one batch", "same steps"], rows)


def sat_tables(cells):
    """Formulas solved, descents, cost of an evaluation, and a network's share."""
    share = lambda cell: f"{solved_share(cell):.0f} %"  # noqa: E731
    solved = lambda cell: [cell.formulas, share(cell), cell.in_first_round]  # noqa: E731
    sizes = [[c.variables, *solved(c)] for c in cells_of(cells, SearchCell, "sizes")]
    ratios = [
        [c.ratio, *solved(c), f"{c.descents_mean:.0f}"]
        for c in cells_of(cells, SearchCell, "ratios")
    ]
    costs = [
        [c.variables, c.clauses, number(float(np.median(c.microseconds)))]
        for c in cells_of(cells, EvaluationCell, "evaluations")
    ]
    networks = [
        [c.variables, c.formulas, share(c)] for c in cells_of(cells, FeedforwardCell, "feedforward")
    ]
    walked = ["formulas", "solved", "in the first round"]
    return {
        "sizes": markdown(["variables", *walked], sizes),
        "ratios": markdown(["clause ratio", *walked, "descents"], ratios),
        "evaluations": markdown(["variables", "clauses", "microseconds"], costs),
        "feedforward": markdown(["variables", "formulas", "satisfied by the network"], networks),
    }


def read(name):
    """One of the committed results."""
    return json.loads((ROOT / f"results/{name}.json").read_text())


def table(name, folder=ROOT / "results"):
    """The table of a committed result as Markdown."""
    return paper.result_table(paper.read_result(folder, name)).as_markdown()


def scratchpad_table():
    """With and without a scratchpad: two tasks at the paper's settings, all at the quick ones."""
    return (
        table("scratchpad")
        + "\n\nAll tasks on the quick scale (two seeds, 400 and 600 iterations):\n\n"
        + table("scratchpad", ROOT / "results/quick")
    )


def structure_summary(cells):
    """Errors of the recipes `best` beside the paper's and the trivial ones."""
    by_place = {cell.place: cell for cell in cells}
    lines = []
    for task in dict.fromkeys(cell.task for cell in cells):
        line = [task]
        for cell in (by_place[task, difficulty] for difficulty in ("same", "harder")):
            line += [f"**{shipped_error(cell)}**", with_spread(cell)]
            line += [cell.paper, number(cell.trivial)]
        lines.append(line)
    across = [f"{level}{of}" for level in ("same", "harder") for of in _OF]
    return markdown(["task", *across], lines)


_OF = (", zoo", ", 3 seeds", ", paper", ", trivial")


def shipped_error(cell):
    """The error of the model that comes along, with its standard error."""
    row = zoo_cards.measured_rows(cell.task)[cell.difficulty]
    return with_error(row["mse"], row["mse_sem"])


def zoo_table(cells):
    """Every error of the models that come along, beside those of all seeds."""
    rows = []
    for cell in cells:
        row = zoo_cards.measured_rows(cell.task)[cell.difficulty]
        seeds = ", ".join(number(error, 2) for error in cell.mse_by_seed)
        wrong = zoo_cards.wrong_answers(row)
        rows.append(
            [
                cell.task,
                cell.difficulty,
                f"{row['problems']:,}",
                shipped_error(cell),
                wrong,
                seeds,
                number(cell.trivial),
            ]
        )
    head = ["zoo", "problems", "number", "error", "with a wrong entry"]
    return markdown([*head, "all seeds", "trivial"], rows)


def layers_table(cells):
    """Connected components with three layers that encode the graph beside those with two."""
    two = {cell.difficulty: cell for cell in cells if cell.task == "connected-components"}
    rows = []
    for three in read("components-three-layers")["cells"]:
        other = two[three["difficulty"]]
        shares = [f"{100 * share:.1f} %" for share in (three["exact"], other.exact)]
        errors = [with_error(three["mean"], three["std"]), with_spread(other)]
        rows.append([three["difficulty"], three["problems"], *errors, *shares])
    head = ["problems", "number", "error, three layers", "error, two layers"]
    return markdown([*head, "all right, three", "all right, two"], rows)


OUTSIDE = {
    "graphs": ("shortest-path", "graphs from networkx, beside SciPy"),
    "components": ("connected-components", "graphs from networkx, beside SciPy"),
    "matrices": ("matrix-inverse", "ten families, beside NumPy"),
}


def outside_rows(results):
    """Counts of all problems that can be checked, by what they are."""
    parts = {words: results[name] for name, words in OUTSIDE.items()}
    parts |= {(t, "entries of eight decades, beside NumPy"): p for t, p in sums(results).items()}
    return parts


def sums(results):
    """The measurements of sums and copies, by task."""
    return {task: results["sums"][task] for task in ("addition", "edge-copy")}


def outside_summary(results):
    """How often answers to problems unlike those of training are right, wrong and marked."""
    head = ["model", "problems", "number", "verified and right", "right but marked"]
    rows = [
        [f"`zoo:{task}`", what, *(part[key] for key in zoo_cards.COUNTS)]
        for (task, what), part in outside_rows(results).items()
    ]
    tables = results["tables"]
    within, number_, kept = tables["within_1.2"], tables["problems"], tables["given_entries_kept"]
    after = (
        f"\nOf {number_} tables of six families, `zoo:matrix-completion` has on {within} at most "
        "1.2 times the error of the better of soft-impute and alternating least squares "
        f"(median ratio {tables['median_ratio']:.2f}); given entries are "
        f"{'kept' if kept else 'changed'}.\n"
    )
    return markdown([*head, "wrong but verified"], rows) + after


def outside_families(results):
    """The same by family."""
    texts = []
    for (task, what), part in outside_rows(results).items():
        if len(part["families"]) > 1:
            table_ = "\n".join(zoo_cards.measured(part))
            texts.append(f"`zoo:{task}`, {what}:\n\n{table_}\n")
    table_ = "\n".join(zoo_cards.measured(results["tables"]))
    return "\n".join([*texts, f"`zoo:matrix-completion`:\n\n{table_}\n"])


def performance_tables(results):
    """One table for every section of results/performance.json, and what was not measured."""
    rows, skipped = {}, []
    for name, found in results["measurements"].items():
        if found["skipped"] is not None:
            skipped.append(f"`{name}` was not measured, because {found['skipped']}.\n")
        for row in found["ratios"]:
            spread = f"{row['lowest']:.2g} to {row['highest']:.2g}"
            shown = [row["what"], row["peer"], f"{row['ratio']:.2g}", spread]
            rows.setdefault(found["section"], []).append(shown)
    header = ["irem", "beside", "ratio", "of rounds"]
    tables = [f"### {name.capitalize()}\n\n{markdown(header, r)}" for name, r in rows.items()]
    return "\n".join([*tables, *skipped])


def filled(page, contents):
    """`page` with contents between their two comments."""
    for name, content in contents.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        page, count = re.subn(pattern, lambda m, c=content: m[1] + c + m[2], page, flags=re.DOTALL)
        assert count == 1, name
    return page


def pages():
    """All pages as they should read, by path."""
    results = paper.read_results(ROOT / "results")
    settings, inference, outside = (read(n) for n in ("paper-settings", "inference", "outside"))
    mixed = [read(f"mixed-batch-{name}") for name in ("cpu", "h200-15", "h200-30")]
    cells, structure = results["table1"].cells, results["structure"].cells
    tables = ("table1", "ablation", "step-size", "composition", "longer", "protocol")
    contents = {
        "README.md": {
            "results": irem_table(cells, "").as_markdown() + "\n" + pace(settings),
            "structure": structure_summary(structure),
            "outside": outside_summary(outside),
        },
        "docs/trust.md": {"outside": outside_summary(outside) + "\n" + outside_families(outside)},
        "docs/results.md": {
            **{name: table(name) for name in tables},
            "comparison": comparison(cells, "").as_markdown(),
            "contradictions": contradictions(cells, "").as_markdown(),
            "sums": sums_table(settings),
            "scratchpad": scratchpad_table(),
            "pace": pace(settings),
        },
        "docs/sat.md": sat_tables(results["sat"].cells),
        "docs/structure.md": {
            "structure": table("structure"),
            "zoo": zoo_table(structure),
            "layers": layers_table(structure),
            "stability": table("stability"),
        },
        "docs/performance.md": {"performance": performance_tables(read("performance"))},
        "docs/denoising.md": {"denoising": table("denoising")},
        "docs/puzzles.md": {name: table(name) for name in PUZZLES if name in results},
        **({"docs/mazes.md": {"mazes": table("mazes")}} if "mazes" in results else {}),
        "docs/measurements/inference.md": {
            "search": search_table(inference),
            "rules": rules_table(inference),
            "sizes": sizes_table(inference),
            "trust": trust_table(inference),
            "mixed": mixed_table(mixed),
        },
    }
    made = {ROOT / name: filled((ROOT / name).read_text(), text) for name, text in contents.items()}
    return {**made, **zoo_cards.pages()}


def images():
    """The figures of the docs that are drawn from results, by path."""
    drawn = paper.reproduction_figures(paper.read_results(ROOT / "results"))
    return {ROOT / f"docs/images/{name}.png": png(drawn[name]) for name in SHOWN if name in drawn}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
    for path, image in images().items():
        path.write_bytes(image)
