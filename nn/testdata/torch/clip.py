"""Makes clip.json: gradients clipped by PyTorch, in float32. Infinities and NaNs are
strings.

    pip install torch
    python nn/testdata/torch/clip.py
"""

import json
import math
import pathlib

import torch

HERE = pathlib.Path(__file__).resolve().parent
INPUTS = {
    "usual": [[0.5, -3.0, 2.0, 0.0], [1e-3, 7.25]],
    "small": [[1e-4, -2e-4], [0.0]],
    "zero": [[0.0, 0.0]],
    "infinite": [[1.0, math.inf], [2.0]],
    "nan": [[math.nan, 1.0], [-9.0]],
    "far": [[1e8, -1e8, 1e-8], [0.75]],
}


def plain(v):
    return v if math.isfinite(v) else str(v)


def params(grads):
    ps = [torch.zeros(len(g), requires_grad=True) for g in grads]
    for p, g in zip(ps, grads):
        p.grad = torch.tensor(g)
    return ps


cases = []
for name, grads in INPUTS.items():
    given = [[plain(v) for v in g] for g in grads]
    for p in [1.0, 2.0, 3.0, math.inf]:
        for most in [1.5, 100.0]:
            ps = params(grads)
            norm = torch.nn.utils.clip_grad_norm_(ps, most, p).item()
            cases.append({"name": name, "p": plain(p), "max": most, "given": given, "norm": plain(norm),
                          "clipped": [[plain(v) for v in p.grad.tolist()] for p in ps]})
    ps = params(grads)
    torch.nn.utils.clip_grad_value_(ps, 0.75)
    cases.append({"name": name, "p": 0, "max": 0.75, "given": given, "norm": 0,
                  "clipped": [[plain(v) for v in p.grad.tolist()] for p in ps]})
(HERE / "clip.json").write_text(json.dumps(cases) + "\n")
