"""Put a finished run into the package, in half precision, as a model that comes with irem.

    python benchmarks/ship.py runs/denoise src/irem/zoo/denoise

What the run says of folders of its own machine is left out. The card beside it is written by hand.
"""

import argparse
import json
import shutil
from pathlib import Path

import irem
from irem.learning import finish, is_finished, read_settings

LARGEST = 4_000_000  # bytes


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
    assert is_finished(arguments.folder)
    irem.load(arguments.folder)
    size = (arguments.folder / "checkpoint.safetensors").stat().st_size
    print(f"{arguments.folder}: {size:,} bytes")
    assert size < LARGEST, f"more than {LARGEST:,} bytes"


if __name__ == "__main__":
    main()
