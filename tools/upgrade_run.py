"""Convert a run that irem 0.1 wrote (format 1) to the format of this version, in place.

    python tools/upgrade_run.py runs/add

Settings move to the sections of recipes, and arrays take the names that layers have now; no number
changes. Every step is written whole or not at all, and a run that was converted before is left as
it is.
"""

import argparse
import json
import re
from pathlib import Path

import safetensors.numpy

from irem.files import write_whole

# Names of arrays in format 1, and now. The order matters: longer paths first.
ENTRY_NET = (
    (r"\.network\.enter$", ".network.embed"),
    (r"\.network\.leave$", ".network.readout"),
    (r"\.network\.straight$", ".network.skip"),
    (r"\.network\.look\[", ".network.encoder["),
    (r"\.network\.judge\[", ".network.scorer["),
    (r"\.gather$", ".mix"),
    (r"\.straight$", ".skip"),
    (r"\.leave$", ".project"),
)
PAIR = (
    *ENTRY_NET,
    (r"\.mirror$", ".transposed"),
    (r"\.(row|column)$", r".means.\1"),
    (r"\.(factors|terms)$", r".paths.\1"),
)
NOISE_NET = (
    (r"\.tower\.enter\.", ".encoder.embed."),
    (r"\.tower\.", ".encoder."),
    (r"\.network\.leave\.", ".network.readout."),
)
GINE = (
    (r"\.energy\.readout\.", ".energy.readout[1]."),
    (r"\.energy\.hidden\.", ".energy.readout[0]."),
    (r"\.edge_x\.", ".embed[0]."),
    (r"\.edge_y\.", ".embed[1]."),
    (r"\.node_z\.", ".embed_scratch."),
)
RENAMED = {"pair": PAIR, "table": ENTRY_NET, "conv": NOISE_NET, "unet": NOISE_NET, "gine": GINE}
PATHS = ("products", "maxima", "aggregate")
BASELINE_PARTS = {
    "feedforward": "network",
    "recurrent": "cell",
    "programmatic": "network",
    "iterative-feedforward": "network",
}


def upgrade_settings(old):
    """Return the settings of format 2."""
    task = {"name": old["task"]["name"], **old["task"]["settings"]}
    replay = {k: v for k, v in old["replay"].items() if k != "name"}
    replay_name = "buffer" if old["replay"]["name"] == "Replay" else "none"
    if replay_name == "buffer":
        replay = {"clip": None, "parts": None, **replay}
    return {
        "format": 2,
        "version": old["version"],
        "task": task,
        **upgrade_method(dict(old["method"]), task["name"]),
        "iterations": old["iterations"],
        "batch_size": old["batch_size"],
        "precision": old["precision"],
        "optimiser": {
            "name": "adam",
            **{name: old[name] for name in ("learning_rate", "decay", "clip_norm")},
        },
        "replay": {"name": replay_name, **replay},
        "average": {"name": "none"},
        "keys": old["keys"],
        **({"finished": True} if old.get("finished") else {}),
    }


def upgrade_method(method, task):
    """Return the sections of the method."""
    name = method.pop("name")
    if name == "irem":
        energy, rule = dict(method.pop("energy")), method.pop("gradient")
        gradient = {"name": "full-unroll"}
        if rule == "last-step":
            beyond = method.pop("away", 1e6)
            gradient = {"name": "last-steps", "k": 1, "diverged_beyond": beyond}
        return {
            "method": {"name": name, **method},
            "energy": upgrade_energy(energy),
            "gradient": gradient,
        }
    own = {n: method.pop(n) for n in ("num_steps", "prior", "weight", "halting") if n in method}
    graphs = task in ("edge-copy", "connected-components", "shortest-path")
    kind = method.pop("network", "graph" if graphs else "dense")
    return {"method": {"name": name, **own}, BASELINE_PARTS[name]: {"name": kind, **method}}


def upgrade_energy(energy):
    """Return the settings of an energy under their new names."""
    if "look" in energy:
        energy["encoder_depth"] = energy.pop("look")
    if energy["name"] == "pair":
        energy["paths"] = {name: energy.pop(name) for name in PATHS}
    if energy["name"] in ("mlp", "gine"):
        energy.setdefault("scratch", 0)
    return energy


def rename(name, rules):
    """Return the name that an array has now."""
    for pattern, new in rules:
        name = re.sub(pattern, new, name)
    return name


def upgrade(folder):
    """Convert the run in a folder."""
    settings = json.loads((folder / "run.json").read_text())
    if settings["format"] != 1:
        return f"{folder} has format {settings['format']} already"
    new = upgrade_settings(settings)
    rules = RENAMED.get((new.get("energy") or new.get("network") or {}).get("name"), ())
    path = folder / "checkpoint.safetensors"
    if path.exists():
        arrays = safetensors.numpy.load_file(path)
        write_whole(path, safetensors.numpy.save({rename(n, rules): a for n, a in arrays.items()}))
    write_whole(folder / "run.json", (json.dumps(new, indent=2) + "\n").encode())
    return f"{folder} is converted"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    for run in parser.parse_args().runs:
        print(upgrade(run))
