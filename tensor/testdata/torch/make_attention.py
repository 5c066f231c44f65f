"""Writes attention.json: PyTorch's scaled_dot_product_attention and its
gradients, in float64, for the cases below. Each has the operands' shapes and
elements, a mask of 0 and 1 or of numbers to add, and do, the gradient that
comes in. Run it here with PyTorch 2.15."""

import json
import math

import torch
import torch.nn.functional as F

CASES = {
    "plain": dict(q=(2, 2, 3, 4), k=(2, 2, 5, 4), v=(2, 2, 5, 3)),
    "causal, fewer keys": dict(q=(1, 2, 6, 3), k=(1, 2, 4, 3), v=(1, 2, 4, 3), causal=True),
    "causal, more keys": dict(q=(1, 2, 3, 3), k=(1, 2, 5, 3), v=(1, 2, 5, 3), causal=True),
    "grouped": dict(q=(1, 4, 3, 4), k=(1, 2, 3, 4), v=(1, 2, 3, 4)),
    "bool mask, one row hidden": dict(q=(1, 2, 3, 4), k=(1, 2, 5, 4), v=(1, 2, 5, 4), mask=(3, 5), hide=1),
    "float mask, one row hidden": dict(q=(2, 1, 3, 4), k=(2, 1, 5, 4), v=(2, 1, 5, 4), mask=(2, 1, 3, 5), hide=2, add=True),
    "scale": dict(q=(3, 4, 2), k=(3, 4, 2), v=(3, 4, 2), scale=-2.5),
    "no keys": dict(q=(1, 1, 2, 3), k=(1, 1, 0, 3), v=(1, 1, 0, 2)),
}


def main():
    torch.manual_seed(5)
    out = []
    for name, c in CASES.items():
        draw = lambda shape: torch.randn(shape, dtype=torch.float64)
        q, k, v = (draw(c[n]).requires_grad_() for n in "qkv")
        mask = None
        if "mask" in c:
            seen = torch.rand(c["mask"]) < 0.7
            seen[..., c["hide"], :] = False
            mask = torch.where(seen, draw(c["mask"]), torch.tensor(-math.inf)) if c.get("add") else seen
        o = F.scaled_dot_product_attention(
            q, k, v, mask, is_causal=c.get("causal", False), scale=c.get("scale"), enable_gqa=c["q"][-3] != c["k"][-3])
        do = draw(o.shape)
        grads = torch.autograd.grad(o, (q, k, v), do)
        case = dict(name=name, causal=c.get("causal", False), scale=c.get("scale", 0), hides=mask is not None and mask.dtype == torch.bool)
        for n, t in dict(q=q, k=k, v=v, mask=mask, o=o, do=do, dq=grads[0], dk=grads[1], dv=grads[2]).items():
            if t is not None:  # JSON has no infinity
                case[n] = dict(shape=list(t.shape), at=[max(x, -1e308) for x in t.detach().double().flatten().tolist()])
        out.append(case)
    with open("attention.json", "w") as f:
        f.write(json.dumps(dict(torch=torch.__version__, cases=out)).replace('{"name"', '\n{"name"') + "\n")


main()
