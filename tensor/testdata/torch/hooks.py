"""Makes hooks.json: what PyTorch does where the rules of hooks, kept gradients and
torch.autograd.grad meet. Floats are float64.

    pip install torch
    python tensor/testdata/torch/hooks.py
"""

import json
import pathlib

import torch

HERE = pathlib.Path(__file__).resolve().parent


def values(t):
    return None if t is None else t.detach().flatten().tolist()


def setting():
    """The leaves w and v, the result h of both, used twice, and the loss."""
    w = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([0.5, 4.0, -1.0], dtype=torch.float64, requires_grad=True)
    h = w * v
    return w, v, h, (h * h + h * w).sum()


def kept_after_hooks():
    """A kept gradient is the one after all hooks, also those set later; two walks add up."""
    w, v, h, loss = setting()
    h.register_hook(lambda g: g * 2)
    h.retain_grad()
    h.register_hook(lambda g: g + 1)
    loss.backward(retain_graph=True)
    loss.backward()
    return {"h": values(h.grad), "w": values(w.grad), "v": values(v.grad)}


def leaf_hook_sees_the_sum():
    """A leaf's hook runs once a walk, on the sum of this walk's pieces."""
    w, v, h, loss = setting()
    seen = []
    w.register_hook(lambda g: seen.append(values(g)) or g * 10)
    w.register_post_accumulate_grad_hook(lambda p: seen.append(values(p.grad)))
    loss.backward(retain_graph=True)
    loss.backward()
    return {"seen": seen, "w": values(w.grad)}


def grad_of_an_intermediate():
    """grad() returns what the hooks made of an input's gradient, and leaves .grad alone. Where
    another input lies behind, PyTorch returns h's gradient before its hooks: that is left out."""
    w, v, h, loss = setting()
    h.register_hook(lambda g: g * 3)
    w.register_hook(lambda g: -g)
    gh, again = torch.autograd.grad(loss, [h, h], retain_graph=True)
    _, gw = torch.autograd.grad(loss, [h, w])
    return {"h": values(gh), "again": values(again), "w": values(gw), "left": values(w.grad)}


def two_outputs():
    """grad() of two outputs with upstreams; one output is an ancestor of the other."""
    w, v, h, loss = setting()
    up = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    gw, gv = torch.autograd.grad([h, loss], [w, v], [up, torch.tensor(0.5, dtype=torch.float64)])
    return {"w": values(gw), "v": values(gv)}


CASES = [kept_after_hooks, leaf_hook_sees_the_sum, grad_of_an_intermediate, two_outputs]
(HERE / "hooks.json").write_text(json.dumps({f.__name__: f() for f in CASES}, indent=1) + "\n")
