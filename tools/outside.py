"""Answer problems unlike those of training, made by other programs, and compare with the truth.

    python tools/outside.py                       all of them, into results/outside.json
    python tools/outside.py graphs --seed 1

- `graphs`: 200 graphs from networkx (classics and random families, directed and weighted, 5 to 60
  nodes), beside SciPy's distances.
- `matrices`: 200 symmetric positive definite matrices of ten families, of condition up to 1000 and
  size 2 to 50, beside NumPy's inverses.
- `tables`: 100 tables of six families, beside soft-impute and alternating least squares, each with
  settings chosen by holding out a part of the given entries.
- `components`: 100 of the graphs without weights, beside SciPy's components.
- `sums`: vectors and edges of many sizes, beside NumPy.

All by the default call, `irem.load("zoo:NAME").solve(x)`. An answer is right if every entry (of an
inverse, the whole matrix in the Frobenius norm) is within 1 % of the truth, wrong if it is over
2 % off. Of tables, errors are compared.
"""

import argparse
import collections
import json
import sys
import time
import warnings
from pathlib import Path

import jax
import networkx as nx
import numpy as np
from scipy import linalg, sparse

import irem
from irem.evaluation import standard_error
from irem.verdicts import Verdict

ROOT = Path(__file__).parent.parent
RIGHT, WRONG = 0.01, 0.02


def main():
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=list(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "results/outside.json")
    parser.add_argument("--zoo", default="zoo:{}", help="where models are, {} for the task")
    arguments = parser.parse_args()
    kept = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for what in arguments.what:
        start = time.perf_counter()
        found = KINDS[what](np.random.default_rng([arguments.seed, 15]), arguments.zoo)
        kept[what] = {"seed": arguments.seed, "device": jax.default_backend(), **found}
        print(f"{what}: {time.perf_counter() - start:.0f} s")
        print(json.dumps(found, indent=1))
        sys.stdout.flush()
        arguments.out.write_text(json.dumps(kept, indent=1) + "\n")


def load(pattern, task):
    """The model that users get."""
    return irem.load(pattern.format(task))


def by_shape(run, problems):
    """Answers to problems of different shapes, those of one shape together."""
    groups = collections.defaultdict(list)
    for i, x in enumerate(problems):
        groups[x.shape].append(i)
    answers = [None] * len(problems)
    for places in groups.values():
        stack = np.stack([problems[i] for i in places])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = run.solve(stack)
        for place, i in enumerate(places):
            answers[i] = (
                np.asarray(found.y[place], np.float64),
                int(found.verdict[place]),
                float(found.residual[place]),
                int(found.steps[place]),
            )
        jax.clear_caches()
    return answers


def verdicts(families, answers, errors):
    """How often answers are right, wrong and marked, in all and by family."""
    verified = np.array([verdict == Verdict.VERIFIED for _, verdict, _, _ in answers])
    errors = np.asarray(errors)
    right, wrong = errors <= RIGHT, ~(errors <= WRONG)

    def told(chosen):
        return {
            "problems": int(chosen.sum()),
            "verified_and_right": int((verified & right & chosen).sum()),
            "right_but_marked": int((~verified & right & chosen).sum()),
            "wrong_but_verified": int((verified & wrong & chosen).sum()),
            "largest_verified_error": float(np.max(errors[verified & chosen], initial=0.0)),
            "steps_mean": float(np.mean([a[3] for a, c in zip(answers, chosen, strict=True) if c])),
        }

    families = np.array(families)
    names = list(dict.fromkeys(families))
    return {
        **told(np.ones(len(errors), bool)),
        "families": {name: told(families == name) for name in names},
    }


# Graphs.


