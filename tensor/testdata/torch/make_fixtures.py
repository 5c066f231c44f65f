"""Makes ops.json: what PyTorch answers for small cases of our ops.

    pip install torch
    python tensor/testdata/torch/make_fixtures.py

A case has inputs, attributes, the output and, where the op is differentiable, a
non-constant upstream gradient with the gradient of each input (null for one that
takes none). A case with "error" is one that PyTorch refuses. OPS says what
each op means in PyTorch's words; cases.py, beside this file, lists the cases.
Linear weights are [in, out], the transpose of PyTorch's. The sign of a zero in a
gradient is an accident of PyTorch's formula.
"""

import pathlib
import sys
import zlib

import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "internal" / "fixture")]

import cases  # noqa: E402
import fixture  # noqa: E402

LIMIT = 40  # numbers in any tensor of a case


def matmul(x, a):
    left = x[0].t() if a.get("trans_a") else x[0]
    right = x[1].t() if a.get("trans_b") else x[1]
    return left @ right


def linear(x, a):
    y = F.linear(x[0], x[1].t(), x[2] if len(x) > 2 else None)
    return F.relu(y) if a.get("relu") else y


def kaiming_bounds(_, a):
    """The bounds that nn.Linear draws its weight and its bias from: it fills them by
    kaiming_uniform_(a=sqrt(5)) and by uniform_."""
    drawn, uniform = [], torch.Tensor.uniform_

    def record(t, low=0.0, high=1.0, **kwargs):
        assert low == -high
        drawn.append(high)
        return uniform(t, low, high, **kwargs)

    torch.Tensor.uniform_ = record
    try:
        nn.Linear(a["fan_in"], 3)
    finally:
        torch.Tensor.uniform_ = uniform
    return torch.tensor(drawn, dtype=torch.float64)


OPS = {
    "add": lambda x, a: x[0] + x[1],
    "sub": lambda x, a: x[0] - x[1],
    "mul": lambda x, a: x[0] * x[1],
    "div": lambda x, a: x[0] / x[1],
    "affine": lambda x, a: x[0] * a["alpha"] + a["beta"],
    "exp": lambda x, a: x[0].exp(),
    "log": lambda x, a: x[0].log(),
    "sqrt": lambda x, a: x[0].sqrt(),
    "relu": lambda x, a: x[0].relu(),
    "copy": lambda x, a: x[0].to(getattr(torch, a["dtype"])),
    "sum": lambda x, a: x[0].sum(a["dims"], keepdim=a.get("keepdim", False)),
    "mean": lambda x, a: x[0].mean(a["dims"], keepdim=a.get("keepdim", False)),
    "amax": lambda x, a: x[0].amax(a["dims"], keepdim=a.get("keepdim", False)),
    "argmax": lambda x, a: x[0].argmax(a["dims"][0], keepdim=a.get("keepdim", False)),
    "matmul": matmul,
    "linear": linear,
    "cross_entropy": lambda x, a: F.cross_entropy(x[0], x[1]),
    "kaiming_uniform_bounds": kaiming_bounds,
}


def upstream_of(name, out):
    """Odd thirty-seconds in (-2, 2), fixed by the case's name."""
    g = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    return (torch.randint(-32, 32, out.shape, generator=g).to(out.dtype) * 2 + 1) / 32


def run(name, op, inputs, attrs):
    row = {"name": name, "op": op, "inputs": [fixture.tensor(x) for x in inputs], "attrs": attrs}
    leaves = [x.requires_grad_() if x.is_floating_point() else x for x in inputs]
    try:
        out = OPS[op](leaves, attrs)
    except (RuntimeError, IndexError, ValueError) as e:
        return {**row, "error": str(e).split("\n")[0]}
    row["output"] = fixture.tensor(out)
    tensors = [out, *inputs]
    if out.requires_grad:
        upstream = upstream_of(name, out)
        wanted = [x for x in leaves if x.requires_grad]
        grads = iter(torch.autograd.grad(out, wanted, upstream))
        row["upstream"] = fixture.tensor(upstream)
        row["grads"] = [fixture.tensor(next(grads)) if x.requires_grad else None for x in leaves]
        tensors.append(upstream)
    if any(t.numel() > LIMIT for t in tensors):
        raise ValueError("%s has more than %d numbers" % (name, LIMIT))
    return row


def main():
    torch.set_num_threads(1)
    rows, seen = [], set()
    for name, inputs, attrs in cases.CASES:
        if name in seen:
            raise ValueError("two cases are called " + name)
        seen.add(name)
        rows.append(run(name, name.split("/")[0], inputs, attrs))
    fixture.write(HERE / "ops.json", {**fixture.header(torch), "cases": rows})


if __name__ == "__main__":
    main()
