"""Every number that the paper prints for the tasks of this project, as it prints them."""

from collections.abc import Mapping
from types import MappingProxyType

from irem.descent import Walkable
from irem.methods import describe_method
from irem.methods.base import AbstractMethod
from irem.tasks import TASKS, AbstractTask, Difficulty

# Table 1: same and harder difficulty, by task and method. IREM's own row stands with the tasks.
_BASELINES = {
    "edge-copy": {
        "feedforward": (0.3016, 0.3124),
        "recurrent": (0.3015, 0.3113),
        "programmatic": (0.3053, 0.4409),
        "iterative-feedforward": (0.6163, 0.6498),
    },
    "connected-components": {
        "feedforward": (0.1796, 0.3460),
        "recurrent": (0.1794, 0.2766),
        "programmatic": (0.2338, 3.1381),
        "iterative-feedforward": (0.4908, 1.2064),
    },
    "shortest-path": {
        "feedforward": (0.1233, 1.4089),
        "recurrent": (0.1259, 0.1083),
        "programmatic": (0.1375, 0.1290),
        "iterative-feedforward": (0.4588, 0.7688),
    },
    "addition": {
        "feedforward": (0.0448, 0.7029),
        "recurrent": (0.3610, 2.6133),
        "programmatic": (0.0111, 0.3446),
        "iterative-feedforward": (0.0144, 0.1577),
    },
    "matrix-completion": {
        "feedforward": (0.0203, 0.2720),
        "recurrent": (0.0266, 0.3285),
        "programmatic": (0.0203, 0.2637),
        "iterative-feedforward": (0.0253, 0.2102),
    },
    "matrix-inverse": {
        "feedforward": (0.0112, 0.2150),
        "recurrent": (0.0109, 0.2123),
        "programmatic": (0.0124, 0.2209),
        "iterative-feedforward": (0.0270, 0.5250),
    },
}

PAPER_TABLE1: Mapping[tuple[str, str, str], float] = MappingProxyType(
    {
        (task, method, difficulty): value
        for task, methods in _BASELINES.items()
        for method, pair in {
            **methods,
            "irem": (TASKS[task].paper_mse["same"], TASKS[task].paper_mse["harder"]),
        }.items()
        for difficulty, value in zip(("same", "harder"), pair, strict=True)
    }
)
"""Errors of the paper's Table 1, by task, method and difficulty."""

PAPER_ABLATION: Mapping[tuple[bool, bool], tuple[float, int, int]] = MappingProxyType(
    {
        (False, False): (0.0491, 87, 295),
        (True, False): (0.0287, 83, 295),
        (True, True): (0.0274, 100, 100),
    }
)
"""Table 2: error, speed and memory in %, by whether there is a replay and a truncation."""

PAPER_STEP_SIZE: Mapping[int, tuple[float, float]] = MappingProxyType(
    {
        10: (0.0003, 0.0021),
        30: (0.0003, 0.0020),
        100: (0.0003, 0.0021),
        300: (0.0004, 0.0023),
        1000: (0.0004, 0.0025),
    }
)
"""Table 3: errors on addition, same and harder, by the step size of training."""

PAPER_COMPOSITIONS: Mapping[str, Mapping[int, float]] = MappingProxyType(
    {
        "feedforward": {2: 0.0445, 5: 0.2717, 10: 0.8898},
        "recurrent": {2: 2.1377, 5: 3.1861, 10: 4.8706},
        "programmatic": {2: 0.0203, 5: 0.1068, 10: 0.4587},
        "iterative-feedforward": {2: 0.0826, 5: 0.5930, 10: 3.6004},
        "irem": {2: 0.0014, 5: 0.0078, 10: 0.0422},
    }
)
"""Table 4: errors by method and number of nested additions."""

PRINTED_DENOISING: Mapping[str, Mapping[int, float]] = MappingProxyType(
    {
        "UNLNet": {45: 26.48, 55: 25.64},
        "DnCNN": {45: 26.56, 55: 25.71, 65: 22.19, 75: 17.90},
        "DnCNN-stop": {45: 26.59, 55: 25.79, 65: 23.56, 75: 18.62},
        "IREM": {45: 26.52, 55: 25.85, 65: 23.87, 75: 23.43},
        "BM3D": {45: 25.97, 55: 25.21, 65: 24.60, 75: 24.08},
        "WNNM": {45: 26.31, 55: 25.50, 65: 24.92, 75: 24.39},
    }
)
"""Quality in dB on BSD68, by method and strength of noise.

The table of Appendix A, with DnCNN-stop at 45 as in Chen et al. (2020), where the paper has it from
(it prints 26.48), and below it two classical methods that are told the strength.
"""


def paper_mse(
    model: Walkable | AbstractMethod, task: AbstractTask, difficulty: Difficulty
) -> float | None:
    """The number of Table 1 for this method on this very task, if it prints one.

    An energy stands for IREM; it prints nothing for other settings of a task.
    """
    if task != type(task)():
        return None
    method = describe_method(model)["name"] if isinstance(model, AbstractMethod) else "irem"
    return PAPER_TABLE1.get((task.name, method, str(difficulty)))
