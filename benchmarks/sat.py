"""3-SAT by descent: formulas solved, descents needed, cost of an evaluation, a network's share.

    python benchmarks/sat.py --out results/sat.json

Random formulas of three literals; a SAT solver (CaDiCaL, from python-sat, one of the development
dependencies) says which of them can be satisfied at all. Some minutes on two cores.
"""

import argparse
import json
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from pysat.solvers import Cadical153

from irem._files import write_whole
from irem.energy import SAT
from irem.experiments import provenance
from irem.methods import as_literals, random_formula, satisfy

SIZES = {20: 100, 50: 100, 100: 100, 200: 50}  # variables: formulas
COSTS = (20, 50, 100, 200, 500, 1000, 2000)  # variables
RATIOS = (3.0, 3.25, 3.5, 3.75, 4.0, 4.1, 4.2)


def satisfiable(formula, assumptions=()):
    """Whether a formula has a satisfying assignment that agrees with some literals."""
    with Cadical153(bootstrap_with=formula.literals.tolist()) as solver:
        return solver.solve(assumptions=[int(literal) for literal in assumptions])


def draw(variables, ratio, number):
    """The first `number` random formulas that can be satisfied."""
    found, seed = [], 0
    while len(found) < number:
        key = jax.random.fold_in(jax.random.key(variables), seed)
        formula = random_formula(key, variables, round(ratio * variables))
        seed += 1
        if satisfiable(formula):
            found.append(formula)
    return found


def solved(variables, ratio, number):
    """How many satisfiable formulas are satisfied within the default budget."""
    start = time.perf_counter()
    answers = []
    for index, formula in enumerate(draw(variables, ratio, number)):
        found = satisfy(formula, key=jax.random.key(index))
        if found.assignment is not None:
            assert satisfiable(formula, as_literals(found.assignment))
        answers.append(found)
    return {
        "variables": variables,
        "ratio": ratio,
        "formulas": number,
        "solved": sum(a.assignment is not None for a in answers),
        "in_first_round": sum(a.assignment is not None and a.rounds == 1 for a in answers),
        "descents_mean": float(np.mean([a.descents for a in answers])),
        "seconds": time.perf_counter() - start,
    }


def evaluation(variables, ratio=4.0, repeats=20):
    """Microseconds of one evaluation of the energy and its gradient, in a batch of 256."""
    formula = random_formula(jax.random.key(0), variables, round(ratio * variables))
    landscape = jax.value_and_grad(SAT(variables).landscape(formula.literals))
    both = jax.jit(jax.vmap(landscape))
    y = jax.random.uniform(jax.random.key(1), (256, variables), minval=-1.0)
    jax.block_until_ready(both(y))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(both(y))
        times.append(1e6 * (time.perf_counter() - start) / 256)
    return {"variables": variables, "clauses": len(formula.literals), "microseconds": times}


def incidence(formula):
    """Clauses x variables: the sign of a variable where a clause has it, else 0."""
    table = np.zeros((len(formula.literals), formula.variables), np.float32)
    rows = np.arange(len(formula.literals))[:, None]
    table[rows, np.abs(formula.literals) - 1] = np.sign(formula.literals)
    return table


def feedforward(variables, ratio=3.5, iterations=2000, number=200):
    """Share of satisfiable formulas that a network of fixed size satisfies in one pass.

    Three layers of 512, trained to lower the energy of its own answer: it has the same verifier as
    the descent, and fresh formulas at every iteration.
    """
    clauses = round(ratio * variables)
    sizes = (clauses * variables, variables, 512, 3)
    network = eqx.nn.MLP(*sizes, key=jax.random.key(0))
    energy, optimiser = SAT(variables), optax.adam(1e-3)

    def fresh(key):
        key_places, key_signs = jax.random.split(key)
        places = jax.random.uniform(key_places, (clauses, variables))
        chosen = jax.lax.top_k(places, 3)[1]
        return (chosen + 1) * jax.random.rademacher(key_signs, chosen.shape, jnp.int32)

    def table(literals):
        rows = jnp.arange(clauses)[:, None]
        empty = jnp.zeros((clauses, variables))
        return empty.at[rows, jnp.abs(literals) - 1].set(jnp.sign(literals).astype(empty.dtype))

    def loss(network, literals):
        answers = jax.vmap(lambda x: network(table(x).ravel()))(literals)
        return jax.vmap(energy)(literals, answers).mean()

    @eqx.filter_jit
    def step(network, state, key):
        literals = jax.vmap(fresh)(jax.random.split(key, 128))
        gradient = eqx.filter_grad(loss)(network, literals)
        updates, state = optimiser.update(gradient, state)
        return eqx.apply_updates(network, updates), state

    state = optimiser.init(eqx.filter(network, eqx.is_array))
    for key in jax.random.split(jax.random.key(1), iterations):
        network, state = step(network, state, key)
    formulas = draw(variables, ratio, number)
    inputs = jnp.asarray(np.stack([incidence(f).ravel() for f in formulas]))
    answers = np.asarray(jax.vmap(network)(inputs)) > 0
    right = [f.satisfied_by(a).all() for f, a in zip(formulas, answers, strict=True)]
    about = {"variables": variables, "ratio": ratio, "formulas": number, "iterations": iterations}
    return {**about, "solved": int(np.sum(right))}


def main():
    """Measure, and keep what is done after every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    kinds = ("sizes", "ratios", "evaluations", "feedforward")
    result = {**provenance(), **{kind: [] for kind in kinds}}
    work = [("sizes", lambda n=n, k=k: solved(n, 3.5, k)) for n, k in SIZES.items()]
    work += [("ratios", lambda r=r: solved(100, r, 30)) for r in RATIOS]
    work += [("evaluations", lambda n=n: evaluation(n)) for n in COSTS]
    work += [("feedforward", lambda n=n: feedforward(n)) for n in (5, 10, 15, 20, 30)]
    for kind, measure in work:
        result[kind].append(measure())
        print(json.dumps(result[kind][-1]), flush=True)
        if options.out is not None:
            write_whole(options.out, (json.dumps(result, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
