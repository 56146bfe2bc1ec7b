"""Work that is shared among devices: the same answers, and next to nothing to tell each other."""

import json
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import jax
import numpy as np
import pytest

import irem
from irem import devices as devices_
from irem.collectives import messages

PROGRAM = Path(__file__).with_name("eight_devices.py")


@pytest.fixture(scope="module")
def found():
    """What eight virtual devices computed in a process of their own."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    command, environment = [sys.executable, str(PROGRAM)], os.environ | {"XLA_FLAGS": flags}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("models", ["one model", "two models", "eight models"])
def test_training_is_the_same_on_eight_devices_as_on_one(found, models):
    shared, alone = found["trained"][models]
    np.testing.assert_allclose(shared["weights"], alone["weights"], rtol=0, atol=1e-6)
    for name in ("loss", "gradient_norm", "constant_error"):
        np.testing.assert_allclose(shared[name], alone[name], rtol=1e-5, err_msg=name)
    assert shared["iteration"] == alone["iteration"]


def test_a_run_goes_on_with_another_number_of_devices(found):
    again, alone = found["resumed"]["runs"]
    np.testing.assert_allclose(again["weights"], alone["weights"], rtol=0, atol=1e-6)
    # The replay stays in eight parts, whatever the number of devices.
    assert found["resumed"]["parts"] == 8
    assert found["resumed"]["iteration"] == 120


@pytest.mark.parametrize("models", ["1", "2"])
def test_devices_that_share_a_batch_send_one_message_in_an_iteration(found, models):
    sent, weights = found["sent"][models]["messages"], found["sent"][models]["weights"]
    (each,) = [(kind, size) for kind, size, again in sent if again]
    # Every weight has a gradient but the last bias, which moves no minimum; beside them go the
    # loss and three numbers of the error of a constant answer.
    assert each == ("all-reduce", 4 * (weights - 1 + 4))


def test_models_on_devices_of_their_own_send_nothing(found):
    assert found["sent"]["8"]["messages"] == []


@pytest.mark.parametrize("how", ["queues", "batches"])
def test_every_problem_has_the_answer_of_one_device(found, how):
    shared, alone = found[how]["solutions"]
    np.testing.assert_allclose(shared["y"], alone["y"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(shared["y"], 1, atol=2e-2)
    assert shared["steps"] == alone["steps"]
    assert np.ptp(shared["steps"]) > 100
    assert shared["reason"] == alone["reason"]
    assert found[how]["done"] == len(shared["y"])


def test_solving_sends_nothing(found):
    assert found["sent in solving"] == [[], []]


def test_checked_answers_of_several_starts_are_those_of_one_device(found):
    assert found["checked"]["verified"] == [True] * 3
    shared, alone = found["checked"]["answers"]
    np.testing.assert_allclose(shared, alone, atol=1e-5)


def test_means_are_weighted_and_parts_that_count_nothing_are_left_out(found):
    values, weights, means = (np.array(found["means"][n]) for n in ("values", "weights", "means"))
    for of_model, weight, mean in zip(values, weights, means, strict=True):
        counts = weight > 0
        expected = np.average(of_model[counts], axis=0, weights=weight[counts])
        np.testing.assert_allclose(mean, np.tile(expected, (4, 1)), rtol=1e-5, atol=1e-6)


def test_devices_that_cannot_share_are_refused_in_one_sentence(found):
    said = found["refusals"]
    assert said["too many"].startswith("9 devices are asked for, and there are 8 (cpu)")
    assert "batch size that is a multiple of 3" in said["batch"]
    assert said["parts"].startswith("A replay buffer of 4 parts cannot be on 8 devices")
    assert "16 problems has no 5 equal parts" in said["parts of a batch"]
    assert "16 problems has no 64 equal parts" in said["buffer"]


FakeDevice = namedtuple("FakeDevice", "process_index id platform")


@pytest.fixture
def hosts(monkeypatch):
    """Pretend that hosts have so many devices each."""

    def pretend(*sizes):
        made = [FakeDevice(h, 10 * h + i, "gpu") for h, n in enumerate(sizes) for i in range(n)]
        monkeypatch.setattr(jax, "devices", lambda: made[::-1])
        monkeypatch.setattr(devices_, "hosts", lambda: len(sizes))
        monkeypatch.setattr(jax, "process_index", lambda: len(sizes) - 1)

    return pretend


def test_every_host_gives_as_many_devices(hosts):
    hosts(4, 4)
    assert [d.id for d in irem.Devices(6).everywhere()] == [0, 1, 2, 10, 11, 12]
    assert [d.id for d in irem.Devices().here()] == [10, 11, 12, 13]
    with pytest.raises(irem.InputError, match="multiple of 2"):
        irem.Devices(3).everywhere()
    with pytest.raises(irem.InputError, match=r"there are 8 \(gpu\); ask for fewer\.$"):
        irem.Devices(9).everywhere()


def test_unequal_hosts_are_refused(hosts):
    hosts(4, 4, 2)
    with pytest.raises(irem.InputError, match="hosts have 4, 4 and 2 devices"):
        irem.Devices().everywhere()


@pytest.mark.parametrize("number", [0, -1, 1.5])
def test_a_number_of_devices_is_a_count(number):
    with pytest.raises(irem.InputError, match="`devices` must be"):
        irem.Devices(number)


def test_devices_are_those_of_the_innermost_context():
    assert devices_.entered() is None
    with irem.Devices(1) as outer:
        with irem.Devices() as inner:
            assert devices_.entered() is inner
        assert devices_.entered() is outer
    assert devices_.entered() is None


def test_messages_are_read_from_the_text_of_a_program():
    text = """
%body (p: f32[8]) -> f32[8] {
  %r = (bf16[3,5]{1,0}, pred[7]{0}, f32[]) all-reduce(%a, %b, %c), channel_id=1
  %s = f32[2,8]{1,0} all-gather-start(%d), dimensions={0}
  ROOT %t = f32[8]{0} add(%all-reduce.1, %d)
}

ENTRY %main (p: f32[8]) -> f32[8] {
  %u = s64[4]{0} collective-permute(%p), source_target_pairs={{0,1}}
}
"""
    assert messages(text) == [
        ("all-reduce", 30 + 7 + 4, True),
        ("all-gather", 64, True),
        ("collective-permute", 32, False),
    ]
