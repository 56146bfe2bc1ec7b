"""What the landscape is."""

from irem.energy.base import AbstractEnergy as AbstractEnergy
from irem.energy.base import AbstractJointEnergy as AbstractJointEnergy
from irem.energy.conv import Conv as Conv
from irem.energy.entrywise import Entrywise as Entrywise
from irem.energy.equations import Equations as Equations
from irem.energy.function import from_function as from_function
from irem.energy.gine import GINE as GINE
from irem.energy.grid import Grid as Grid
from irem.energy.groups import Groups as Groups
from irem.energy.lowrank import LowRank as LowRank
from irem.energy.minplus import MinPlus as MinPlus
from irem.energy.mlp import MLP as MLP
from irem.energy.pair import Pair as Pair
from irem.energy.pair import Paths as Paths
from irem.energy.polynomial import Polynomial as Polynomial
from irem.energy.proposals import Proposals as Proposals
from irem.energy.refiner import Refiner as Refiner
from irem.energy.sat import SAT as SAT
from irem.energy.sat import Clauses as Clauses
from irem.energy.sat import Formulas as Formulas
from irem.energy.scratchpad import Scratchpad as Scratchpad
from irem.energy.table import Table as Table
from irem.settings import Registry as _Registry

ENERGIES: _Registry[type[AbstractEnergy]] = _Registry(
    "energy",
    {
        "mlp": MLP,
        "gine": GINE,
        "conv": Conv,
        "pair": Pair,
        "groups": Groups,
        "grid": Grid,
        "table": Table,
        "polynomial": Polynomial,
        "min-plus": MinPlus,
        "low-rank": LowRank,
        "entrywise": Entrywise,
        "equations": Equations,
        "refiner": Refiner,
        "proposals": Proposals,
    },
)
"""Every energy that can be named in a recipe. The first one that fits a task is its default."""
