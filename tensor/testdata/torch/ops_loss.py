"""Losses with their reductions, weights and smoothing."""

import torch
from torch.nn import functional as F

from op_values import BF16, F16, F64, HALVES, INF, NAN, View, constant, f, i, name_of, v


def weighted(g, *names):
    """A loss whose third input, if there is one, is its weight."""

    def loss(x, a):
        return g(x[0], x[1], weight=x[2] if len(x) > 2 else None, reduction=a["reduction"], **{k: a[k] for k in names if k in a})

    return loss


def bce_with_logits(x, a):
    """Inputs x, target, and those of weight and pos_weight that a["with"] names."""
    return F.binary_cross_entropy_with_logits(x[0], x[1], reduction=a["reduction"], **dict(zip(a.get("with", []), x[2:])))


OPS = {
    "cross_entropy": weighted(F.cross_entropy, "ignore_index", "label_smoothing"),
    "nll": weighted(F.nll_loss, "ignore_index"),
    "mse": lambda x, a: F.mse_loss(x[0], x[1], reduction=a["reduction"]),
    "l1": lambda x, a: F.l1_loss(x[0], x[1], reduction=a["reduction"]),
    "huber": lambda x, a: F.huber_loss(x[0], x[1], reduction=a["reduction"], delta=a["delta"]),
    "smooth_l1": lambda x, a: F.smooth_l1_loss(x[0], x[1], reduction=a["reduction"], beta=a["beta"]),
    "kl_div": lambda x, a: F.kl_div(x[0], x[1], reduction=a["reduction"], log_target=a.get("log_target", False)),
    "bce_with_logits": bce_with_logits,
}
REDUCTIONS = ["mean", "sum", "none"]


def cases():
    yield from cross_entropies()
    yield from nlls()
    yield from distances()
    yield from divergences()


def cross_entropies():
    x, c, w = f(4, 5), i(0, 4, 2, 2), constant(v(1.0, 0.5, 2.0, 0.0, 1.5))
    p = constant(f(4, 5, seed=3).softmax(1))
    for r in REDUCTIONS:
        yield "cross_entropy/float32/" + r, [x, c], {"reduction": r}
        yield "cross_entropy/float32/weight_" + r, [x, c, w], {"reduction": r}
        yield "cross_entropy/float32/weight_smoothing_ignored_" + r, [x, i(0, -100, 4, 2), w], {"reduction": r, "label_smoothing": 0.25}
        yield "cross_entropy/float32/all_ignored_" + r, [x, i(-100, -100, -100, -100)], {"reduction": r}
        yield "cross_entropy/float32/probabilities_" + r, [x, p], {"reduction": r}
        yield "cross_entropy/float32/probabilities_weight_smoothing_" + r, [x, p, w], {"reduction": r, "label_smoothing": 0.25}
    yield "cross_entropy/float32/smoothing_1", [x, c], {"reduction": "mean", "label_smoothing": 1.0}
    yield "cross_entropy/float32/ignore_index_2", [x, c], {"reduction": "mean", "ignore_index": 2}
    yield "cross_entropy/float32/all_weights_0", [x, c, constant(torch.zeros(5))], {"reduction": "mean"}
    yield "cross_entropy/float32/one_example_without_dim", [f(5), i(3).reshape(())], {"reduction": "mean"}
    yield "cross_entropy/float32/image", [f(2, 3, 2, 2), i(0, 1, 2, 0, -100, 1, 1, 2).reshape(2, 2, 2)], {"reduction": "mean"}
    yield "cross_entropy/float32/image_none", [f(2, 3, 2), i(0, 1, 2, 0).reshape(2, 2)], {"reduction": "none"}
    yield "cross_entropy/float32/special_rows", [torch.tensor([[INF, 1.0], [-INF, 1.0], [-INF, 1.0], [NAN, 1.0], [3e38, -3e38]]), i(0, 0, 1, 1, 1)], {"reduction": "none"}
    yield "cross_entropy/float32/transposed", [View(f(5, 4), ["transpose"]), c], {"reduction": "mean"}
    yield "cross_entropy/float32/class_too_large", [x, i(0, 5, 2, 2)], {"reduction": "mean", "fails": True}
    yield "cross_entropy/float32/weight_too_short", [x, c, constant(v(1.0, 2.0))], {"reduction": "mean", "fails": True}
    yield "cross_entropy/float32/smoothing_above_1", [x, c], {"reduction": "mean", "label_smoothing": 1.5, "fails": True}
    for dtype in HALVES + [F64]:
        yield "cross_entropy/%s/smoothing" % name_of(dtype), [x.to(dtype), c], {"reduction": "mean", "label_smoothing": 0.125}
        yield "cross_entropy/%s/none" % name_of(dtype), [x.to(dtype), c], {"reduction": "none"}


