"""Put a finished run into the package, in half precision, as a model that comes with irem.

    python benchmarks/ship.py runs/denoise src/irem/zoo/denoise

What the run says of folders of its own machine is left out, and of its history all but every tenth
entry. The card beside it is written by hand; `irem zoo` shows its first line below the
heading.
"""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

import irem
from irem.learning import finish, is_finished, read_settings

LARGEST = 4_000_000  # bytes


def thin_history(path):
    """Keep every tenth entry, the last one among them."""
    arrays = load_file(path)
    for name in arrays:
        if name.startswith("['history']"):
            arrays[name] = arrays[name][::-1][::10][::-1].copy()
    arrays["['chunks']"] = np.array(len(arrays["['history']['iteration']"]), np.int32)
    save_file(arrays, path)


def main():
    """Copy, finish, check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in ("run.json", "checkpoint.safetensors"):
        shutil.copy(arguments.run / name, arguments.folder / name)
    settings = read_settings(arguments.folder)
    task = settings["task"]["settings"]
    if "images" in task:
        task.update(images=None, hold_out=0)
    text = json.dumps(settings, indent=2) + "\n"
    (arguments.folder / "run.json").write_text(text)
    finish(arguments.folder, half=True)
    thin_history(arguments.folder / "checkpoint.safetensors")
    assert is_finished(arguments.folder)
    irem.load(arguments.folder)
    size = (arguments.folder / "checkpoint.safetensors").stat().st_size
    print(f"{arguments.folder}: {size:,} bytes")
    assert size < LARGEST, f"more than {LARGEST:,} bytes"


if __name__ == "__main__":
    main()
