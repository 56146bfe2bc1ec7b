"""Draw a moving picture for every model that comes with irem, and the page that shows them.

    python tools/gallery.py                     (all of them: a few minutes)
    python tools/gallery.py --only sudoku maze

Every picture is made by the command that stands below it on the page, `docs/gallery.md`.
"""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
IMAGES = Path("docs/images/gallery")
PAGE = ROOT / "docs/gallery.md"


class Shown(NamedTuple):
    """A model, the problem that is shown, and words about it."""

    model: str
    title: str
    difficulty: str
    seed: int
    words: str

    @property
    def picture(self):
        """Where the picture goes, from the root of the repository."""
        return IMAGES / f"{self.model}.webp"

    @property
    def command(self):
        """The command that draws it."""
        return [
            *("irem", "figure", "walk", f"zoo:{self.model}"),
            *(
                "--difficulty",
                self.difficulty,
                "--seed",
                str(self.seed),
                "--out",
                str(self.picture),
            ),
        ]


GALLERY = (
    Shown(
        "sudoku",
        "A Sudoku",
        "harder",
        0,
        "It takes a plain solver over a hundred guesses. Givens are bold; every other symbol is as "
        "dark as the answer is certain of it.",
    ),
    Shown(
        "maze",
        "A maze",
        "31",
        5,
        "A first wave runs from the end, unseen, in numbers beside the answer; a second one comes "
        "back along the shortest path. Training has mazes of 9 x 9 cells.",
    ),
    Shown(
        "prefix-sums",
        "The parities of a line of bits",
        "64",
        0,
        "The answer travels along the line, row after row: no bit can be answered before the ones "
        "before it.",
    ),
    Shown(
        "shortest-path",
        "Shortest paths in a graph",
        "20",
        0,
        "The distances of all pairs of nodes, which settle after paths of one edge, two, four and "
        "so on.",
    ),
    Shown(
        "connected-components",
        "Connected components",
        "20",
        0,
        "Dark pairs are connected, by however many edges.",
    ),
    Shown(
        "matrix-inverse",
        "The inverse of a matrix",
        "harder",
        0,
        "Blue entries are positive, red ones negative. The equations are preconditioned by learned "
        "polynomials, so that a few steps are enough.",
    ),
    Shown(
        "matrix-completion",
        "A table with holes",
        "same",
        0,
        "Half of the entries of a table of low rank are given.",
    ),
    Shown("addition", "A sum of two vectors", "same", 0, "400 entries, in rows of twenty."),
    Shown("edge-copy", "A copy", "same", 0, "The simplest problem of the paper."),
    Shown(
        "denoise",
        "A noisy picture",
        "50",
        0,
        "Noise with a standard deviation of 50 of 255 levels goes; what is left is what the energy "
        "takes for a picture.",
    ),
)

HEAD = """# Gallery

One answer of every model that comes with irem, forming step by step above its energy. Each picture
runs once; the command that drew it stands below it, and `--seed` draws another problem. `irem
serve` shows the same in a browser, for problems of your own ([watch an answer form](watch.md)).
"""


def draw(shown):
    """Draw one picture by its command."""
    code = "import sys; from irem.cli import main; sys.argv = sys.argv[1:]; main()"
    subprocess.run([sys.executable, "-c", code, *shown.command], check=True, cwd=ROOT)


def section(shown):
    """What the page says of one model."""
    picture = shown.picture.relative_to("docs")
    return (
        f"## {shown.title}\n\n{shown.words}\n\n"
        f"![{shown.title}: the answer of zoo:{shown.model} after each of its steps]({picture})\n\n"
        f"```\n{shlex.join(shown.command)}\n```\n"
    )


def main():
    """Draw what was asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=[shown.model for shown in GALLERY])
    only = parser.parse_args().only
    (ROOT / IMAGES).mkdir(parents=True, exist_ok=True)
    for shown in GALLERY:
        if not only or shown.model in only:
            draw(shown)
    PAGE.write_text("\n".join([HEAD, *map(section, GALLERY)]))


if __name__ == "__main__":
    main()
