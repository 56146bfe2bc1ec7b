"""Many clients at once: errors, wrong answers, problems per second, and who waits for whom.

Run `python benchmarks/serve_load.py --seconds 20`. A server is started, warmed up, and asked by 64
clients for problems of mixed sizes and models. Answers are compared with those of NumPy and SciPy.
The problems that were answered are then given to `irem solve`'s own function, size by size, and the
two rates stand beside each other. Then easy problems are timed alone, and while hard ones run.
"""

import argparse
import collections
import http.client
import json
import re
import subprocess
import sys
import threading
import time

import numpy as np
from scipy.sparse.csgraph import shortest_path

import irem
from irem.serve import Limits, load_models

MODELS = ("matrix-inverse", "shortest-path", "prefix-sums", "maze")
SIZES = {"matrix-inverse": (5, 6), "shortest-path": (6, 8), "prefix-sums": (16, 32)}
MAZE = """#########
#S  #   #
# # # # #
# #   # #
# ##### #
# #   # #
# # # # #
#   #  E#
#########"""


def draw(rng, name):
    """A problem as JSON."""
    if name == "maze":
        return {"maze": MAZE if rng.random() < 0.5 else MAZE.replace("#   #  E#", "#   # E #")}
    n = int(rng.choice(SIZES[name]))
    if name == "prefix-sums":
        return {"bits": "".join(map(str, rng.integers(0, 2, n)))}
    if name == "matrix-inverse":
        a = rng.normal(size=(n, n))
        return (a @ a.T / n + np.eye(n)).round(4).tolist()
    edges = rng.uniform(0.1, 1, (n, n))
    edges = np.minimum(edges, edges.T).round(4)
    np.fill_diagonal(edges, 0)
    return edges.tolist()


def is_right(name, x, y):
    """Whether an answer is that of NumPy or SciPy; that of a maze is checked by its length."""
    if name == "matrix-inverse":
        return np.allclose(np.array(y) @ np.array(x), np.eye(len(x)), atol=0.02)
    if name == "shortest-path":
        return np.allclose(y, shortest_path(np.array(x)), rtol=0.02, atol=1e-4)
    if name == "prefix-sums":
        return y["bits"] == "".join(str(b) for b in np.cumsum(list(map(int, x["bits"]))) % 2)
    return 0 < np.sum(np.array(y["path"]) > 0.5) < x["maze"].count(" ") + 3


def ask(connection, name, problems, **options):
    """The status and the body of an answer."""
    body = json.dumps({"problems": problems, **options})
    headers = {"content-type": "application/json"}
    connection.request("POST", f"/v1/models/{name}/solve", body, headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


class Load:
    """What some clients asked, and what they got."""

    def __init__(self, port):
        self.port, self.lock = port, threading.Lock()
        self.errors, self.wrong, self.unverified = [], [], 0
        self.answered = collections.defaultdict(list)

    def client(self, seed, until, per_request):
        """Ask until it is time."""
        rng = np.random.default_rng(seed)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        while time.monotonic() < until:
            name = MODELS[int(rng.integers(len(MODELS)))]
            problems = [draw(rng, name) for _ in range(per_request)]
            try:
                status, found = ask(connection, name, problems)
            except OSError as error:
                status, found = repr(error), None
            with self.lock:
                self.take(name, problems, status, found)

    def take(self, name, problems, status, found):
        """Compare answers with what is right."""
        if status != 200:
            self.errors.append((status, found))
            return
        for problem, answer in zip(problems, found["answers"], strict=True):
            self.answered[name].append(problem)
            if not answer["verified"]:
                self.unverified += 1
            elif not is_right(name, problem, answer["y"]):
                self.wrong.append((name, problem, answer))


def count_programs(port):
    """How many programs the server has compiled."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", "/metrics")
    return re.search(r"^irem_programs (\S+)", connection.getresponse().read().decode(), re.M)[1]


def run_clients(port, seconds, clients, per_request=4):
    """What so many clients got, and how long it took."""
    load, until = Load(port), time.monotonic() + seconds
    threads = [
        threading.Thread(target=load.client, args=(seed, until, per_request))
        for seed in range(clients)
    ]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return load, time.monotonic() - began


def solve_here(answered):
    """Seconds that `Run.solve` takes for the same problems, sizes one after another, warm."""
    models, total = load_models([f"zoo:{n}" for n in MODELS], Limits()), 0.0
    for name, problems in answered.items():
        by_size = collections.defaultdict(list)
        for problem in problems:
            (part,) = models[name].kind.read(problem).parts
            array = np.asarray(getattr(part, "edges", part))[0]
            by_size[array.shape].append(array)
        for stack in by_size.values():
            x = np.stack(stack)
            models[name].run.solve(x)
            began = time.perf_counter()
            models[name].run.solve(x)
            total += time.perf_counter() - began
    return total


def latencies(port, seconds, name="shortest-path"):
    """Seconds that easy requests take, one after another."""
    rng = np.random.default_rng(0)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    found, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        status, _ = ask(connection, name, [draw(rng, name)])
        assert status == 200
        found.append(time.perf_counter() - began)
    return np.percentile(found, 95), np.median(found), len(found)


def keep_busy(port, stop):
    """Ask for problems that take a second and more until told to stop: long lines of bits."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    rng = np.random.default_rng(1)
    while not stop.is_set():
        bits = {"bits": "".join(map(str, rng.integers(0, 2, 513)))}
        ask(connection, "prefix-sums", [bits] * 4)


def main():
    """Start a server, measure, and end it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=64)
    given = parser.parse_args()
    command = [sys.executable, "-m", "irem", "serve", *(f"zoo:{n}" for n in MODELS), "--port", "0"]
    server = subprocess.Popen([*command, "--no-warm"], stderr=subprocess.PIPE, text=True)
    port = int(re.search(r":(\d+) ", server.stderr.readline())[1])
    try:
        measure(port, given)
    finally:
        server.terminate()
        print("exit code of the server:", server.wait(60))


def measure(port, given):
    """Print what was measured."""
    began = time.monotonic()
    programs = -1
    while programs != (programs := count_programs(port)):  # all that are needed are compiled
        run_clients(port, 4, given.clients)
    print(f"warm after {time.monotonic() - began:.0f} s; irem {irem.__version__}", flush=True)
    load, took = run_clients(port, given.seconds, given.clients)
    number = sum(map(len, load.answered.values()))
    alone = solve_here(load.answered)
    print(f"{given.clients} clients, {took:.1f} s: {number} problems, {len(load.errors)} errors")
    print(f"wrong but verified: {len(load.wrong)}, not verified: {load.unverified}")
    print(f"problems per second: server {number / took:.0f}, Run.solve {number / alone:.0f}")
    print(f"ratio {alone / took:.2f}", flush=True)
    stop = threading.Event()
    busy = [threading.Thread(target=keep_busy, args=(port, stop)) for _ in range(4)]
    quiet = latencies(port, 3)
    for thread in busy:
        thread.start()
    time.sleep(8)  # until the programs for the hard ones are compiled
    loud = latencies(port, 5)
    stop.set()
    for thread in busy:
        thread.join()
    for what, found in (("alone", quiet), ("while hard ones run", loud)):
        print(
            f"easy problems {what}: 95th percentile {1000 * found[0]:.1f} ms, "
            f"median {1000 * found[1]:.1f} ms, {found[2]} requests"
        )
    print(f"ratio of the percentiles {loud[0] / quiet[0]:.2f}")


if __name__ == "__main__":
    main()
