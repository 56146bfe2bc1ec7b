"""Ways to answer problems that can be trained, behind one interface."""

from irem.methods._answers import Answers as Answers
from irem.methods._answers import answer as answer
from irem.methods._answers import answers_by_step as answers_by_step
from irem.methods._bodies import AbstractCell as AbstractCell
from irem.methods._bodies import AbstractNetwork as AbstractNetwork
from irem.methods._feedforward import Feedforward as Feedforward
from irem.methods._gradients import AbstractGradient as AbstractGradient
from irem.methods._gradients import FullUnroll as FullUnroll
from irem.methods._gradients import LastStep as LastStep
from irem.methods._irem import IREM as IREM
from irem.methods._iterative_feedforward import IterativeFeedforward as IterativeFeedforward
from irem.methods._ponder import PonderNet as PonderNet
from irem.methods._recurrent import Recurrent as Recurrent
from irem.methods._registry import BASELINES as BASELINES
from irem.methods._registry import GRADIENTS as GRADIENTS
from irem.methods._registry import METHODS as METHODS
from irem.methods._registry import build_method as build_method
from irem.methods._registry import build_methods as build_methods
from irem.methods._registry import describe_method as describe_method
from irem.methods.base import AbstractBaseline as AbstractBaseline
from irem.methods.base import AbstractMethod as AbstractMethod
