"""Put one model of a finished run into the package, as a model that comes with irem.

    python tools/ship.py runs/structure/models/addition-structure src/irem/zoo/addition
    python tools/ship.py --half runs/denoise/models/denoise-irem-longer src/irem/zoo/denoise

Of several models the one with the smallest error on 1,000 validation problems like those of
training is taken, unless --model says which. What the run says of folders of its own machine is
left out, and of its history all but every tenth entry. A calibration comes along. The card
beside it (README.md) is written by `zoo_cards.py` from what `zoo_errors.py` and `outside.py`
measure; `irem zoo` shows its first sentence.
"""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

import irem
from irem.evaluation import write_calibrations
from irem.keys import fresh_key
from irem.training import finish, is_finished, read_settings

LARGEST = 4_000_000  # bytes
# Answers to puzzles are right or wrong, and their checks say which.
_WITHOUT_CALIBRATION = ("denoise", "sudoku", "maze", "prefix-sums")


def main():
    """Copy, finish, check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=int, help="which of the models of the run")
    parser.add_argument("--problems", type=int, default=300, help="for its calibration")
    parser.add_argument("--half", action="store_true", help="in half precision")
    arguments = parser.parse_args()
    model = best(arguments.run) if arguments.model is None else arguments.model
    arguments.folder.mkdir(parents=True, exist_ok=True)
    checkpoint = arguments.folder / "checkpoint.safetensors"
    for name in ("run.json", "checkpoint.safetensors"):
        shutil.copy(arguments.run / name, arguments.folder / name)
    settings = read_settings(arguments.folder)
    task = settings["task"]
    if "images" in task:
        task.update(images=None, hold_out=0)
    if "puzzles" in task:
        task.update(puzzles=None)
    settings["keys"] = settings["keys"][model:][:1]
    (arguments.folder / "run.json").write_text(json.dumps(settings, indent=2) + "\n")
    finish(arguments.folder, half=arguments.half)
    save_file(one_model(load_file(checkpoint), model), checkpoint)
    assert is_finished(arguments.folder)
    calibrate(irem.load(arguments.folder), arguments.problems)
    size = checkpoint.stat().st_size
    print(f"{arguments.folder}: model {model}, {size:,} bytes")
    assert size < LARGEST, f"more than {LARGEST:,} bytes"


def calibrate(run, problems):
    """Keep with a model which errors to expect of its answers, where its task has validation."""
    if run.task.name in _WITHOUT_CALIBRATION:
        return
    key = fresh_key(0, "calibrate")
    calibrations = [irem.calibrate(m, run.task, problems=problems, key=key) for m in run.models]
    write_calibrations(run, calibrations)


def best(path):
    """The model with the smallest error on validation problems; the only one where there is one."""
    run = irem.load(path)
    if len(run.models) == 1:
        return 0
    errors = irem.evaluate(run, run.task, "same", key=fresh_key(0, "validate")).mse_by_model
    print("validation errors: " + ", ".join(f"{error:.3g}" for error in errors))
    return int(np.nanargmin(errors))  # a model whose error is not finite is never the one


def one_model(arrays, model):
    """The arrays of one model, and every tenth entry of its history, the last one among them."""
    kept = {}
    for name, array in arrays.items():
        if name.startswith("['history']"):
            entries = array[::-1][::10][::-1]
            kept[name] = entries if array.ndim == 1 else entries[:, model : model + 1]
        elif name.startswith("['state']"):
            kept[name] = array[model : model + 1]
    kept["['chunks']"] = np.array(len(kept["['history']['iteration']"]), np.int32)
    return {name: np.array(array, order="C") for name, array in kept.items()}


if __name__ == "__main__":
    main()
