import types

import jax
import optax

import irem
from irem.paper import ablation
from irem.training import History, NoAverage, Replay, Run, Training, init


def test_truncation_needs_at_most_half_the_memory_of_the_full_unroll():
    task = irem.tasks.get("shortest-path")
    bytes_of = {}
    for gradient in (irem.LastSteps(), irem.FullUnroll()):
        energy = irem.energy.GINE.for_task(task, width=32, key=jax.random.key(0))
        training = Training(task, optax.adam(1e-4), Replay(capacity=100), NoAverage(), 16)
        state = init(training, irem.IREM(energy, gradient=gradient), jax.random.key(0))
        bytes_of[type(gradient)] = ablation.measure_memory(training, state)["temporary_bytes"]
    assert 0 < bytes_of[irem.LastSteps] <= bytes_of[irem.FullUnroll] / 2


def test_every_variant_has_its_error_and_its_costs(tiny_study, monkeypatch):
    study, trained = tiny_study(), {}
    costs = {
        name: {
            "ms_per_iteration": [1.0 + k, 2.0],
            "temporary_bytes": 10 * k,
            "argument_bytes": 7,
            "speed": 50.0,
            "memory": 10.0 * k,
        }
        for k, name in enumerate(
            f"{replay}-{gradient}"
            for gradient in ("full-unroll", "last-step")
            for replay in ("no-replay", "replay")
        )
    }
    study.values("ablation", "costs", lambda: costs)

    def train(task, recipe, label):
        trained[label] = (recipe.settings["gradient"]["name"], recipe.settings["replay"]["name"])
        return Run(task, (), 0, History.empty(1), {}), 1.0

    def score(run, difficulty):
        error = {"same": 1.0, "harder": 2.0}[difficulty]
        return types.SimpleNamespace(
            mse_by_model=(error, error + 1), trivial_mse=3.0, oracle_mse=0.0, steps_mean=9.0
        )

    monkeypatch.setattr(study, "trained", train)
    monkeypatch.setattr(study, "score", score)
    cells = ablation.run(study, ablation.Settings(task="addition"))
    places = [(c.replay, c.truncate, c.difficulty, c.paper) for c in cells]
    assert places == [
        (False, False, "same", 0.0491),
        (False, False, "harder", None),
        (True, False, "same", 0.0287),
        (True, False, "harder", None),
        (False, True, "same", None),
        (False, True, "harder", None),
        (True, True, "same", 0.0274),
        (True, True, "harder", None),
    ]
    assert trained == {
        "addition-irem-no-replay-full-unroll": ("full-unroll", "none"),
        "addition-irem-replay-full-unroll": ("full-unroll", "buffer"),
        "addition-irem-no-replay-last-step": ("last-steps", "none"),
        "addition-irem": ("last-steps", "buffer"),
    }
    assert [c.mean for c in cells] == 4 * [1.5, 2.5]
    assert [c.temporary_bytes for c in cells[::2]] == [0, 10, 20, 30]
    assert cells[-1].ms_per_iteration == (4.0, 2.0)
    assert [c.paper_memory for c in cells[::2]] == [295, 295, None, 100]


def test_costs_are_relative_to_the_whole_method(tiny_study, monkeypatch):
    study, clock = tiny_study(), [0.0]
    # Seconds of a chunk and bytes by replay and truncation.
    costs = {
        (False, False): (4, 40),
        (True, False): (8, 30),
        (False, True): (1, 5),
        (True, True): (2, 10),
    }
    begun = set()

    def variant(training, method):
        return isinstance(training.replay, Replay), isinstance(method.gradient, irem.LastSteps)

    def memory(training, state):
        return {"temporary_bytes": costs[variant(training, state.method)][1], "argument_bytes": 7}

    def chunk(training, states, length):
        found = variant(training, states.method)
        # The first one compiles.
        clock[0] += costs[found][0] if found in begun else 1000
        begun.add(found)
        return states, types.SimpleNamespace(loss=0.0)

    monkeypatch.setattr(ablation, "measure_memory", memory)
    monkeypatch.setattr(ablation, "run_chunk", chunk)
    monkeypatch.setattr(ablation.time, "perf_counter", lambda: clock[0])
    found = ablation.measure_costs(study, study.tasks["addition"], 3)
    assert {name: (c.speed, c.memory) for name, c in found.items()} == {
        "no-replay-full-unroll": (50, 400),
        "replay-full-unroll": (25, 300),
        "no-replay-last-step": (200, 50),
        "replay-last-step": (100, 100),
    }
    whole = found["replay-last-step"]
    assert whole.ms_per_iteration == (1e3 * 2 / study.scale.pace_iterations,) * 3
