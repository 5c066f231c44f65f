"""Normalisations and attention."""

import torch
from torch.nn import functional as F

from op_values import BOOL, F32, F64, FLOATS, HALVES, INF, NAN, View, constant, f, name_of, v


def batch_norm(x, a):
    """The output and the running statistics after it."""
    mean, variance = x[3].clone(), x[4].clone()
    y = F.batch_norm(x[0], mean, variance, x[1], x[2], a["training"], a["momentum"], a["eps"])
    return y, mean, variance


def optional(x, i):
    return x[i] if len(x) > i else None


def attention(x, a):
    return F.scaled_dot_product_attention(
        x[0], x[1], x[2], optional(x, 3), is_causal=a.get("causal", False), scale=a.get("scale"), enable_gqa=x[0].size(-3) != x[1].size(-3))


OPS = {
    "layer_norm": lambda x, a: F.layer_norm(x[0], x[0].shape[-a["dims"] :], optional(x, 1), optional(x, 2), a["eps"]),
    "rms_norm": lambda x, a: F.rms_norm(x[0], x[0].shape[-a["dims"] :], optional(x, 1), a["eps"]),
    "group_norm": lambda x, a: F.group_norm(x[0], a["groups"], optional(x, 1), optional(x, 2), a["eps"]),
    "batch_norm": batch_norm,
    "attention": attention,
}

ROWS = [[1.0, 2.0, 4.0], [3.0, 3.0, 3.0], [NAN, 1.0, 2.0], [INF, 1.0, 2.0], [0.0, 0.0, 0.0], [10.0, 11.0, 12.0]]


def cases():
    yield from layers()
    yield from groups()
    yield from batches()
    yield from attentions()


def layers():
    w, b = f(3, seed=1), f(3, seed=2)
    for op, params in (("layer_norm", [w, b]), ("rms_norm", [w])):
        a = {"dims": 1, "eps": 1e-5}
        yield op + "/float32/special_rows", [torch.tensor(ROWS), *params], a
        yield op + "/float32/no_weight", [f(2, 5)], a
        yield op + "/float32/two_dims", [f(2, 2, 3), *[f(2, 3, seed=k) for k, _ in enumerate(params)]], {"dims": 2, "eps": 1e-3}
        yield op + "/float32/transposed", [View(f(3, 4), ["transpose"]), *params], a
        yield op + "/float32/no_rows", [f(0, 3), *params], a
        yield op + "/float32/one_element", [f(3, 1), *[p[:1] for p in params]], {"dims": 1, "eps": 0.25}
        yield op + "/float32/weight_does_not_fit", [f(2, 4), *params], {**a, "fails": True}
        for dtype in HALVES + [F64]:
            yield "%s/%s/values" % (op, name_of(dtype)), [f(3, 3, dtype=dtype), *[p.to(dtype) for p in params]], a
    for dtype in HALVES:
        yield "layer_norm/%s_float32/values" % name_of(dtype), [f(3, 3, dtype=dtype), w, b], {"dims": 1, "eps": 1e-5}
    yield "layer_norm/float32/weight_alone", [f(2, 3), w], {"dims": 1, "eps": 1e-5}


def groups():
    w, b = f(4, seed=1), f(4, seed=2)
    for n in (1, 2, 4):
        yield "group_norm/float32/%d_groups" % n, [f(2, 4, 3), w, b], {"groups": n, "eps": 1e-5}
    yield "group_norm/float32/image_no_weight", [f(1, 4, 2, 3)], {"groups": 2, "eps": 1e-5}
    yield "group_norm/float32/equal_elements", [torch.full((1, 4, 2), 2.5), w, b], {"groups": 2, "eps": 1e-5}
    yield "group_norm/float32/transposed", [View(f(2, 3, 4), ["transpose"]), w, b], {"groups": 2, "eps": 1e-5}
    yield "group_norm/float32/groups_do_not_divide", [f(2, 4, 3), w, b], {"groups": 3, "eps": 1e-5, "fails": True}
    for dtype in HALVES + [F64]:
        yield "group_norm/%s/values" % name_of(dtype), [f(2, 4, 3, dtype=dtype), w.to(dtype), b.to(dtype)], {"groups": 2, "eps": 1e-5}
    for dtype in HALVES:
        yield "group_norm/%s_float32/values" % name_of(dtype), [f(2, 4, 3, dtype=dtype), w, b], {"groups": 2, "eps": 1e-5}


