"""Softmax, and layer and RMS norm with a weight. A shape is rows, columns; the
first flag is the op, the second may be backward."""

import itertools

import torch
import torch.nn.functional as F

OPS = {
    "softmax": lambda x, w, b: F.softmax(x, 1),
    "log_softmax": lambda x, w, b: F.log_softmax(x, 1),
    "layer_norm": lambda x, w, b: F.layer_norm(x, x.shape[1:], w, b, 1e-5),
    "rms_norm": lambda x, w, b: F.rms_norm(x, x.shape[1:], w, 1e-5),
}


def cases():
    for op, shape, backward in itertools.product(OPS, [(4096, 1024), (32768, 128), (512, 4096)], [0, 1]):
        yield list(shape), [op] + ["backward"] * backward


def call(shape, flags):
    op, backward = OPS[flags[0]], "backward" in flags
    x, w, b = torch.rand(*shape), torch.rand(shape[1]), torch.rand(shape[1])
    if not backward:
        return lambda: op(x, w, b)
    leaves = {"layer_norm": [x, w, b], "rms_norm": [x, w]}.get(flags[0], [x])
    y, dy = op(*(t.requires_grad_() for t in (x, w, b))), torch.rand(*shape)
    return lambda: torch.autograd.grad(y, leaves, dy, retain_graph=True)
