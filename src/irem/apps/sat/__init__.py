"""Boolean formulas satisfied by descent."""

from irem.apps.sat.formula import Formula as Formula
from irem.apps.sat.formula import as_literals as as_literals
from irem.apps.sat.formula import parse_dimacs as parse_dimacs
from irem.apps.sat.formula import random_formula as random_formula
from irem.apps.sat.formula import read_dimacs as read_dimacs
from irem.apps.sat.search import Satisfaction as Satisfaction
from irem.apps.sat.search import satisfy as satisfy
