"""What `irem benchmark` measures: costs of irem over costs of named peers, in one run."""

from irem.performance.base import MEASUREMENTS as MEASUREMENTS
from irem.performance.base import Amount as Amount
from irem.performance.base import Measurement as Measurement
from irem.performance.base import Ratio as Ratio
from irem.performance.base import Skipped as Skipped
from irem.performance.base import measure as measure
from irem.performance.report import as_text as as_text
from irem.performance.report import report as report
