"""Layers shared by energies and baselines."""

from irem.nn.bodies import AbstractCell as AbstractCell
from irem.nn.bodies import AbstractNetwork as AbstractNetwork
from irem.nn.dense import Dense as Dense
from irem.nn.dense import DenseCell as DenseCell
from irem.nn.graph import AGGREGATES as AGGREGATES
from irem.nn.graph import GraphCell as GraphCell
from irem.nn.graph import GraphNet as GraphNet
from irem.nn.grid import GridNet as GridNet
from irem.nn.grid_cell import GridCell as GridCell
from irem.nn.groups import GroupNet as GroupNet
from irem.nn.image import DnCNN as DnCNN
from irem.nn.image import UNetDenoiser as UNetDenoiser
from irem.nn.unet import Convolution as Convolution
from irem.nn.unet import NoiseNet as NoiseNet
from irem.settings import Registry as _Registry

NETWORKS: _Registry[type[AbstractNetwork]] = _Registry(
    "network", {"dense": Dense, "graph": GraphNet, "unet": UNetDenoiser, "dncnn": DnCNN}
)
"""Networks of the baselines by name. The first one that fits a task is its default."""

CELLS: _Registry[type[AbstractCell]] = _Registry(
    "cell", {"dense": DenseCell, "graph": GraphCell, "grid": GridCell}
)
"""Cells of the recurrent baseline by name. The first one that fits a task is its default."""
