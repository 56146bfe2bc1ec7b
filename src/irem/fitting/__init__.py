"""Models for one's own data: rows in, a trained and calibrated run out."""

from irem.fitting.fit import Effort as Effort
from irem.fitting.fit import fit as fit
from irem.fitting.fit import fit_rows as fit_rows
from irem.fitting.plans import Plan as Plan
from irem.fitting.report import Report as Report
from irem.fitting.rows import read_rows as read_rows