def graphs(rng):
    """200 graphs as (family, matrix of lengths with infinity where there is no edge)."""
    makers = {
        "path": lambda n: nx.path_graph(n),
        "cycle": lambda n: nx.cycle_graph(n),
        "star": lambda n: nx.star_graph(n - 1),
        "grid": lambda n: nx.convert_node_labels_to_integers(
            nx.grid_2d_graph(max(2, int(n**0.5)), max(2, int(n**0.5)))
        ),
        "binary tree": lambda n: nx.full_rary_tree(2, n),
        "ladder": lambda n: nx.ladder_graph(max(3, n // 2)),
        "complete": lambda n: nx.complete_graph(n),
        "barbell": lambda n: nx.barbell_graph(max(3, n // 3), max(1, n // 4)),
        "wheel": lambda n: nx.wheel_graph(n),
        "sparse random": lambda n: nx.gnp_random_graph(n, 2.5 / n, seed=seed(rng)),
        "dense random": lambda n: nx.gnp_random_graph(n, 0.5, seed=seed(rng)),
        "small world": lambda n: nx.watts_strogatz_graph(n, 4, 0.2, seed=seed(rng)),
        "scale free": lambda n: nx.barabasi_albert_graph(n, 2, seed=seed(rng)),
        "geometric": lambda n: nx.random_geometric_graph(n, 0.35, seed=seed(rng)),
        "regular": lambda n: nx.random_regular_graph(4, n + n % 2, seed=seed(rng)),
        "random tree": lambda n: nx.random_labeled_tree(n, seed=seed(rng)),
        "directed random": lambda n: nx.gnp_random_graph(n, 3 / n, seed=seed(rng), directed=True),
        "directed dense": lambda n: nx.gnp_random_graph(n, 0.4, seed=seed(rng), directed=True),
    }
    named = [nx.karate_club_graph, nx.florentine_families_graph, nx.petersen_graph]
    named += [nx.icosahedral_graph, nx.house_graph, nx.krackhardt_kite_graph, nx.tutte_graph]
    named += [nx.dodecahedral_graph, nx.davis_southern_women_graph, nx.les_miserables_graph]
    drawn = []
    for make in named[:-1]:
        drawn.append(("named", nx.convert_node_labels_to_integers(make())))
    while len(drawn) < 200:
        family = list(makers)[len(drawn) % len(makers)]
        drawn.append((family, makers[family](int(rng.choice([5, 8, 12, 16, 24, 32, 45, 60])))))
    return [(family, lengths(graph, rng)) for family, graph in drawn]


def lengths(graph, rng):
    """The matrix of a graph with lengths of some law and scale."""
    law = rng.choice(["one", "uniform", "exponential", "lognormal", "whole"])
    scale = 10.0 ** rng.uniform(-2, 3)
    draw = {
        "one": lambda: 1.0,
        "uniform": lambda: rng.uniform(0.05, 1),
        "exponential": lambda: 0.02 + rng.exponential(),
        "lognormal": lambda: rng.lognormal(0, 1),
        "whole": lambda: float(rng.integers(1, 10)),
    }[str(law)]
    matrix = np.full((len(graph), len(graph)), np.inf)
    np.fill_diagonal(matrix, 0)
    for a, b in graph.edges():
        matrix[a, b] = scale * draw()
        if not graph.is_directed():
            matrix[b, a] = matrix[a, b]
    return matrix


def seed(rng):
    """A seed for a generator of networkx."""
    return int(rng.integers(2**31))


def measure_graphs(rng, zoo):
    """Distances beside SciPy's."""
    families, problems = zip(*graphs(rng), strict=True)
    answers = by_shape(load(zoo, "shortest-path"), problems)
    errors = []
    for x, (y, *_) in zip(problems, answers, strict=True):
        truth = sparse.csgraph.shortest_path(np.where(np.isinf(x), 0, x), directed=True)
        reached = np.isfinite(truth) & ~np.eye(len(x), dtype=bool)
        same = np.array_equal(np.isfinite(y), np.isfinite(truth))
        off = np.abs(y[reached] - truth[reached]) / truth[reached]
        errors.append(max(off.max(initial=0), np.abs(y.diagonal()).max()) if same else np.inf)
    return verdicts(families, answers, errors)


def measure_components(rng, zoo):
    """Components beside SciPy's."""
    drawn = [(f, x) for f, x in graphs(rng) if not f.startswith(("directed", "complete"))][:100]
    families = [family for family, _ in drawn]
    problems = [(np.isfinite(x) & ~np.eye(len(x), dtype=bool)).astype(float) for _, x in drawn]
    problems = [x * (rng.random(x.shape) < rng.uniform(0.3, 1)) for x in problems]
    answers = by_shape(load(zoo, "connected-components"), problems)
    errors = []
    for x, (y, *_) in zip(problems, answers, strict=True):
        labels = sparse.csgraph.connected_components(x, directed=True, connection="weak")[1]
        errors.append(float(((y >= 0.5) != (labels[:, None] == labels)).any()))
    return verdicts(families, answers, errors)


# Matrices.


def matrices(rng):
    """200 symmetric positive definite matrices of ten families, condition at most 1000."""
    makers = {
        "diagonal": lambda n: np.diag(np.linspace(1, rng.uniform(1, 900), n)),
        "laplacian": lambda n: linalg.toeplitz([2.0, -1.0] + [0] * (n - 2))[:n, :n],
        "kernel": lambda n: rbf(rng, n),
        "wishart": lambda n: wishart(rng, n),
        "autoregressive": lambda n: linalg.toeplitz(rng.uniform(0.1, 0.95) ** np.arange(n)),
        "equicorrelation": lambda n: equicorrelation(n, rng.uniform(0.1, 0.95)),
        "log spectrum": lambda n: rotated(rng, np.logspace(0, rng.uniform(0, 2.9), n)),
        "two clusters": lambda n: rotated(
            rng, np.where(np.arange(n) % 2, 1.0, rng.uniform(2, 900))
        ),
        "graph laplacian": lambda n: shifted_laplacian(rng, n),
        "block": lambda n: linalg.block_diag(wishart(rng, n - n // 2), 10 * wishart(rng, n // 2)),
    }
    drawn = []
    while len(drawn) < 200:
        family = list(makers)[len(drawn) % len(makers)]
        matrix = makers[family](int(rng.choice([2, 3, 5, 8, 12, 20, 30, 40, 50])))
        if np.linalg.cond(matrix) > 1000:
            matrix = matrix + np.linalg.eigvalsh(matrix)[-1] / 990 * np.eye(len(matrix))
        assert np.linalg.cond(matrix) <= 1000
        drawn.append((family, matrix * 10.0 ** rng.uniform(-3, 3)))
    return drawn


def rbf(rng, n):
    """The kernel of points in the plane, with a little on the diagonal."""
    points = rng.uniform(0, 3, (n, 2))
    distances = np.square(points[:, None] - points).sum(-1)
    return np.exp(-distances / 2) + 0.05 * np.eye(n)


def wishart(rng, n):
    """The covariance of random vectors."""
    sample = rng.normal(size=(n, 2 * n))
    return sample @ sample.T / (2 * n)


def equicorrelation(n, share):
    """The covariance of variables that are all as much alike."""
    return (1 - share) * np.eye(n) + share


def rotated(rng, spectrum):
    """A matrix of this spectrum in random directions."""
    directions = np.linalg.qr(rng.normal(size=(len(spectrum), len(spectrum))))[0]
    matrix = (directions * spectrum) @ directions.T
    return (matrix + matrix.T) / 2


def shifted_laplacian(rng, n):
    """The Laplacian of a small world, with a little on the diagonal."""
    if n < 5:
        return equicorrelation(n, 0.5)
    graph = nx.watts_strogatz_graph(n, 4, 0.2, seed=seed(rng))
    return nx.laplacian_matrix(graph).toarray() + rng.uniform(0.02, 1) * np.eye(n)


def measure_matrices(rng, zoo):
    """Inverses beside NumPy's."""
    families, problems = zip(*matrices(rng), strict=True)
    answers = by_shape(load(zoo, "matrix-inverse"), problems)
    truths = [np.linalg.inv(x) for x in problems]
    errors = [
        np.linalg.norm(y - truth) / np.linalg.norm(truth)
        for (y, *_), truth in zip(answers, truths, strict=True)
    ]
    return verdicts(families, answers, [np.nan_to_num(e, nan=np.inf) for e in errors])


# Tables.


def tables(rng):
    """100 tables as (family, whole table, which entries are given)."""
    drawn = []
    kinds = ("rank 1", "rank 3", "noisy rank 2", "noisy rank 5", "ratings", "decaying")
    while len(drawn) < 100:
        family = kinds[len(drawn) % len(kinds)]
        rows, columns = int(rng.choice([15, 25, 40])), int(rng.choice([12, 20, 30]))
        share = rng.uniform(0.4, 0.95)
        given = rng.random((rows, columns)) < share
        rank = {"rank 1": 1, "rank 3": 3, "noisy rank 2": 2, "noisy rank 5": 5, "ratings": 2}
        r = rank.get(family, min(rows, columns))
        spectrum = np.ones(r) if family in rank else 0.6 ** np.arange(r)
        whole = (rng.normal(size=(rows, r)) * spectrum) @ rng.normal(size=(r, columns))
        if family.startswith("noisy"):
            whole += rng.uniform(0.1, 0.5) * whole.std() * rng.normal(size=whole.shape)
        if family == "ratings":
            taste = 3.3 + 0.6 * rng.normal(size=(rows, 1)) + 0.6 * rng.normal(size=columns)
            whole = np.clip(np.round(taste + 0.5 * whole), 1, 5)
        else:
            whole *= 10.0 ** rng.uniform(-2, 2)
        # At least so many of every row and column that a table of this rank is determined.
        for axis in (0, 1):
            few = given.sum(axis) < min(r, 5) + 1
            given |= np.expand_dims(few, axis) & (rng.random(given.shape) < 0.7)
        if given.all():
            continue
        drawn.append((family, whole, given))
    return drawn


def soft_impute(x, given, strength, rounds=300):
    """Singular values shrunk again and again; the given entries are put back each time."""
    z = np.where(given, x, 0.0)
    for _ in range(rounds):
        u, s, v = np.linalg.svd(np.where(given, x, z), full_matrices=False)
        new = (u * np.maximum(s - strength, 0)) @ v
        if np.linalg.norm(new - z) <= 1e-7 * np.linalg.norm(z) + 1e-30:
            break
        z = new
    return z


def least_squares(x, given, rank, ridge, rng, rounds=100):
    """Alternating least squares with a ridge."""
    v = rng.normal(size=(x.shape[1], rank))
    u = np.zeros((x.shape[0], rank))
    eye = ridge * np.eye(rank)
    for _ in range(rounds):
        for own, other, values, mask in ((u, v, x, given), (v, u, x.T, given.T)):
            for i in range(len(own)):
                chosen = other[mask[i]]
                own[i] = np.linalg.solve(chosen.T @ chosen + eye, chosen.T @ values[i, mask[i]])
    return u @ v.T


def reference(x, given, rng):
    """The better of the two with settings chosen on a tenth of the given entries, held out."""
    held = given & (rng.random(given.shape) < 0.1)
    kept = given & ~held
    size = np.sqrt(np.mean(np.square(x[given])))
    top = np.linalg.norm(np.where(kept, x, 0), 2)

    def error(z):
        return np.sqrt(np.mean(np.square((z - x)[held])))

    shrink = min(
        (top * 0.5**k for k in range(1, 12)), key=lambda s: error(soft_impute(x, kept, s, 100))
    )
    choices = [(r, ridge) for r in (1, 2, 3, 5, 8) for ridge in (1e-6, 1e-2, 0.3, 3.0)]
    scaled = x / size
    rank, ridge = min(
        choices, key=lambda c: error(size * least_squares(scaled, kept, *c, rng, rounds=20))
    )
    return {
        "soft-impute": soft_impute(x, given, shrink),
        "least squares": size * least_squares(scaled, given, rank, ridge, rng),
    }


def measure_tables(rng, zoo):
    """Errors at missing entries beside those of the two programs."""
    drawn = tables(rng)
    problems = [np.where(given, whole, np.nan) for _, whole, given in drawn]
    answers = by_shape(load(zoo, "matrix-completion"), problems)
    errors, kept = collections.defaultdict(list), True
    for (family, whole, given), x, (y, *_) in zip(drawn, problems, answers, strict=True):
        error = lambda z: np.sqrt(np.mean(np.square((z - whole)[~given])))  # noqa: E731, B023
        others = {name: error(z) for name, z in reference(whole, given, rng).items()}
        size = whole[~given].std() + 1e-12
        errors[family].append((error(y) / size, min(others.values()) / size))
        kept &= np.array_equal(y[given].astype(np.float32), x[given].astype(np.float32))
    everything = np.concatenate([ratios(values) for values in errors.values()])
    return {
        "problems": len(drawn),
        "given_entries_kept": bool(kept),
        "within_1.2": int((everything <= 1.2).sum()),
        "median_ratio": float(np.median(everything)),
        "families": {family: of_family(np.array(values)) for family, values in errors.items()},
    }


def ratios(errors):
    """Errors over those of the better of the two programs."""
    return np.divide(*np.transpose(errors))


def of_family(errors):
    """What is kept of a family: mean errors with their standard errors, and ratios."""
    own, better = errors.T
    return {
        "problems": len(own),
        "within_1.2": int((ratios(errors) <= 1.2).sum()),
        "median_ratio": float(np.median(ratios(errors))),
        "largest_ratio": float(np.max(ratios(errors))),
        "mean_error": float(own.mean()),
        "mean_error_sem": standard_error(own),
        "mean_error_of_the_better": float(better.mean()),
        "mean_error_of_the_better_sem": standard_error(better),
    }


# Sums.


def measure_sums(rng, zoo):
    """Sums and copies of entries of many sizes beside NumPy's."""
    found = {}
    for task, shape in (("addition", (2, 30)), ("edge-copy", (8, 8))):
        problems = [
            rng.normal(size=shape) * 10.0 ** rng.uniform(-4, 4, shape) * (rng.random(shape) < 0.8)
            for _ in range(50)
        ]
        answers = by_shape(load(zoo, task), problems)
        errors = []
        for x, (y, *_) in zip(problems, answers, strict=True):
            x = x.astype(np.float32).astype(np.float64)
            truth = x.sum(0) if task == "addition" else x
            size = np.abs(x).sum(0) if task == "addition" else np.abs(x)
            errors.append(np.max(np.abs(y - truth) / np.maximum(size, 1e-30)))
        found[task] = verdicts(["many sizes"] * len(errors), answers, errors)
    return found


KINDS = {
    "graphs": measure_graphs,
    "components": measure_components,
    "matrices": measure_matrices,
    "tables": measure_tables,
    "sums": measure_sums,
}

if __name__ == "__main__":
    main()
