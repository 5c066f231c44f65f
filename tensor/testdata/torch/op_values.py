"""Tensors and views of them for the cases of make_ops.py."""

import torch

NAN, INF = float("nan"), float("inf")
F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
I64, I32, U8, BOOL = torch.int64, torch.int32, torch.uint8, torch.bool
FLOATS = [F32, F64, F16, BF16]
HALVES = [F16, BF16]


class Fails(Exception):
    """A case that is not what it says."""


class View:
    """An operand that is a view of base. Steps of the view: ["transpose"] of the last
    two dims; ["slice", step] of the last dim from its second element on;
    ["expand", dims...]. grad=False makes it a constant."""

    def __init__(self, base, *spec, grad=True):
        self.base, self.spec, self.grad = base, list(spec), grad

    def of(self, x):
        for step, *n in self.spec:
            x = {
                "transpose": lambda x: x.transpose(-1, -2),
                "slice": lambda x: x[..., 1 :: n[0]],
                "expand": lambda x: x.expand(*n),
            }[step](x)
        return x


def constant(x):
    return View(x, grad=False)


def name_of(dtype):
    return str(dtype).replace("torch.", "")


def f(*shape, seed=0, scale=1.0, dtype=F32):
    """Sixteenths of both signs and no order, none of them 0."""
    n = 1
    for d in shape:
        n *= d
    k = torch.arange(n, dtype=F64) + 37 * seed + 1
    return (((k * 29) % 64 - 31.5) / 16 * scale).reshape(shape).to(dtype)


def v(*values, dtype=F32):
    return torch.tensor(values, dtype=dtype)


def i(*values, dtype=I64):
    return torch.tensor(values, dtype=dtype)


def scalar(value, dtype=F32):
    return torch.tensor(value, dtype=dtype)
