"""Write the tables of README.md and docs/results.md from results/paper-settings.json.

    python benchmarks/results_table.py

What stands between the two `results` comments of a page is replaced.
"""

import json
import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
HEADER = """| task | difficulty | irem | IREM in the paper | trivial | best possible | steps |
| --- | --- | --- | --- | --- | --- | --- |
"""


def number(value):
    """Three digits that count, without an exponent."""
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")


def line(row, name):
    """One row of a table: mean and standard deviation over seeds, paper, floors."""
    spread = np.std(row["mse_by_model"], ddof=1)
    cells = (
        name,
        row["difficulty"],
        f"{number(row['mse'])} ± {np.format_float_positional(spread, 1, fractional=False)}",
        f"{row['paper_mse']:.4f}",
        number(row["trivial_mse"]),
        number(row["oracle_mse"]),
        f"{row['steps_mean']:.0f}",
    )
    return "| " + " | ".join(cells) + " |\n"


def tables(results):
    """The short table of the default energies, and the long one with every row."""
    defaults = [r for r in results["rows"] if r["method"]["energy"].get("aggregate") != "sum"]
    short = HEADER + "".join(line(row, row["task"]) for row in defaults)

    def label(row):
        aggregate = row["method"]["energy"].get("aggregate")
        return row["task"] + (f" ({aggregate})" if aggregate else "")

    long = HEADER + "".join(line(row, label(row)) for row in results["rows"])
    return short, long


def pace(results):
    """Milliseconds of an iteration of addition, in words."""
    alone, together = (np.median(p["ms_per_iteration_per_model"]) for p in results["pace"])
    return (
        f"Training pace on one {results['device']}, addition, 128 fresh and 128 replayed problems, "
        f"data, replay and optimiser included: {alone:.2f} ms an iteration; "
        f"{results['pace'][1]['seeds']} seeds together, {together:.2f} ms for each.\n"
    )


def filled(page, content):
    """`page` with `content` between its two comments."""
    pattern = r"(<!-- results -->\n).*?(<!-- end of results -->)"
    text, count = re.subn(pattern, lambda m: m[1] + content + m[2], page, flags=re.DOTALL)
    assert count == 1
    return text


def pages():
    """Both pages as they should read, by path."""
    results = json.loads((ROOT / "results/paper-settings.json").read_text())
    short, long = tables(results)
    contents = {
        "README.md": short + "\n" + pace(results),
        "docs/results.md": long + "\n" + pace(results),
    }
    return {ROOT / name: filled((ROOT / name).read_text(), text) for name, text in contents.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
