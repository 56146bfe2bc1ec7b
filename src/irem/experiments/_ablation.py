"""Table 2: what the replay buffer and the truncated gradient do to error, speed and memory."""

import time
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax

from irem.experiments._paper import PAPER_ABLATION
from irem.experiments._study import Study, method_settings, spread
from irem.experiments._table1 import DIFFICULTIES
from irem.learning import NoReplay, Recipe, Replay, init, iterate, run_chunk
from irem.methods import build_method
from irem.tasks import AbstractTask

_ROUNDS = 5

# Replay, truncation.
_VARIANTS = ((False, False), (True, False), (False, True), (True, True))


def ablation(study: Study) -> list[dict[str, Any]]:
    """Error on both difficulties, pace and memory of the four variants on shortest paths."""
    task = study.tasks["shortest-path"]
    costs = study.cell("ablation", "costs", lambda: _costs(study, task))
    return [
        {**row, **costs[_name(*variant)]}
        for variant in _VARIANTS
        for row in study.cell(
            "ablation", _name(*variant), lambda v=variant: _errors(study, task, *v)
        )
    ]


def _errors(study: Study, task: AbstractTask, replay: bool, truncate: bool) -> list[dict[str, Any]]:
    label = f"{task.name}-irem"
    if not (replay and truncate):  # the whole method is a cell of Table 1
        label += f"-{_name(replay, truncate)}"
    settings = _settings(task, truncate)
    run, _ = study.trained(task, settings, label, replay=_replay(replay))
    paper = PAPER_ABLATION.get((replay, truncate), (None, None, None))
    rows = []
    for difficulty in DIFFICULTIES:
        found = study.score(run, difficulty)
        rows.append(
            {
                "task": task.name,
                "method": "irem",
                "replay": replay,
                "truncate": truncate,
                "difficulty": difficulty,
                **spread(found.mse_by_model),
                # The paper prints one error; Table 1 shows that it is the one of the same size.
                "paper": paper[0] if difficulty == "same" else None,
                "paper_speed": paper[1],
                "paper_memory": paper[2],
                "trivial": found.trivial_mse,
                "best": found.oracle_mse,
                "steps_mean": found.steps_mean,
                "run": f"models/{label}",
                **study.origin(),
            }
        )
    return rows


def _costs(study: Study, task: AbstractTask) -> dict[str, dict[str, Any]]:
    """Milliseconds of an iteration and bytes of the compiled one, for one model.

    The variants take turns, so that what else the machine does falls on all of them.
    """
    batch_size, length = study.scale.budget(task).batch_size, study.scale.pace_iterations
    runners, costs = {}, {}
    for replay, truncate in _VARIANTS:
        recipe = Recipe(task, optax.adam(1e-4), _replay(replay), batch_size)
        method = build_method(task, _settings(task, truncate), key=jax.random.key(0))
        state = init(recipe, method, jax.random.key(0))
        costs[_name(replay, truncate)] = {"ms_per_iteration": [], **_memory(recipe, state)}
        runners[_name(replay, truncate)] = (recipe, jax.tree.map(_stacked, state))
    for turn in range(_ROUNDS + 1):
        for name, (recipe, states) in runners.items():
            start = time.perf_counter()
            states, info = run_chunk(recipe, states, length)
            jax.block_until_ready(info.loss)
            runners[name] = (recipe, states)
            if turn:  # the first one compiles
                took = 1e3 * (time.perf_counter() - start) / length
                costs[name]["ms_per_iteration"].append(took)
    whole = costs[_name(True, True)]
    for cost in costs.values():
        pace = np.median(cost["ms_per_iteration"])
        cost["speed"] = float(100 * np.median(whole["ms_per_iteration"]) / pace)
        cost["memory"] = 100 * cost["temporary_bytes"] / whole["temporary_bytes"]
    return costs


def _memory(recipe: Recipe, state: Any) -> dict[str, int]:
    """What XLA says that one compiled iteration needs: working memory, and what it is given."""
    step: Any = eqx.filter_jit(iterate)
    analysis = step.lower(recipe, state).compile().compiled.memory_analysis()
    return {
        "temporary_bytes": int(analysis.temp_size_in_bytes),
        "argument_bytes": int(analysis.argument_size_in_bytes),
    }


def _settings(task: AbstractTask, truncate: bool) -> dict[str, Any]:
    gradient = "last-step" if truncate else "full-unroll"
    return {**method_settings(task, "irem"), "gradient": gradient}


def _replay(wanted: bool) -> Replay | NoReplay:
    return Replay() if wanted else NoReplay()


def _name(replay: bool, truncate: bool) -> str:
    return f"{'replay' if replay else 'no-replay'}-{'last-step' if truncate else 'full-unroll'}"


def _stacked(leaf: Any) -> Any:
    return leaf[None] if eqx.is_array(leaf) else leaf
