"""Eight problems of one's own: `irem.fit` beside what scikit-learn and a feedforward net reach.

Everything has the same rows, the same number of parameters where there are any, and the same time.

    python benchmarks/own_data.py --problem systems --minutes 0.75 --out found.json
    python benchmarks/own_data.py --show results/own-data.json

`--show` prints what was measured as a table. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
import warnings
from pathlib import Path

import jax
import numpy as np
from own_data_problems import LINKS, PROBLEMS, OwnProblem, hand_pose
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

import irem
from irem.fitting import Plan, read_rows
from irem.methods import Units
from irem.training import Adam, ExponentialAverage, NoReplay, Validation

ROWS, TEST = 50_000, 2_000
_DEPTH = 3


def main() -> None:
    """Measure problems, or show what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problem", action="append", choices=list(PROBLEMS))
    parser.add_argument("--minutes", type=float, default=0.75)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    given = parser.parse_args()
    if given.show is not None:
        print(table(json.loads(given.show.read_text())))
        return
    for name in given.problem or PROBLEMS:
        found = measure(name, given.minutes, given.rows, given.seed)
        print(json.dumps(found), flush=True)
        if given.out is not None:
            before = json.loads(given.out.read_text()) if given.out.exists() else []
            given.out.write_text(json.dumps([*before, found], indent=1) + "\n")


def measure(name: str, minutes: float, rows: int, seed: int) -> dict:
    """Return the errors of everything on one problem."""
    begun, problem = time.monotonic(), PROBLEMS[name]
    sets = problem.sets(seed, rows, TEST)
    x, y = sets["train"]
    effort = irem.Effort(minutes=minutes, compare=False)
    started = time.monotonic()
    run = irem.fit(x, y, effort=effort, several=problem.several, seed=seed)
    seconds = time.monotonic() - started
    models = {"irem": lambda q: irem_answers(run, q, problem)}
    relative = run.report["relative"]
    for units in dict.fromkeys(("none", relative)):
        label = "feedforward" if units == "none" else "feedforward, same units"
        models[label] = feedforward(x, y, units, run.report["parameters"], seconds, seed)
    models["MLPRegressor"] = mlp(x, y, run.report["parameters"], seconds, seed)
    models["HistGradientBoosting"] = boosting(x, y, seconds)
    found = {
        "problem": name,
        "says": problem.says,
        "seed": seed,
        "rows": rows,
        "report": run.report,
        "seconds_of_each": seconds,
        "errors": {label: errors(answer, problem, sets) for label, answer in models.items()},
        "trivial": {k: float(np.mean((y.mean(0) - sets[k][1]) ** 2)) for k in ("same", "harder")},
    }
    if problem.several:
        found["several"] = {k: several_answers(run, sets[k][0]) for k in ("same", "harder")}
    return {**found, "seconds": time.monotonic() - begun}


def errors(answer, problem: OwnProblem, sets: dict) -> dict[str, float]:
    """Return the mean squared error on both sets; of an arm with two elbows, that of the hand."""
    found = {}
    for name in ("same", "harder"):
        x, y = sets[name]
        answers = answer(x).reshape(y.shape)
        if problem.several:
            square = np.square(hand_pose(answers)[:, :2] - x[:, :2]).sum(-1)
        else:
            square = np.square(answers - y).reshape(len(y), -1).mean(1)
        found[name] = float(square.mean())
        found[f"{name}_sem"] = float(square.std(ddof=1) / np.sqrt(len(square)))
    return found


def irem_answers(run: irem.training.Run, x: np.ndarray, problem: OwnProblem) -> np.ndarray:
    """Return the answers of a run; where there are several, that of lowest energy."""
    options = {"answers": 2, "starts": 16} if problem.several else {}
    return np.asarray(run.solve(x, **options).y)


def several_answers(run: irem.training.Run, x: np.ndarray) -> dict[str, float]:
    """Return how far the hand is from its target, and how often two answers were found."""
    answers = np.asarray(run.solve(x, answers=2, starts=16).answers)
    away = np.linalg.norm(hand_pose(answers)[..., :2] - x[:, None, :2], axis=-1) / LINKS.sum()
    bend = answers[..., 1]
    return {
        "hand_off_median": float(np.median(away[:, 0])),
        "hand_off_mean": float(away[:, 0].mean()),
        "within_1_percent": float((away[:, 0] < 0.01).mean()),
        "two_found": float(np.isfinite(away[:, 1]).mean()),
        "two_elbows": float((np.sign(bend[:, 0]) == -np.sign(bend[:, 1])).mean()),
        "both_within_1_percent": float((away < 0.01).all(1).mean()),
    }


