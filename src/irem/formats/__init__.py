"""What problems and answers look like as arrays, and the check of what users give."""

from irem.formats.arrays import Pictures as Pictures
from irem.formats.arrays import Stacks as Stacks
from irem.formats.arrays import Tables as Tables
from irem.formats.arrays import Vectors as Vectors
from irem.formats.base import AbstractFormat as AbstractFormat
from irem.formats.base import Reading as Reading
from irem.formats.cells import Cells as Cells
from irem.formats.graphs import ChannelPairs as ChannelPairs
from irem.formats.graphs import Graphs as Graphs
from irem.formats.puzzles import Puzzles as Puzzles
