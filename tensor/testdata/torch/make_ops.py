"""Makes ops_*.json: what PyTorch answers at the edges of each op.

    pip install torch
    python tensor/testdata/torch/make_ops.py

Each ops_FAMILY.py beside this file has OPS, what an op's name means in PyTorch's
words, and cases(), which yields (name, inputs, arguments). A name is op/dtype/edge.
A case on a line of its own has the inputs, with the view of them that the op
takes; the arguments; the outputs; for each output that has a gradient a
non-constant upstream (else null), and the gradients of the inputs (null for one
without). Or it has the error with which PyTorch refuses. Gradients are those of
the elements listed, behind the view.
"""

import json
import pathlib
import sys
import warnings
import zlib

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "internal" / "fixture")]

import fixture  # noqa: E402
import ops_elementwise  # noqa: E402
import ops_index  # noqa: E402
import ops_loss  # noqa: E402
import ops_norm  # noqa: E402
import ops_product  # noqa: E402
import ops_reduce  # noqa: E402
import ops_window  # noqa: E402
from op_values import Fails, View  # noqa: E402

FAMILIES = {
    "elementwise": ops_elementwise,
    "index": ops_index,
    "loss": ops_loss,
    "norm": ops_norm,
    "product": ops_product,
    "reduce": ops_reduce,
    "window": ops_window,
}
LIMIT = 150  # numbers in any tensor of a case
REFUSALS = (RuntimeError, IndexError, ValueError, TypeError)


def upstream_of(name, i, out):
    """Odd thirty-seconds in (-2, 2), fixed by the case's name."""
    g = torch.Generator().manual_seed(zlib.crc32(name.encode()) + i)
    return ((torch.randint(-32, 32, out.shape, generator=g) * 2 + 1) / 32).to(out.dtype)


def argument(v):
    """v as JSON that a reader without infinities understands."""
    return fixture.Line(fixture.number(v, "float64")) if isinstance(v, float) else v


def run(name, op, inputs, args):
    views = [x if isinstance(x, View) else View(x) for x in inputs]
    row = {"name": name, "in": [tensor(v.base, v.spec) for v in views]}
    if args:
        row["args"] = {k: argument(v) for k, v in args.items()}
    leaves = [v.base.clone().requires_grad_(v.base.is_floating_point() and v.grad) for v in views]
    operands = [v.of(x) for v, x in zip(views, leaves)]
    if args.pop("fails", False):
        try:
            op(operands, args)
        except REFUSALS as e:
            row["args"].pop("fails")
            return {**row, "error": str(e).split("\n")[0]}
        raise Fails(name + " is not refused")
    out = op(operands, args)
    out = list(out) if isinstance(out, (tuple, list)) else [out]
    row["out"] = [tensor(y) for y in out]
    if any(y.requires_grad for y in out):
        ups = [upstream_of(name, i, y) if y.requires_grad else None for i, y in enumerate(out)]
        wanted = [x for x in leaves if x.requires_grad]
        grads = iter(torch.autograd.grad([y for y in out if y.requires_grad], wanted, [u for u in ups if u is not None], allow_unused=True))
        row["up"] = [tensor(u) for u in ups]
        row["grads"] = [tensor(next(grads)) if x.requires_grad else None for x in leaves]
    if any(t.numel() > LIMIT for t in leaves + out):
        raise Fails(name + " is too large")
    return row


def tensor(t, view=()):
    if t is None:
        return None
    dtype = str(t.dtype).replace("torch.", "")
    data = ",".join(fixture.number(x, dtype) for x in t.detach().reshape(-1).tolist())
    text = '{"dtype":"%s","shape":%s,"data":[%s]' % (dtype, compact(list(t.shape)), data)
    return fixture.Line(text + (',"view":%s}' % compact(view) if view else "}"))


def compact(v):
    if isinstance(v, fixture.Line):
        return v
    if isinstance(v, dict):
        return "{%s}" % ",".join('"%s":%s' % (k, compact(x)) for k, x in v.items())
    if isinstance(v, (list, tuple)):
        return "[%s]" % ",".join(compact(x) for x in v)
    return json.dumps(v)


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # broadcast targets, empty reductions: cases on purpose
    seen = set()
    for family, module in FAMILIES.items():
        rows = []
        for name, inputs, args in module.cases():
            if name in seen:
                raise Fails("two cases are called " + name)
            seen.add(name)
            try:
                rows.append(run(name, module.OPS[name.split("/")[0]], inputs, dict(args)))
            except REFUSALS as e:
                raise Fails(name) from e
        text = '{"torch":"%s","cases":[\n%s\n]}\n' % (torch.__version__, ",\n".join(compact(r) for r in rows))
        (HERE / ("ops_%s.json" % family)).write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