def batches():
    for dtype in FLOATS:
        stats = F64 if dtype == F64 else F32
        params = [f(3, seed=1, dtype=stats), f(3, seed=2, dtype=stats)]
        running = [constant(v(0.5, -0.25, 0.0, dtype=stats)), constant(v(1.0, 0.5, 2.0, dtype=stats))]
        for training in (True, False):
            n = "training" if training else "inference"
            yield "batch_norm/%s/%s" % (name_of(dtype), n), [f(4, 3, dtype=dtype), *params, *running], {"training": training, "momentum": 0.1, "eps": 1e-5}
    params, running = [f(2, seed=1), f(2, seed=2)], [constant(v(0.0, 0.0)), constant(v(1.0, 1.0))]
    a = {"training": True, "momentum": 0.25, "eps": 1e-3}
    yield "batch_norm/float32/image", [f(2, 2, 2, 3), *params, *running], a
    yield "batch_norm/float32/transposed", [View(f(2, 3, 2), ["transpose"]), *params, *running], a
    yield "batch_norm/float32/momentum_1", [f(3, 2), *params, *running], {**a, "momentum": 1.0}
    yield "batch_norm/float32/momentum_0", [f(3, 2), *params, *running], {**a, "momentum": 0.0}
    yield "batch_norm/float32/equal_elements", [torch.full((3, 2), 2.5), *params, *running], a
    yield "batch_norm/float32/nan_in_one_channel", [torch.tensor([[NAN, 1.0], [1.0, 2.0], [3.0, 5.0]]), *params, *running], a
    yield "batch_norm/float32/one_element_a_channel", [f(1, 2), *params, *running], {**a, "fails": True}


def attentions():
    q, k, x = f(1, 2, 3, 4), f(1, 2, 5, 4, seed=1), f(1, 2, 5, 3, seed=2)
    seen = torch.tensor([[True, False, True, True, False], [False, True, False, False, True], [True, True, True, True, True]])
    blind = torch.tensor([[False] * 5, [True] * 5, [False, False, True, False, False]])
    bias = f(3, 5, seed=3)
    yield "attention/float32/plain", [q, k, x], {}
    yield "attention/float32/scale", [q, k, x], {"scale": 0.25}
    yield "attention/float32/causal_wide", [q, k, x], {"causal": True}
    yield "attention/float32/causal_tall", [k, q, f(1, 2, 3, 2, seed=2)], {"causal": True}
    yield "attention/float32/bool_mask", [q, k, x, seen], {}
    yield "attention/float32/query_sees_nothing", [q, k, x, blind], {}
    yield "attention/float32/additive_mask", [q, k, x, constant(bias)], {}
    yield "attention/float32/mask_of_minus_infinity", [q, k, x, constant(bias.masked_fill(~seen, -INF))], {}
    yield "attention/float32/mask_per_head", [q, k, x, constant(f(2, 3, 5, seed=3))], {}
    yield "attention/float32/one_key", [q, k[..., :1, :], x[..., :1, :]], {}
    yield "attention/float32/large_scores", [q * 100, k * 100, x], {}
    yield "attention/float32/grouped_queries", [f(1, 4, 3, 2), f(1, 2, 3, 2, seed=1), f(1, 2, 3, 2, seed=2)], {"causal": True}
    yield "attention/float32/transposed_keys", [q, View(k.mT.contiguous(), ["transpose"]), x], {}
    yield "attention/float64/causal", [t.double() for t in (q, k, x)], {"causal": True}
    for dtype in HALVES:
        yield "attention/%s/plain" % name_of(dtype), [t.to(dtype) for t in (q, k, x)], {}
        yield "attention/%s/bool_mask" % name_of(dtype), [*[t.to(dtype) for t in (q, k, x)], seen], {}
    yield "attention/float32/keys_and_values_do_not_fit", [q, k, x[..., :4, :]], {"fails": True}
    yield "attention/float32/widths_do_not_fit", [q, k[..., :3], x], {"fails": True}
