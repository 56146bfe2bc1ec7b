"""Local search on puzzles, which energies are compared with."""

from irem.apps.puzzles.lines import PuzzleLine as PuzzleLine
from irem.apps.puzzles.lines import PuzzleText as PuzzleText
from irem.apps.puzzles.lines import read_lines as read_lines
from irem.apps.puzzles.local_search import Found as Found
from irem.apps.puzzles.local_search import min_conflicts as min_conflicts
from irem.apps.puzzles.local_search import tabucol as tabucol
from irem.apps.puzzles.local_search import walksat as walksat
