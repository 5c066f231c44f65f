"""Batch normalisation in training, with a weight, a bias and running statistics. A
shape is N, C and the rest; the flag may be backward."""

import torch
import torch.nn.functional as F


def cases():
    for shape in [32, 64, 56, 56], [32, 256, 14, 14], [4096, 256]:
        for flags in [], ["backward"]:
            yield shape, flags


def call(shape, flags):
    x, (w, b, mean, var) = torch.rand(*shape), torch.rand(4, shape[1])
    op = lambda: F.batch_norm(x, mean, var, w, b, True, 0.1, 1e-5)
    if not flags:
        return op
    leaves = [x.requires_grad_(), w.requires_grad_(), b.requires_grad_()]
    y, dy = op(), torch.rand(*shape)
    return lambda: torch.autograd.grad(y, leaves, dy, retain_graph=True)
