"""Two processes that work on one task over loopback, as two hosts would."""

import json
import os
import socket
import subprocess
import sys
import time

import jax
import numpy as np
import pytest
import safetensors.numpy

import irem
from irem import hosts
from irem.cli import main
from irem.cli.hosts import own_rows

TRAIN = [
    *("train", "addition", "--recipe", "paper", "--batch-size", "8"),
    *("--set", "task.size=4", "--set", "energy.width=8", "--set", "replay.capacity=64"),
    *("--checkpoint-seconds", "0", "--resume"),
]
LENGTH = 200
SECONDS = 600


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What one run has compiled, the next need not."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(command, cache):
    options = {"env": os.environ | cache, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(list(map(str, command)), text=True, **options)


def start_both(*arguments, cache):
    """The same command as the two tasks of a job of Slurm."""
    job = {"SLURM_JOB_ID": "1", "SLURM_STEP_NODELIST": "127.0.0.1", "SLURM_NTASKS": "2"}
    job |= {"JAX_COORDINATOR_PORT": str(free_port())}
    places = [{"SLURM_PROCID": str(task), "SLURM_LOCALID": str(task)} for task in range(2)]
    command = [sys.executable, "-m", "irem", *arguments, "--hosts"]
    return [start(command, cache | job | place) for place in places]


def finish(started):
    """Exit codes and output of both processes."""
    try:
        output = [process.communicate(timeout=SECONDS) for process in started]
    finally:
        for process in started:
            process.kill()
    return [(p.returncode, *told) for p, told in zip(started, output, strict=True)]


def kept(folder):
    return {
        name: array.tobytes()
        for name, array in safetensors.numpy.load_file(folder / "checkpoint.safetensors").items()
    }


# Several commands in one process, as starting anew takes seconds.
COMMANDS = """
import json
import sys
import irem
from irem.cli import main

coordinator, host, commands = sys.argv[1:]
irem.join_hosts(coordinator, 2, int(host))
for command in json.loads(commands):
    sys.argv = ["irem", *command]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
"""


def kill_once_kept(folder, started):
    """Kill processes when a run has its first checkpoint, and return what they printed."""
    until = time.monotonic() + SECONDS
    printed = []
    try:
        while not (folder / "checkpoint.safetensors").exists():
            assert time.monotonic() < until
            ended = [process.communicate() for process in started if process.poll() is not None]
            assert not ended, ended
            time.sleep(0.01)
    finally:
        # The second one first; the first one waits for it, and the job is ended, as Slurm does.
        for process in started[::-1]:
            process.kill()
            printed.insert(0, process.communicate())
    return printed


@pytest.fixture(scope="module")
def job(tmp_path_factory, cache):
    """Folders of a run that nothing disturbed and of one that was killed, and what was printed.

    The two processes also answer the problems of a file in between.
    """
    folder, killed = tmp_path_factory.mktemp("hosts"), tmp_path_factory.mktemp("killed") / "run"
    x = np.random.default_rng(0).uniform(-1, 1, (7, 2, 4)).astype(np.float32)
    np.save(folder / "x.npy", x)
    commands = [
        [*TRAIN, "--iterations", LENGTH, "--out", folder / "run"],
        ["solve", folder / "run", folder / "x.npy", "--out", folder / "two.npz"],
        # It cannot come to its end before it is killed.
        [*TRAIN, "--iterations", 100_000, "--out", killed],
    ]
    told = json.dumps([list(map(str, command)) for command in commands])
    program = [sys.executable, "-u", "-c", COMMANDS, f"127.0.0.1:{free_port()}"]
    started = [start([*program, host, told], cache) for host in range(2)]
    return folder, killed, kill_once_kept(killed, started)


def test_two_processes_train_one_model_and_keep_it_once(job):
    folder, _, ((out, err), (other_out, other_err)) = job
    assert f"Trained {LENGTH} iterations" in out
    assert f"training {LENGTH}/{LENGTH}" in err
    assert "Trained" not in other_out
    assert "training" not in other_err
    trained = irem.load(folder / "run")
    assert trained.iteration == LENGTH
    assert trained.settings["replay"]["parts"] == 2
    assert len(list((folder / "run").glob("events.*"))) == 1
    assert not list((folder / "run").glob(".*"))


def test_every_process_answers_its_part_of_a_file(job, monkeypatch):
    folder, _, ((out, _), (other_out, _)) = job
    assert "Answered 7 problems" in out
    assert "Answered" not in other_out
    # Nothing of the parts is left.
    assert sorted(path.name for path in folder.iterdir()) == ["run", "two.npz", "x.npy"]
    command = ["irem", "solve", folder / "run", folder / "x.npy", "--out", folder / "one.npz"]
    monkeypatch.setattr(sys, "argv", list(map(str, command)))
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    with np.load(folder / "two.npz") as shared, np.load(folder / "one.npz") as one:
        assert list(shared) == list(one)
        np.testing.assert_allclose(shared["y"], one["y"], atol=1e-6)
        np.testing.assert_array_equal(shared["verdict"], one["verdict"])


def test_a_process_that_is_killed_and_resumed_changes_no_bit(job, cache):
    straight, folder, _ = job
    assert 0 < irem.load(folder).iteration < LENGTH
    again = start_both(*TRAIN, "--iterations", LENGTH, "--out", folder, "--json", cache=cache)
    (code, out, err), (other_code, other_out, other_err) = finish(again)
    assert (code, other_code) == (0, 0), err + other_err
    # Whatever libraries print goes elsewhere.
    assert json.loads(out)["iterations"] == LENGTH
    assert other_out == ""
    assert kept(folder) == kept(straight / "run")


def test_what_one_host_refuses_all_refuse(monkeypatch):
    def gathered(*own):
        other = np.zeros(len(own))
        other[:3] = list(b"No.")
        return np.stack([own, other])

    monkeypatch.setattr(hosts, "hosts", lambda: 2)
    monkeypatch.setattr(hosts, "gather_numbers", gathered)
    done = []
    with pytest.raises(irem.InputError, match=r"^No\.$"):
        hosts.together(lambda: done.append(1))
    assert done == [1]
    monkeypatch.setattr(hosts, "gather_numbers", lambda *own: np.array([own, own]))
    assert hosts.together(lambda: 5) == 5


def test_the_others_wait_for_what_the_first_host_does(monkeypatch):
    monkeypatch.setattr(hosts, "hosts", lambda: 2)
    monkeypatch.setattr(hosts, "gather_numbers", lambda *own: np.array([own, own]))
    monkeypatch.setattr(hosts, "is_first", lambda: False)
    assert hosts.first_alone(lambda: 5) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("10.0.0.1:80", 2, None), "belong together"),
        (("10.0.0.1:80", 2, 2), "from 0 to 1, got 2"),
        (("10.0.0.1", 2, 0), "needs a port, such as 10.0.0.1:8476"),
    ],
)
def test_hosts_that_cannot_come_together_are_refused(given, expected):
    with pytest.raises(irem.InputError, match=expected):
        irem.join_hosts(*given)


