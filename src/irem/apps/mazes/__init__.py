"""Mazes in texts and pictures, and answers drawn into them."""

from irem.apps.mazes.pictures import MazePicture as MazePicture
from irem.apps.mazes.texts import MazeText as MazeText
