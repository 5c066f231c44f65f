"""conv2d and its gradients. A shape is N, C, H, O, K, stride, padding, groups."""

import torch
import torch.nn.functional as F

SHAPES = [
    [8, 64, 56, 64, 3, 1, 1, 1],
    [8, 3, 224, 64, 7, 2, 3, 1],
    [8, 256, 56, 64, 1, 1, 0, 1],
    [8, 128, 28, 128, 3, 1, 1, 128],
    [8, 128, 28, 128, 3, 2, 1, 1],
    [8, 512, 7, 512, 3, 1, 1, 1],
    [8, 64, 28, 128, 3, 1, 1, 4],
]


def cases():
    for shape in SHAPES:
        for flags in ([], ["input"], ["weight"]):
            yield shape, flags


def call(shape, flags):
    n, c, h, o, k, stride, pad, groups = shape
    x, w, b = torch.rand(n, c, h, h), torch.rand(o, c // groups, k, k), torch.rand(o)
    if not flags:
        return lambda: F.conv2d(x, w, b, stride, pad, 1, groups)
    of = (x if "input" in flags else w).requires_grad_()
    y = F.conv2d(x, w, b, stride, pad, 1, groups)
    up = torch.rand_like(y)
    return lambda: torch.autograd.grad(y, of, up, retain_graph=True)
