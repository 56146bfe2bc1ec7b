"""What the landscape is."""

from collections.abc import Mapping
from types import MappingProxyType

from irem.energy._conv import Conv as Conv
from irem.energy._from_function import from_function as from_function
from irem.energy._gine import AGGREGATES as AGGREGATES
from irem.energy._gine import GINE as GINE
from irem.energy._mlp import MLP as MLP
from irem.energy._pair import Pair as Pair
from irem.energy._sat import SAT as SAT
from irem.energy._sat import Clauses as Clauses
from irem.energy._scratchpad import Scratchpad as Scratchpad
from irem.energy._table import Table as Table
from irem.energy._unet import Convolution as Convolution
from irem.energy._unet import NoiseNet as NoiseNet
from irem.energy.base import AbstractEnergy as AbstractEnergy
from irem.energy.base import AbstractJointEnergy as AbstractJointEnergy

ENERGIES: Mapping[str, type[MLP] | type[GINE] | type[Conv] | type[Pair] | type[Table]] = (
    MappingProxyType({"mlp": MLP, "gine": GINE, "conv": Conv, "pair": Pair, "table": Table})
)
"""Every energy that can be named on the command line."""
