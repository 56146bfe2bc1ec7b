"""Mazes: their symbols, shortest paths, and the waves by which these are found."""

from irem.mazes.grids import END as END
from irem.mazes.grids import FLOOR as FLOOR
from irem.mazes.grids import NO_WAY as NO_WAY
from irem.mazes.grids import OUTSIDE as OUTSIDE
from irem.mazes.grids import START as START
from irem.mazes.grids import WALL as WALL
from irem.mazes.grids import carve as carve
from irem.mazes.grids import dead_end_filling as dead_end_filling
from irem.mazes.grids import distances as distances
from irem.mazes.grids import is_shortest_path as is_shortest_path
from irem.mazes.grids import nearest_shortest_path as nearest_shortest_path
from irem.mazes.grids import open_walls as open_walls
from irem.mazes.grids import path_errors as path_errors
from irem.mazes.grids import preferred_path as preferred_path
from irem.mazes.grids import scatter_walls as scatter_walls
from irem.mazes.grids import shortest_path as shortest_path
from irem.mazes.grids import with_ends as with_ends
from irem.mazes.grids import with_joined_ends as with_joined_ends
from irem.mazes.waves import Waves as Waves
from irem.mazes.waves import first_state as first_state
from irem.mazes.waves import tie_codes as tie_codes
