"""max_pool2d and avg_pool2d. A shape is N, C, H, K, stride, padding."""

import torch
import torch.nn.functional as F


def cases():
    for shape in [8, 64, 112, 3, 2, 1], [8, 64, 56, 2, 2, 0]:
        for flags in ([], ["input"], ["mean"], ["mean", "input"]):
            yield shape, flags


def call(shape, flags):
    n, c, h, k, stride, pad = shape
    pool, x = F.avg_pool2d if "mean" in flags else F.max_pool2d, torch.rand(n, c, h, h)
    if "input" not in flags:
        return lambda: pool(x, k, stride, pad)
    y = pool(x.requires_grad_(), k, stride, pad)
    up = torch.rand_like(y)
    return lambda: torch.autograd.grad(y, x, up, retain_graph=True)