def test_where_no_job_says_which_hosts_there_are_that_is_asked_for(monkeypatch):
    def initialize(*arguments):
        assert arguments == (None, None, None)
        raise ValueError("coordinator_address should be defined.")

    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    with pytest.raises(irem.InputError, match="No variables of Slurm, Open MPI or Kubernetes"):
        irem.join_hosts()


def test_hosts_with_other_settings_are_named(monkeypatch):
    monkeypatch.setattr(hosts, "hosts", lambda: 3)
    others = lambda number: np.array([[number], [number], [number + 1]])  # noqa: E731
    monkeypatch.setattr(hosts, "gather_numbers", others)
    with pytest.raises(irem.InputError, match="Host 2 was given another batch than host 0"):
        hosts.check_same("batch", "16")


def test_one_host_waits_for_nobody():
    assert hosts.hosts() == 1
    assert hosts.is_first()
    assert hosts.any_host(True, False) == (True, False)
    assert hosts.first_alone(lambda: 3) == 3
    np.testing.assert_array_equal(hosts.of_first(np.arange(3)), np.arange(3))
    hosts.check_same("batch", "16")


def test_parts_of_hosts_are_all_problems_once_and_in_order():
    for problems in range(6):
        parts = [own_rows(problems, host, 4) for host in range(4)]
        assert [i for part in parts for i in range(problems)[part]] == list(range(problems))