def nlls():
    x, c, w = f(4, 5).log_softmax(1), i(0, 4, 2, 2), constant(v(1.0, 0.5, 2.0, 0.0, 1.5))
    for r in REDUCTIONS:
        yield "nll/float32/" + r, [x, c], {"reduction": r}
        yield "nll/float32/weight_ignored_" + r, [x, i(0, -100, 4, 2), w], {"reduction": r}
        yield "nll/float32/all_ignored_" + r, [x, i(1, 1, 1, 1)], {"reduction": r, "ignore_index": 1}
    yield "nll/float32/no_examples", [f(0, 3), i()], {"reduction": "mean"}
    yield "nll/float32/image", [f(2, 3, 2), i(0, 1, 2, 0).reshape(2, 2)], {"reduction": "mean"}
    yield "nll/float16/mean", [x.half(), c], {"reduction": "mean"}
    yield "nll/float32/class_negative", [x, i(0, -1, 2, 2)], {"reduction": "mean", "fails": True}


def distances():
    x, y = v(NAN, INF, 0.0, 1.0, -1.0, 2.5, 0.5, -3.0, 0.25), v(1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5)
    several = [("mse", {}), ("l1", {}), ("huber", {"delta": 1.0}), ("smooth_l1", {"beta": 1.0})]
    for op, a in several:
        for r in REDUCTIONS:
            yield "%s/float32/%s" % (op, r), [f(2, 4), f(2, 4, seed=1)], {**a, "reduction": r}
        yield op + "/float32/edges", [x, y], {**a, "reduction": "none"}
        yield op + "/float32/of_nothing_mean", [f(0, 2), f(0, 2)], {**a, "reduction": "mean"}
        yield op + "/float32/of_nothing_sum", [f(0, 2), f(0, 2)], {**a, "reduction": "sum"}
        yield op + "/float32/transposed", [View(f(3, 2), ["transpose"]), f(2, 3, seed=1)], {**a, "reduction": "mean"}
        yield op + "/float32/shapes_do_not_fit", [f(2, 4), f(3)], {**a, "reduction": "mean", "fails": True}
        for dtype in (F16, BF16, F64):
            yield "%s/%s/none" % (op, name_of(dtype)), [f(2, 4, dtype=dtype), f(2, 4, seed=1, dtype=dtype)], {**a, "reduction": "none"}
    for k in (0.5, 2.5):
        yield "huber/float32/delta_%s" % str(k).replace(".", "_"), [x, y], {"delta": k, "reduction": "none"}
        yield "smooth_l1/float32/beta_%s" % str(k).replace(".", "_"), [x, y], {"beta": k, "reduction": "none"}
    yield "smooth_l1/float32/beta_0", [f(2, 4), f(2, 4, seed=1)], {"beta": 0.0, "reduction": "mean"}
    yield "huber/float32/delta_0", [f(2, 4), f(2, 4, seed=1)], {"delta": 0.0, "reduction": "mean", "fails": True}


def divergences():
    x, p = f(2, 4).log_softmax(1), torch.tensor([[0.0, 0.25, 0.25, 0.5], [1.0, 0.0, 0.0, 0.0]])
    for r in REDUCTIONS + ["batchmean"]:
        yield "kl_div/float32/zero_targets_" + r, [x, constant(p) if r != "sum" else p], {"reduction": r}
        yield "kl_div/float32/log_target_" + r, [x, f(2, 4, seed=1).log_softmax(1)], {"reduction": r, "log_target": True}
    positive = f(2, 4, seed=2).softmax(1)
    yield "kl_div/float64/mean", [x.double(), positive.double()], {"reduction": "mean"}
    yield "kl_div/bfloat16/none", [x.bfloat16(), positive.bfloat16()], {"reduction": "none"}
    z, t = f(2, 3), torch.tensor([[0.0, 1.0, 0.5], [0.25, 1.0, 0.0]])
    edge, hit = v(0.0, -0.0, 100.0, -100.0, 1e4, -1e4, INF, -INF, INF, -INF, NAN), v(0.5, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0)
    for r in REDUCTIONS:
        yield "bce_with_logits/float32/" + r, [z, t], {"reduction": r}
        yield "bce_with_logits/float32/both_weights_" + r, [z, t, constant(f(2, 3, seed=2).abs()), constant(v(0.5, 2.0, 3.0))], {
            "reduction": r, "with": ["weight", "pos_weight"]}
    yield "bce_with_logits/float32/pos_weight", [z, t, constant(v(0.5, 2.0, 3.0))], {"reduction": "mean", "with": ["pos_weight"]}
    yield "bce_with_logits/float32/edges", [edge, hit], {"reduction": "none"}
    yield "bce_with_logits/float64/mean", [z.double(), t.double()], {"reduction": "mean"}
    for dtype in HALVES:
        yield "bce_with_logits/%s/none" % name_of(dtype), [z.to(dtype), t.to(dtype)], {"reduction": "none"}
    yield "bce_with_logits/float32/of_nothing", [f(0), f(0)], {"reduction": "mean"}
    yield "bce_with_logits/float32/shapes_do_not_fit", [z, v(0.0, 1.0)], {"reduction": "mean", "fails": True}
