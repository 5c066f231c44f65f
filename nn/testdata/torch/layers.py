"""Makes layers.json: layers of torch.nn called in training and after it.

    pip install torch
    python nn/testdata/torch/layers.py

Each layer has seeded values in place of its initial ones, so that a weight of 1 or
a bias of 0 that is not read shows. A Linear's weight is written as [in, out], the
transpose of PyTorch's; its gradient likewise.
"""

import pathlib
import sys

import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "internal" / "fixture"))

import fixture  # noqa: E402

IMAGES, ROWS = (2, 4, 5, 6), (2, 3, 6)

LAYERS = {
    "Linear": (lambda: nn.Linear(6, 4), ROWS),
    "Linear/no bias": (lambda: nn.Linear(6, 4, bias=False), ROWS),
    "Conv2D": (lambda: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), groups=2), IMAGES),
    "Conv2D/no bias": (lambda: nn.Conv2d(4, 3, 3, dilation=(1, 2), bias=False), IMAGES),
    "Conv1D": (lambda: nn.Conv1d(3, 4, 3, stride=2, padding=1), ROWS),
    "BatchNorm": (lambda: nn.BatchNorm2d(4), IMAGES),
    "BatchNorm/rows": (lambda: nn.BatchNorm1d(6), (5, 6)),
    "BatchNorm/no running statistics": (lambda: nn.BatchNorm2d(4, track_running_stats=False), IMAGES),
    "LayerNorm": (lambda: nn.LayerNorm((3, 6)), ROWS),
    "LayerNorm/no bias": (lambda: nn.LayerNorm(6, bias=False), ROWS),
    "RMSNorm": (lambda: nn.RMSNorm(6), ROWS),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), IMAGES),
    "Embedding": (lambda: nn.Embedding(7, 3), None),
    "Dropout/after training": (lambda: nn.Dropout(0.5), ROWS),
    "MaxPool2D": (lambda: nn.MaxPool2d((2, 3), stride=(1, 2), padding=(1, 0)), IMAGES),
    "AvgPool2D": (lambda: nn.AvgPool2d(2), IMAGES),
    "AdaptiveAvgPool2D": (lambda: nn.AdaptiveAvgPool2d((3, 2)), IMAGES),
    "Flatten": (lambda: nn.Flatten(), IMAGES),
    "ReLU": (lambda: nn.ReLU(), ROWS),
    "LeakyReLU": (lambda: nn.LeakyReLU(0.1), ROWS),
    "ELU": (lambda: nn.ELU(1.5), ROWS),
    "GELU": (lambda: nn.GELU(), ROWS),
    "GELUTanh": (lambda: nn.GELU(approximate="tanh"), ROWS),
    "SiLU": (lambda: nn.SiLU(), ROWS),
    "Sigmoid": (lambda: nn.Sigmoid(), ROWS),
    "Tanh": (lambda: nn.Tanh(), ROWS),
    "Softplus": (lambda: nn.Softplus(2, 3), ROWS),
}


def ours(layer, t):
    return fixture.tensor(t.t() if isinstance(layer, nn.Linear) and t.dim() == 2 else t)


def sixteenths(g, *shape):
    return (torch.randn(shape, generator=g) * 16).round() / 16


def params(layer, pairs):
    return [{"name": n, "value": ours(layer, t)} for n, t in pairs if n != "num_batches_tracked"]


def call(layer, x, training, g):
    layer.train(training)
    layer.zero_grad()
    if x.is_floating_point():
        x.requires_grad_()
    y = layer(x)
    up = sixteenths(g, *y.shape)
    y.backward(up)
    return {
        "training": training, "x": fixture.tensor(x), "y": fixture.tensor(y), "upstream": fixture.tensor(up), "dx": fixture.tensor(x.grad),
        "grads": params(layer, [(n, p.grad) for n, p in layer.named_parameters()]),
        "buffers": params(layer, layer.named_buffers()),
    }


def case(name, make, shape):
    g = torch.Generator().manual_seed(1)
    layer = make()
    for t in layer.state_dict().values():
        if t.is_floating_point():
            t.copy_((torch.rand(t.shape, generator=g) * 16).round() / 16 + 0.5)
    state = params(layer, layer.state_dict().items())
    calls = []
    modes = (True, True, False) if "BatchNorm" in name else ("after" not in name,)
    for training in modes:
        x = sixteenths(g, *shape) if shape else torch.randint(7, (2, 4), generator=g)
        calls.append(call(layer, x, training, g))
    return {"name": name, "state": state, "calls": calls}


torch.set_num_threads(1)
fixture.write(HERE / "layers.json", {**fixture.header(torch), "cases": [case(n, *v) for n, v in LAYERS.items()]})
