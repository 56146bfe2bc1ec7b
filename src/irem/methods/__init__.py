"""Ways to answer problems that can be trained, behind one interface."""

from irem.methods.base import AbstractBaseline as AbstractBaseline
from irem.methods.base import AbstractMethod as AbstractMethod
from irem.methods.base import AbstractNetworkBaseline as AbstractNetworkBaseline
from irem.methods.feedforward import Feedforward as Feedforward
from irem.methods.gradients import GRADIENTS as GRADIENTS
from irem.methods.gradients import AbstractGradient as AbstractGradient
from irem.methods.gradients import FullUnroll as FullUnroll
from irem.methods.gradients import LastSteps as LastSteps
from irem.methods.gradients import Minimum as Minimum
from irem.methods.irem import IREM as IREM
from irem.methods.iterative_feedforward import IterativeFeedforward as IterativeFeedforward
from irem.methods.ponder import PonderNet as PonderNet
from irem.methods.recurrent import Recurrent as Recurrent
from irem.methods.registry import METHODS as METHODS
from irem.methods.registry import build_method as build_method
from irem.methods.registry import build_methods as build_methods
from irem.methods.registry import describe_method as describe_method
from irem.methods.scaled import InsideTask as InsideTask
from irem.methods.scaled import Scale as Scale
from irem.methods.scaled import Scaled as Scaled
from irem.methods.scaled import ScaledBaseline as ScaledBaseline
from irem.methods.sizes import device_memory as device_memory
from irem.methods.sizes import model_bytes as model_bytes
from irem.methods.sizes import num_bytes as num_bytes
from irem.methods.units import RELATIVE as RELATIVE
from irem.methods.units import Units as Units
