"""A server in this process with a model whose problems are as hard as they are asked to be."""

import contextlib
import http.client
import json
import threading

import jax.numpy as jnp
import numpy as np

import irem
from irem.energy.base import AbstractEnergy
from irem.formats import Tables
from irem.serve import Limits, create_app, open_socket, run_server
from irem.serve.models import ServedModel
from irem.training import History, Run

SIZE = 4
LIMITS = Limits(
    body=200_000, problems=20, entries=64, waiting=24, walks=2, seconds=20.0, reading=1.0
)


class Sums(AbstractEnergy):
    """The sum of two vectors, as flat as the smallest entry of the first one says."""

    default_step = "fixed"
    default_max_steps = 100_000
    default_retries = 1

    @property
    def format(self):
        return Tables(channels=2)

    @property
    def step_size(self):
        return 0.25

    def landscape(self, x):
        flat = jnp.minimum(1.0, jnp.min(jnp.abs(x[0])))
        return lambda y: jnp.sum(flat * jnp.square(y - x[0] - x[1]))


def sums_model(limits=LIMITS, name="sums"):
    task = irem.tasks.get("addition", size=SIZE, variant="wide")
    method = irem.IREM(Sums(), step_size=0.25).bound_to(task)
    return ServedModel(name, Run(task, (method,), 0, History.empty(1), {}), limits)


class Client:
    """Requests to a server on this machine."""

    def __init__(self, port, headers=()):
        self.port, self.headers = port, dict(headers)

    def __call__(self, method, path, body=None, timeout=60, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        given = {**self.headers, **{n.replace("_", "-"): v for n, v in headers.items()}}
        if isinstance(body, dict | list):
            body = json.dumps(body)
            given.setdefault("content-type", "application/json")
        try:
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        kind = answer.headers.get("content-type", "")
        if kind == "application/json":
            data = json.loads(data)
        elif "ndjson" in kind:
            data = [json.loads(line) for line in data.splitlines()]
        return answer.status, data, answer.headers

    def solve(self, problems, model="sums", **options):
        return self("POST", f"/v1/models/{model}/solve", {"problems": problems, **options})

    def walk(self, problem, model="sums", **options):
        return self("POST", f"/v1/models/{model}/walk", {"problem": problem, **options})[1]

    def gauge(self, name):
        text = self("GET", "/metrics")[1].decode()
        return float(next(line.split()[1] for line in text.splitlines() if line.startswith(name)))


@contextlib.contextmanager
def running(models, limits=LIMITS, **options):
    """A server in a thread; its client."""
    app = create_app({model.name: model for model in models}, limits, warm=False, **options)
    listening, stop, started = open_socket("127.0.0.1", 0), threading.Event(), threading.Event()
    port = listening.getsockname()[1]
    named = {"stop": stop.is_set, "started": started.set}
    thread = threading.Thread(target=run_server, args=(app, listening, limits), kwargs=named)
    thread.start()
    assert started.wait(30)
    try:
        yield Client(port)
    finally:
        stop.set()
        thread.join()


def loopback():
    """A server of the model of sums that is called by the names of this machine."""
    return running([sums_model()], hosts=("127.0.0.1", "localhost"))


def problem(seed=0, hard=0.0):
    """A problem that takes a few steps, or so many that it never ends."""
    x = np.random.default_rng(seed).uniform(1, 2, (2, SIZE)).round(3)
    if hard:
        x[0, 0] = hard
    return x.tolist()
