"""scaled_dot_product_attention. A shape is B, H, L, S, D."""

import itertools

import torch
import torch.nn.functional as F


def cases():
    for (batch, length), backward, causal in itertools.product([(1, 512), (2, 1024), (1, 2048)], [0, 1], [0, 1]):
        yield [batch, 8, length, length, 64], ["causal"] * causal + ["backward"] * backward


def call(shape, flags):
    b, h, l, s, d = shape
    backward, causal = "backward" in flags, "causal" in flags
    q, k, v = (torch.rand(b, h, n, d).requires_grad_(backward) for n in (l, s, s))
    if not backward:
        return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    o, do = F.scaled_dot_product_attention(q, k, v, is_causal=causal), torch.rand(b, h, l, d)
    return lambda: torch.autograd.grad(o, (q, k, v), do, retain_graph=True)
