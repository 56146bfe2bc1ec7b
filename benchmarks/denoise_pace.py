"""Where the time of `irem denoise` goes, beside the same network in PyTorch and an older version.

    pip install -e '.[bench]'
    python benchmarks/denoise_pace.py                       (a table; --json for one JSON object)
    python benchmarks/denoise_pace.py --against OLD/src     (and another version of irem)

The picture is a photograph that comes with scikit-image, with noise of strength 25. First the
network alone on one plane: the part that runs once per plane, the head, and the head with its
gradient, each beside the same in PyTorch (eager, channels last) from the same weights, in rounds
that alternate; the results have to agree. Then `irem.denoise` in new processes, each version in
turn: the first picture of a process, which compiles, and the second, which does not. CPU seconds
are those of all threads; on a machine that does other work they say more than the clock.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np

import irem
from irem.apps.pictures import num_tiles, psnr

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = None

SIGMA = 25
# Sums in another order differ by about 1e-6, another computation by far more.
TOLERANCE = 1e-4


def noisy_picture(side, planes):
    """A clean and a noisy picture, enlarged by repetition where the photograph is smaller."""
    from skimage import data  # noqa: PLC0415  (not needed where only a version is timed)

    photograph = data.astronaut().transpose(2, 0, 1)[:planes].astype(np.float32) / 255
    times = -(-side // photograph.shape[-1])
    clean = np.tile(photograph, (1, times, times))[:, :side, :side]
    noise = np.random.default_rng(0).standard_normal(clean.shape, np.float32)
    return clean, clean + np.float32(SIGMA / 255) * noise


def timed(function):
    """Seconds of the clock and of all threads."""
    clock, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, time.perf_counter() - clock, time.process_time() - cpu


# --- one version, in a process of its own -------------------------------------------------------


def answer(side, planes, out):
    """Clean the picture twice; print what it took as one line of JSON."""
    clean, noisy = noisy_picture(side, planes)
    _, *load = timed(lambda: irem.load("zoo:denoise"))
    model, key = irem.load("zoo:denoise").model, jax.random.key(0)
    clean_it = lambda: irem.denoise(model, noisy, key=key)  # noqa: E731
    (_, *first), (found, *second) = timed(clean_it), timed(clean_it)
    np.save(out, found.planes)
    print(
        json.dumps(
            {
                "load": load,
                "first": first,
                "second": second,
                "steps": float(found.steps.mean()),
                "tiles": num_tiles(noisy),
                "psnr": float(psnr(found.planes, clean).mean()),
            }
        )
    )


def in_new_process(source, side, planes, out):
    """What `answer` prints in a process that has `source` on its path."""
    path = os.pathsep.join(p for p in (source, os.environ.get("PYTHONPATH")) if p)
    options = ["--answer", str(out), "--side", str(side), "--planes", str(planes)]
    done = subprocess.run(
        [sys.executable, __file__, *options],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def compare_versions(sources, side, planes, rounds):
    """Seconds of every version, the median over rounds in which they take turns."""
    told = {name: [] for name in sources}
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.npy" for name in sources}
        for _ in range(rounds):
            for name, source in sources.items():
                told[name].append(in_new_process(source, side, planes, files[name]))
        answers = [np.load(file) for file in files.values()]
    rows = {name: middle(runs) for name, runs in told.items()}
    if len(rows) == 2:
        difference = answers[0] - answers[1]
        new, old = rows.values()
        rows["ratio"] = {
            which: [b / a for a, b in zip(new[which], old[which], strict=True)]
            for which in ("first", "second")
        }
        rows["difference"] = {
            "largest": float(np.abs(difference).max()),
            "root_mean_square": float(np.sqrt(np.mean(np.square(difference)))),
        }
    return rows


def middle(runs):
    """Medians over runs, of the clock and of the CPU apart."""
    timings = {
        which: [statistics.median(times) for times in zip(*(r[which] for r in runs), strict=True)]
        for which in ("load", "first", "second")
    }
    return {**runs[0], **timings}


# --- the network alone --------------------------------------------------------------------------


def irem_parts(energy, x):
    """The parts of the network as functions without arguments, and their results."""
    # Products as `solve` computes them, whatever the device prefers.
    jax.config.update("jax_default_matmul_precision", "float32")
    network = energy.network
    hidden = jax.jit(lambda x: network.encoder(x - x.mean()))
    noise = jax.jit(lambda x, y: network.encode(x)(y))
    slope = jax.jit(lambda x, y: jax.value_and_grad(energy.landscape(x))(y))
    # With the encoder; its own time is taken off.
    return {
        "encoder": lambda: hidden(x).block_until_ready(),
        "network": lambda: noise(x, x).block_until_ready(),
        "network and gradient": lambda: slope(x, x)[1].block_until_ready(),
    }


def torch_parts(energy, x):
    """The same in PyTorch, from the same weights."""
    network, plane = energy.network, torch.from_numpy(np.array(x))[None, None]
    last = torch.channels_last

    def kernel(layer, grown=0):
        weight = np.asarray(layer.weight)
        if grown:  # rows and columns of squares come before channels here, after them in PyTorch
            weight = weight.reshape(1, 1, -1, 4, grown).swapaxes(3, 4).reshape(1, 1, -1, 4 * grown)
        return torch.from_numpy(weight.transpose(3, 2, 0, 1).copy()).to(memory_format=last)

    def blocks(many):
        pairs = [(kernel(b.first), kernel(b.second)) for b in many]

        def apply(features):
            for first, second in pairs:
                inner = functional.conv2d(features, first, padding=1).relu()
                features = features + functional.conv2d(inner, second, padding=1)
            return features

        return apply

    encoder = network.encoder
    embed, down, up = (
        kernel(encoder.embed),
        *(list(map(blocks, s)) for s in (encoder.down, encoder.up)),
    )
    shrink = [kernel(layer) for layer in encoder.shrink]
    grow = [kernel(layer, layer.weight.shape[-1] // 4) for layer in encoder.grow]
    join, readout, head = kernel(network.join), kernel(network.readout), blocks(network.head)

    def encoded():
        squares = functional.pixel_unshuffle(plane - plane.mean(), 2).to(memory_format=last)
        features, beside = functional.conv2d(squares, embed, padding=1), []
        for i, block in enumerate(down):
            features = block(features)
            if i < len(shrink):
                beside.append(features)
                features = functional.conv2d(features, shrink[i], stride=2)
        for i in reversed(range(len(up))):
            features = up[i](features)
            if i > 0:
                grown = functional.conv2d(features, grow[i - 1])
                features = beside.pop() + functional.pixel_shuffle(grown, 2)
        return features

    def noise(candidate):
        squares = functional.pixel_unshuffle(candidate - plane.mean(), 2)
        features = functional.conv2d(torch.cat([encoded(), squares], dim=1), join, padding=1)
        return functional.pixel_shuffle(functional.conv2d(head(features), readout, padding=1), 2)

    def without_gradient(function):
        with torch.no_grad():
            return function()

    def gradient():
        candidate = plane.clone().requires_grad_()
        energy = 0.5 * (candidate - plane + noise(candidate)).square().sum()
        return torch.autograd.grad(energy, candidate)[0][0, 0].numpy()

    return {
        "encoder": lambda: without_gradient(encoded)[0].permute(1, 2, 0).numpy(),
        "network": lambda: without_gradient(lambda: noise(plane))[0, 0].numpy(),
        "network and gradient": gradient,
    }


def time_network(side, rounds):
    """Milliseconds of the parts of the network on one plane, of both sides in turn."""
    energy = irem.load("zoo:denoise").model.energy
    x = jax.numpy.asarray(noisy_picture(side, 1)[1][0])
    sides = {"irem": irem_parts(energy, x)}
    if torch is not None:
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        sides["torch"] = torch_parts(energy, x)
        for part, function in sides["irem"].items():
            ours, theirs = np.asarray(function()), sides["torch"][part]()
            # Of the root of the mean square: a rectified sum near zero may fall to either side.
            if np.linalg.norm(ours - theirs) > TOLERANCE * np.linalg.norm(theirs):
                sys.exit(f"The sides do not compute the same {part}.")
    times = {(name, part): [] for name, parts in sides.items() for part in parts}
    for i in range(rounds + 1):
        for name, parts in sides.items():
            for part, function in parts.items():
                _, clock, cpu = timed(function)
                if i > 0:  # the first round compiles
                    times[name, part].append((1e3 * clock, 1e3 * cpu))
    rows = {}
    for (name, part), pairs in times.items():
        rows.setdefault(part, {})[name] = [statistics.median(t) for t in zip(*pairs, strict=True)]
    return rows


# --- what is printed ----------------------------------------------------------------------------


def table(result):
    """The result as text."""
    lines = [f"{result['side']} x {result['side']} pixels; clock and CPU of all threads."]
    lines += [f"{'ms, one plane':<24}{'irem':>16}{'torch':>16}{'ratio':>16}"]
    for part, row in result["network"].items():
        ours, theirs = row["irem"], row.get("torch")
        cells = [f"{ours[0]:7.0f} {ours[1]:7.0f}"]
        if theirs is not None:
            cells += [f"{theirs[0]:7.0f} {theirs[1]:7.0f}"]
            cells += [f"{theirs[0] / ours[0]:7.2f} {theirs[1] / ours[1]:7.2f}"]
        lines.append(f"{part:<24}" + "".join(f"{cell:>16}" for cell in cells))
    for name, row in result["versions"].items():
        if "steps" in row:
            lines.append(
                f"{name}: first picture {row['first'][0]:.1f} s, CPU {row['first'][1]:.1f} s; "
                f"second {row['second'][0]:.1f} s, CPU {row['second'][1]:.1f} s; {row['tiles']} "
                f"descents of {row['steps']:.1f} steps; {row['psnr']:.3f} dB."
            )
        else:
            lines.append(f"{name}: {json.dumps(row)}")
    lines += [f"{name}: {share:.0%} of the CPU time" for name, share in result["shares"].items()]
    return "\n".join(lines)


def shares(result, planes):
    """What the CPU time of the first picture of this version is spent on, if it is not cut."""
    row, parts = result["versions"]["irem"], result["network"]
    if row["tiles"] != planes:
        return {}
    encoder, network = (1e-3 * parts[p]["irem"][1] for p in ("encoder", "network"))
    total, again = row["first"][1], row["second"][1]
    # A descent evaluates the head once more than it takes steps, and the encoder once.
    spent = {
        "compilation": total - again,
        "encoder": planes * encoder,
        "head, once for every step": planes * (row["steps"] + 1) * (network - encoder),
    }
    spent["all else, such as the host"] = total - sum(spent.values())
    return {name: seconds / total for name, seconds in spent.items()}


def main():
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--side", type=int, default=512, help="pixels along a side (512)")
    parser.add_argument("--planes", type=int, default=3, help="planes of colour (3)")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each version (3)")
    parser.add_argument("--against", help="folder `src` of another version of irem")
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    if options.answer is not None:
        return answer(options.side, options.planes, options.answer)
    sources = {"irem": str(Path(irem.__file__).parent.parent)}
    if options.against is not None:
        sources["against"] = options.against
    result = {"benchmark": "denoise_pace", "side": options.side, "planes": options.planes}
    result["network"] = time_network(min(options.side, 512), 2 * options.rounds)
    result["versions"] = compare_versions(sources, options.side, options.planes, options.rounds)
    result["shares"] = shares(result, options.planes)
    print(json.dumps(result) if options.json else table(result))
    return None


if __name__ == "__main__":
    sys.exit(main())
