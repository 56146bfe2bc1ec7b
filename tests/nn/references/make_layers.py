"""Write `layers.npz`: what PyTorch and PyTorch Geometric give for the layers of the baselines.

The file was made with torch 2.13.0, torch_geometric 2.8.1 and numpy 2.4.6, in an environment of
their own, since neither of the first two is needed to run or test the package:

    python -m venv layers-env
    layers-env/bin/pip install torch==2.13.0 torch_geometric==2.8.1 numpy==2.4.6
    layers-env/bin/python tests/nn/references/make_layers.py

A second run writes the same bytes. Weights and inputs are random numbers of 32 bits, which keeps
the file small; what follows from them is computed in 64 bits.
"""

from pathlib import Path

WIDTH, NODES, STEPS = 6, 4, 4
# Numbers on a pair: one in the recurrent cell, given the problem alone; three in the layer.
CHANNELS = 3
# Entries of a problem and of an answer of the dense cell.
PROBLEM, ANSWER = 3, 2


def main():
    """Draw weights and inputs, run the layers, keep everything."""
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    lstm = nn.LSTMCell(WIDTH, WIDTH).double()
    with torch.no_grad():
        kept = {**weights({"lstm": lstm}), **graphs(lstm), **dense(lstm)}
    arrays = {name: np.asarray(value) for name, value in kept.items()}
    np.savez_compressed(Path(__file__).with_name("layers.npz"), **arrays)


def weights(modules):
    """The weights of some modules by name."""
    return {
        f"{name}.{field}": value.float()
        for name, module in modules.items()
        for field, value in module.state_dict().items()
    }


def linear(inputs, outputs):
    """A linear map that computes in 64 bits, with weights that 32 bits hold."""
    from torch import nn

    return nn.Linear(inputs, outputs).double()


def convolution(edge_map, node_map, aggregate):
    """A GINE layer with these two linear maps."""
    from torch_geometric.nn import GINEConv

    aggr = {"sum": "add", "mean": "mean"}[aggregate]
    layer = GINEConv(linear(WIDTH, WIDTH), edge_dim=WIDTH, aggr=aggr).double()
    # Only now: the constructor draws all weights anew, those of the map it is given too.
    layer.lin.load_state_dict(edge_map.state_dict())
    layer.nn.load_state_dict(node_map.state_dict())
    return layer


def graphs(lstm):
    """A GINE layer alone, and the steps of layer, LSTM, layer, pairs."""
    import torch

    # Every pair of nodes, from the first to the second, self loops included.
    pairs = torch.cartesian_prod(torch.arange(NODES), torch.arange(NODES)).T
    maps = {
        "graph.embed": linear(1, WIDTH),
        "graph.before.edge_map": linear(WIDTH, WIDTH),
        "graph.before.node_map": linear(WIDTH, WIDTH),
        "graph.after.edge_map": linear(WIDTH, WIDTH),
        "graph.after.node_map": linear(WIDTH, WIDTH),
        "graph.readout": linear(2 * WIDTH, 1),
        "layer.embed": linear(CHANNELS, WIDTH),
    }
    inputs = {
        "graph.edges": torch.randn(NODES, NODES),
        "layer.channels": torch.randn(NODES, NODES, CHANNELS),
        "layer.nodes": torch.randn(NODES, WIDTH),
    }
    edges, channels, nodes = (value.double() for value in inputs.values())
    outputs = {}
    for aggregate in ("sum", "mean"):
        before, after = (
            convolution(maps[f"{place}.edge_map"], maps[f"{place}.node_map"], aggregate)
            for place in ("graph.before", "graph.after")
        )
        features = maps["layer.embed"](channels.reshape(-1, CHANNELS))
        outputs[f"layer.{aggregate}"] = before(nodes, pairs, features)

        features, answers = maps["graph.embed"](edges.reshape(-1, 1)), []
        hidden = memory = torch.zeros(NODES, WIDTH).double()
        for _ in range(STEPS):
            hidden, memory = lstm(before(hidden, pairs, features), (hidden, memory))
            sent = after(hidden, pairs, features)
            joined = torch.cat([sent[pairs[0]], sent[pairs[1]]], dim=1)
            answers.append(maps["graph.readout"](joined).reshape(NODES, NODES))
        outputs[f"graph.answers.{aggregate}"] = torch.stack(answers)
    return {**weights(maps), **inputs, **outputs}


def dense(lstm):
    """Steps of a linear map, the LSTM and a linear map, on another problem at every step."""
    import torch

    maps = {"dense.embed": linear(PROBLEM, WIDTH), "dense.readout": linear(WIDTH, ANSWER)}
    problems = torch.randn(STEPS, PROBLEM)
    hidden = memory = torch.zeros(1, WIDTH).double()
    states, answers = [], []
    for x in problems.double():
        hidden, memory = lstm(torch.relu(maps["dense.embed"](x[None])), (hidden, memory))
        states.append(torch.cat([hidden, memory]))
        answers.append(maps["dense.readout"](hidden)[0])
    outputs = {"dense.states": torch.stack(states), "dense.answers": torch.stack(answers)}
    return {**weights(maps), "dense.problems": problems, **outputs}


if __name__ == "__main__":
    main()