def feedforward(
    x: np.ndarray, y: np.ndarray, units: str, parameters: int, seconds: float, seed: int
):
    """Return the answers of our own feedforward network in given units."""
    task = read_rows(x, y, seed=seed)
    plan = Plan({"name": "equations"}, relative=units)
    model = plan.baseline(task, parameters, key=jax.random.key(seed))
    scale = np.asarray(Units.of(task.format, task.problems("train"), "none").y_scale)
    begun = time.monotonic()

    def train(iterations: int):
        some = jax.tree.map(lambda leaf: leaf[:512], task.problems("same"))
        every = max(100, iterations // 40 // 100 * 100)
        return irem.train(
            task,
            model,
            iterations=Validation(some, iterations, scale, every, patience=15),
            optimiser=Adam(1e-3, decay="cosine", clip_norm=1.0),
            average=ExponentialAverage(0.999),
            batch_size=64,
            replay=NoReplay(),
            key=jax.random.key(seed),
        ).model

    train(100)
    timed = time.monotonic()
    train(1000)
    pace = (time.monotonic() - timed) / 1000
    best = train(int((seconds - (time.monotonic() - begun)) / pace) // 100 * 100)
    return lambda q: np.asarray(irem.solve(best, q, key=jax.random.key(0)).y)


def flat(x: np.ndarray) -> np.ndarray:
    """Return problems as rows; missing entries are zero, with flags for those that are given."""
    rows = x.reshape(len(x), -1)
    if not np.isnan(rows).any():
        return rows
    return np.concatenate([np.nan_to_num(rows), ~np.isnan(rows)], axis=1)


def mlp(x: np.ndarray, y: np.ndarray, parameters: int, seconds: float, seed: int):
    """Return the answers of scikit-learn's network, the best on validation rows."""
    rows, targets = flat(x), y.reshape(len(y), -1)
    x_scaler, y_scaler = StandardScaler().fit(rows), StandardScaler().fit(targets)
    inputs, outputs = x_scaler.transform(rows), y_scaler.transform(targets)
    linear = inputs.shape[1] + outputs.shape[1] + _DEPTH
    width = round((np.sqrt(linear**2 + 8 * parameters) - linear) / 4)
    net = MLPRegressor(hidden_layer_sizes=(width,) * _DEPTH, random_state=seed, batch_size=64)
    begun, best, kept = time.monotonic(), np.inf, None
    held = slice(-1000, None)
    while time.monotonic() - begun < seconds:
        net.partial_fit(inputs[:-1000], outputs[:-1000].squeeze())
        error = np.square(net.predict(inputs[held]) - outputs[held].squeeze()).mean()
        if error < best:
            best, kept = error, copy.deepcopy((net.coefs_, net.intercepts_))
    net.coefs_, net.intercepts_ = kept

    def answer(q: np.ndarray) -> np.ndarray:
        found = net.predict(x_scaler.transform(flat(q))).reshape(len(q), -1)
        return y_scaler.inverse_transform(found)

    return answer


def boosting(x: np.ndarray, y: np.ndarray, seconds: float):
    """Return the answers of gradient boosted trees, one model for every number of an answer."""
    rows, targets = x.reshape(len(x), -1), y.reshape(len(y), -1)
    begun = time.monotonic()
    HistGradientBoostingRegressor(max_iter=20, early_stopping=False).fit(rows, targets[:, 0])
    rate = (time.monotonic() - begun) / 20
    trees = int(np.clip(seconds / targets.shape[1] / rate, 5, 500))
    options = {"max_iter": trees, "early_stopping": True}
    models = [HistGradientBoostingRegressor(**options).fit(rows, t) for t in targets.T]
    return lambda q: np.stack([m.predict(q.reshape(len(q), -1)) for m in models], axis=1)


def table(found: list[dict]) -> str:
    """Return what was measured as Markdown: mean squared errors, and that of irem over the best."""
    names = (
        "irem",
        "feedforward",
        "feedforward, same units",
        "MLPRegressor",
        "HistGradientBoosting",
    )
    lines = [f"| problem | set | {' | '.join(names)} | best other / irem |"]
    lines.append("| --- " * (len(names) + 3) + "|")
    order = list(PROBLEMS)
    for one in sorted(found, key=lambda one: order.index(one["problem"])):
        for kind in ("same", "harder"):
            measured = {name: one["errors"].get(name) for name in names}
            cells = ["" if v is None else f"{v[kind]:.2g}" for v in measured.values()]
            others = [v[kind] for name, v in measured.items() if v is not None and name != "irem"]
            ratio = min(others) / measured["irem"][kind]
            lines.append(f"| {one['problem']} | {kind} | {' | '.join(cells)} | {ratio:.2g} |")
    return "\n".join(lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
