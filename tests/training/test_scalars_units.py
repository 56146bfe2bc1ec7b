"""What a training shows while it runs, and the file that TensorBoard reads."""

import struct
import types

import pytest
import rich.console
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.record_writer import masked_crc32c

from irem.training import progress
from irem.training.progress import Progress
from irem.training.run import History
from irem.training.scalars import EVENTS, Scalars


def events(folder):
    """Every event of the one file of a folder, whose checksums are right."""
    (path,) = folder.glob(f"{EVENTS}*")
    data, found = path.read_bytes(), []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        (check,) = struct.unpack("<I", data[8:12])
        assert check == masked_crc32c(data[:8])
        record = data[12 : 12 + size]
        (check,) = struct.unpack("<I", data[12 + size : 16 + size])
        assert check == masked_crc32c(record)
        found.append(Event.FromString(record))
        data = data[16 + size :]
    return found


def test_scalars_are_there_once_written_and_gaps_are_left_out(tmp_path):
    scalars = Scalars(tmp_path, done=40)
    scalars.close()
    assert not list(tmp_path.iterdir())
    scalars.write(50, {"loss": 0.5, "norm": float("nan"), "rate": 3})
    scalars.write(60, {"loss": float("inf"), "norm": 0.25})
    version, session, *rest = events(tmp_path)
    assert version.file_version == "brain.Event:2"
    # Whatever a killed run wrote from here on is struck out.
    assert session.session_log.status == SessionLog.START
    assert session.step == 41
    values = [(e.step, v.tag, v.simple_value) for e in rest for v in e.summary.value]
    assert values == [(50, "loss", 0.5), (50, "rate", 3.0), (60, "norm", 0.25)]
    scalars.close()
    with pytest.raises(ValueError, match="closed file"):
        scalars.write(70, {"loss": 1.0})


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand, which begins at 1000 seconds."""
    now = types.SimpleNamespace(seconds=1000.0)
    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=lambda: now.seconds))
    return now


def history(*chunks):
    """A history of chunks, each its end, its losses and its skipped updates by seed."""
    made = History.empty(len(chunks[0][1]))
    for end, loss, skipped in chunks:
        norm = [10 * value for value in loss]
        made = made.append(
            iteration=end, loss=loss, gradient_norm=norm, skipped=skipped, constant_error=loss
        )
    return made


FIRST = (100, [0.5], [0])
SECOND = (200, [0.25], [3])
THIRD = (400, [0.125], [4])


def test_lines_tell_the_rate_the_time_left_and_updates_that_were_skipped(clock, capsys):
    with Progress(None, 400, 1, "lines", 0) as shown:
        clock.seconds += 2
        shown.show(history(FIRST))  # too soon after the beginning
        clock.seconds += 4
        shown.show(history(FIRST, SECOND))
        clock.seconds += 4  # four seconds are not yet longer than four
        shown.show(history(FIRST, SECOND, (300, [0.25], [0])))
        clock.seconds += 1
        shown.show(history(FIRST, SECOND, (300, [0.25], [0]), THIRD))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "training 200/400, 25 it/s, 8 s left, loss 2.50e-01, 3 updates skipped",
        "training 400/400, 100 it/s, 0 s left, loss 1.25e-01, 7 updates skipped",
    ]


def test_a_resumed_run_counts_its_own_iterations(clock, capsys):
    with Progress(None, 400, 2, "lines", 100) as shown:
        clock.seconds += 5
        shown.show(history((100, [0.5, 0.7], [0, 0]), (200, [0.25, 0.75], [0, 0])))
    assert capsys.readouterr().err == "training 200/400, 20 it/s, 10 s left, loss 5.00e-01\n"


def test_long_lines_are_not_wrapped_and_have_no_colours(clock, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Progress(None, 100, 1, "lines", 0) as shown:
        clock.seconds += 5
        shown.show(history(FIRST))
    assert capsys.readouterr().err == "training 100/100, 20 it/s, 0 s left, loss 5.00e-01\n"


@pytest.mark.parametrize(
    ("asked", "terminal", "bar", "lines"),
    [
        (True, True, True, False),
        (True, False, False, True),
        ("lines", True, False, True),
        ("lines", False, False, True),
        (False, True, False, False),
        (False, False, False, False),
    ],
)
def test_a_bar_is_drawn_on_a_terminal_and_lines_elsewhere(
    asked, terminal, bar, lines, clock, capsys, monkeypatch
):
    monkeypatch.setattr(rich.console.Console, "is_terminal", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Progress(None, 100, 1, asked, 0) as shown:
        assert shown._bar.live.is_started is bar
        assert shown._bar.disable is not bar
        clock.seconds += 5
        shown.show(history(FIRST))
        (task,) = shown._bar.tasks
        assert (task.completed, task.total) == (100, 100)
        assert task.fields == {"rate": "20 it/s", "note": "loss 5.00e-01"}
    assert not shown._bar.live.is_started
    assert ("training 100/100, 20 it/s" in capsys.readouterr().err) is lines


@pytest.mark.parametrize("tags", [[""], ["/model0", "/model1"]], ids=["one", "two"])
def test_the_last_chunk_of_every_model_goes_to_tensorboard(tags, clock, tmp_path):
    seeds = len(tags)
    chunks = [(end, [end + s for s in range(seeds)], [end] * seeds) for end in (10, 20, 30, 40)]
    with Progress(tmp_path, 400, seeds, False, 10) as shown:
        clock.seconds += 2
        shown.show(history(*chunks))
        file = shown._scalars._file
        assert not file.closed
    assert file.closed
    _, session, *rest = events(tmp_path)
    assert session.step == 11
    values = {(e.step, v.tag): v.simple_value for e in rest for v in e.summary.value}
    expected = {(40, "iterations_per_second"): 15.0}
    for seed, tag in enumerate(tags):
        expected[40, f"loss{tag}"] = 40 + seed
        expected[40, f"gradient_norm{tag}"] = 10 * (40 + seed)
        expected[40, f"skipped_updates{tag}"] = 40
    assert values == expected


@pytest.mark.usefixtures("clock")
def test_a_chunk_that_took_no_time_is_shown(capsys):
    with Progress(None, 100, 1, "lines", 0) as shown:
        shown.show(history(FIRST))
    assert "training 100/100" in capsys.readouterr().err
