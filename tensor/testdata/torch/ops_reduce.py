"""Reductions, scans, sorts and softmax."""

import torch

from op_values import BF16, BOOL, F16, F32, F64, FLOATS, HALVES, I32, I64, INF, NAN, U8, View, f, i, name_of, scalar, v


def over(name, default=None):
    """The reduction x.name(dims, keepdim), over all dims where none is given."""

    def g(x, a):
        dims = a.get("dims") or list(range(x[0].dim()))
        return getattr(x[0], name)(dims, keepdim=a.get("keepdim", False))

    return g


def prod(x, a):
    y, keep = x[0], a.get("keepdim", False)
    for d in sorted((d % x[0].dim() for d in a.get("dims") or range(x[0].dim())), reverse=True):
        y = y.prod(d, keepdim=keep)
    return y if x[0].dim() else x[0].prod()


def spread(name):
    def g(x, a):
        return getattr(x[0], name)(a.get("dims") or None, correction=a["correction"], keepdim=a.get("keepdim", False))

    return g


OPS = {name: over(name) for name in ("sum", "mean", "amax", "amin", "any", "all", "logsumexp")}
OPS |= {
    "prod": prod,
    "var": spread("var"),
    "std": spread("std"),
    "norm": lambda x, a: torch.linalg.vector_norm(x[0], a["p"], a.get("dims") or None, a.get("keepdim", False)),
    "max_with_indices": lambda x, a: x[0].max(a["dim"]),
    "min_with_indices": lambda x, a: x[0].min(a["dim"]),
    "argmax": lambda x, a: x[0].argmax(a["dim"]),
    "argmin": lambda x, a: x[0].argmin(a["dim"]),
    "cumsum": lambda x, a: x[0].cumsum(a["dim"]),
    "cumprod": lambda x, a: x[0].cumprod(a["dim"]),
    "sort": lambda x, a: x[0].sort(dim=a["dim"], descending=a.get("descending", False), stable=True),
    "argsort": lambda x, a: x[0].argsort(dim=a["dim"], descending=a.get("descending", False), stable=True),
    "topk": lambda x, a: x[0].topk(a["k"], a["dim"], a.get("largest", True)),
    "softmax": lambda x, a: x[0].softmax(a["dim"]),
    "log_softmax": lambda x, a: x[0].log_softmax(a["dim"]),
}

ROWS = [[NAN, 1.0, 2.0], [INF, 1.0, 2.0], [-INF, 1.0, 2.0], [-INF, -INF, -INF], [INF, -INF, 1.0], [0.0, -0.0, -1.0], [2.0, 2.0, 1.0]]


def rows(dtype=F32, values=ROWS):
    return torch.tensor(values, dtype=dtype)


def cases():
    yield from sums()
    yield from extremes()
    yield from spreads()
    yield from norms()
    yield from products()
    yield from orders()
    yield from softmaxes()


def sums():
    for k, op in enumerate(("sum", "mean", "amax", "amin", "logsumexp")):
        yield op + "/float32/special_rows", [rows()], {"dims": [1]}
        yield op + "/float32/all", [f(2, 3)], {}
        yield op + "/float32/no_dims", [scalar(2.5)], {}
        yield op + "/float64/outer_dims_keepdim", [f(2, 3, 4, dtype=F64)], {"dims": [0, -1], "keepdim": True}
        yield op + "/float32/transposed", [View(f(3, 4), ["transpose"])], {"dims": [0]}
        yield op + "/float32/nothing_left", [f(0, 3)], {"dims": [1]}
        yield op + "/float32/dim_out_of_range", [f(2, 3)], {"dims": [2], "fails": True}
        for dtype in HALVES:
            yield "%s/%s/rows" % (op, name_of(dtype)), [f(3, 8, dtype=dtype)], {"dims": [1]}
    for op in ("sum", "mean", "logsumexp"):
        yield op + "/float32/of_nothing", [f(2, 0)], {"dims": [1]}
    for op in ("amax", "amin"):
        yield op + "/float32/of_nothing", [f(2, 0)], {"dims": [1], "fails": True}
        yield op + "/float32/ties_over_two_dims", [torch.tensor([[1.0, 3.0], [3.0, 1.0]])], {"dims": [0, 1]}
        yield op + "/int64/values", [i(-(2**63), 5, 2**62)], {"dims": [0]}
        yield op + "/bool/values", [v(True, False, dtype=BOOL)], {"dims": [0]}
    yield "sum/float32/of_nothing_at_all", [f(0, 0)], {}
    yield "sum/bool/counts", [v(True, True, False, dtype=BOOL)], {}
    yield "sum/uint8/is_int64", [i(200, 100, dtype=U8)], {}
    yield "sum/int32/is_int64", [i(2**31 - 1, 1, dtype=I32)], {}
    yield "sum/float32/expanded", [View(f(3, 1), ["expand", 2, 3, 2])], {"dims": [0, 2]}
    yield "mean/int64/refused", [i(1, 2)], {"fails": True}
    yield "logsumexp/float32/large", [torch.tensor([[1e4, 1e4], [-1e4, -1e4], [100.0, -100.0]])], {"dims": [1]}
    yield "logsumexp/float32/one_minus_infinity", [v(-INF)], {"dims": [0]}
    for op in ("any", "all"):
        yield op + "/float32/nan_is_true", [torch.tensor([[NAN, 0.0], [0.0, -0.0], [1.0, 2.0]])], {"dims": [1]}
        yield op + "/bool/everything", [v(True, False, dtype=BOOL)], {}
        yield op + "/int64/of_nothing", [i()], {}
        yield op + "/bool/keepdim", [torch.tensor([[True, False], [False, False]])], {"dims": [0], "keepdim": True}


def extremes():
    for op in ("max_with_indices", "min_with_indices", "argmax", "argmin"):
        yield op + "/float32/special_rows", [rows()], {"dim": 1}
        yield op + "/float32/ties", [torch.tensor([[1.0, 3.0, 3.0], [1.0, 1.0, 3.0], [2.0, 2.0, 2.0]])], {"dim": -1}
        yield op + "/float32/of_nothing", [f(2, 0)], {"dim": 1, "fails": True}
        yield op + "/float32/transposed", [View(f(3, 4), ["transpose"])], {"dim": 0}
        yield op + "/int64/values", [torch.tensor([[5, -(2**62), 7], [7, 7, -1]])], {"dim": 1}
        yield op + "/bfloat16/values", [f(3, 5, dtype=BF16)], {"dim": 0}
        yield op + "/float32/nothing_left", [f(0, 3)], {"dim": 1}


def spreads():
    for op in ("var", "std"):
        for dtype in FLOATS:
            yield "%s/%s/rows" % (op, name_of(dtype)), [f(3, 5, dtype=dtype)], {"dims": [1], "correction": 1.0}
        yield op + "/float32/one_element", [v(3.0)], {"correction": 1.0}
        yield op + "/float32/one_element_biased", [v(3.0)], {"correction": 0.0}
        yield op + "/float32/equal_elements", [torch.full((2, 3), 1.5)], {"dims": [1], "correction": 1.0}
        yield op + "/float32/of_nothing", [f(2, 0)], {"dims": [1], "correction": 1.0}
        yield op + "/float32/correction_too_large", [f(2, 3)], {"dims": [1], "correction": 5.0}
        yield op + "/float32/special_rows", [rows()], {"dims": [1], "correction": 0.0}
        yield op + "/float32/far_from_0", [v(1e4, 1e4 + 1, 1e4 + 2, 1e4 + 3)], {"correction": 1.0}
        yield op + "/float32/all_keepdim", [f(2, 3)], {"correction": 0.5, "keepdim": True}


def norms():
    for p in (0.0, 1.0, 2.0, 3.0, 0.5, INF, -INF):
        n = str(p).replace("-", "minus_").replace(".", "_")
        yield "norm/float32/p_%s" % n, [torch.tensor([[3.0, -4.0, 1.0], [0.0, 0.0, 0.0], [-2.0, 2.0, 0.0]])], {"p": p, "dims": [1]}
        yield "norm/float32/p_%s_special_rows" % n, [rows()], {"p": p, "dims": [1]}
    for p in (1.0, 2.0, 0.0):
        yield "norm/float32/p_%d_of_nothing" % p, [f(2, 0)], {"p": p, "dims": [1]}
    yield "norm/float32/p_inf_of_nothing", [f(2, 0)], {"p": INF, "dims": [1], "fails": True}
    yield "norm/float64/all_keepdim", [f(2, 3, dtype=F64)], {"p": 2.0, "keepdim": True}
    for dtype in HALVES:
        yield "norm/%s/p_2" % name_of(dtype), [f(3, 4, dtype=dtype)], {"p": 2.0, "dims": [1]}
    yield "norm/int64/refused", [i(3, 4)], {"p": 2.0, "fails": True}


def products():
    zeros = torch.tensor([[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0], [-0.0, -1.0, 2.0]])
    for op, args in (("prod", {"dims": [1]}), ("cumprod", {"dim": 1})):
        yield op + "/float32/zeros", [zeros], args
        yield op + "/float64/zeros", [zeros.double()], args
        yield op + "/float16/zeros", [zeros.half()], args
        yield op + "/bfloat16/zeros", [zeros.bfloat16()], args
        yield op + "/float32/special_rows", [rows()], args
        yield op + "/int32/is_int64", [torch.tensor([[2**20, 2**20, 2], [-1, 0, 5]], dtype=I32)], args
    yield "prod/float32/all", [f(2, 3)], {}
    yield "prod/float32/two_dims", [f(2, 3, 2)], {"dims": [0, 2]}
    yield "prod/float32/of_nothing", [f(2, 0)], {"dims": [1]}
    yield "prod/bool/values", [v(True, True, dtype=BOOL)], {}
    yield "cumsum/float32/special_rows", [rows()], {"dim": 1}
    yield "cumsum/float32/first_dim", [f(3, 4)], {"dim": 0}
    yield "cumsum/float32/transposed", [View(f(3, 4), ["transpose"])], {"dim": -1}
    yield "cumsum/float32/of_nothing", [f(2, 0)], {"dim": 1}
    yield "cumsum/float32/no_dims", [scalar(2.5)], {"dim": 0}
    yield "cumsum/bool/is_int64", [v(True, True, False, True, dtype=BOOL)], {"dim": 0}
    yield "cumsum/float16/values", [f(2, 6, dtype=F16)], {"dim": 1}
    yield "cumsum/float32/dim_out_of_range", [f(2, 3)], {"dim": 2, "fails": True}
    yield "cumprod/float32/first_dim", [f(3, 4)], {"dim": 0}


def orders():
    mixed = [[3.0, NAN, -INF, 3.0, -0.0, 0.0], [INF, 1.0, NAN, -1.0, NAN, 1.0]]
    for descending in (False, True):
        args, n = {"dim": 1, "descending": descending}, "descending" if descending else "ascending"
        yield "sort/float32/nan_and_ties_" + n, [rows(values=mixed)], args
        yield "argsort/float32/nan_and_ties_" + n, [rows(values=mixed)], args
        yield "sort/float16/nan_and_ties_" + n, [rows(F16, mixed)], args
        yield "sort/int64/ties_" + n, [torch.tensor([[5, -(2**62), 5, 0]])], args
        yield "sort/bool/ties_" + n, [torch.tensor([[True, False, True, False]])], args
        yield "sort/float32/first_dim_" + n, [f(4, 3)], {"dim": 0, "descending": descending}
    yield "sort/float32/transposed", [View(f(3, 4), ["transpose"])], {"dim": 0}
    yield "sort/float32/of_nothing", [f(2, 0)], {"dim": 1}
    yield "sort/float32/no_dims", [scalar(2.5)], {"dim": 0}
    for largest in (True, False):
        n = "largest" if largest else "smallest"
        yield "topk/float32/" + n, [f(3, 6)], {"k": 2, "dim": 1, "largest": largest}
        yield "topk/float32/%s_first_dim" % n, [f(5, 2)], {"k": 3, "dim": 0, "largest": largest}
        yield "topk/float32/%s_with_nan" % n, [v(1.0, NAN, 3.0, -INF, INF)], {"k": 3, "dim": 0, "largest": largest}
        yield "topk/bfloat16/" + n, [f(2, 6, dtype=BF16)], {"k": 3, "dim": -1, "largest": largest}
    yield "topk/float32/all_of_them", [f(2, 3)], {"k": 3, "dim": 1}
    yield "topk/float32/none", [f(2, 3)], {"k": 0, "dim": 1}
    yield "topk/float32/too_many", [f(2, 3)], {"k": 4, "dim": 1, "fails": True}


def softmaxes():
    for op in ("softmax", "log_softmax"):
        for dtype in FLOATS:
            yield "%s/%s/rows" % (op, name_of(dtype)), [f(3, 5, dtype=dtype)], {"dim": 1}
        yield op + "/float32/special_rows", [rows()], {"dim": 1}
        yield op + "/float32/large", [torch.tensor([[1e4, -1e4, 0.0], [3e38, 3e38, 0.0], [88.0, 89.0, 90.0]])], {"dim": 1}
        yield op + "/float32/first_dim", [f(4, 3)], {"dim": 0}
        yield op + "/float32/middle_dim", [f(2, 3, 2)], {"dim": -2}
        yield op + "/float32/transposed", [View(f(3, 4), ["transpose"])], {"dim": 1}
        yield op + "/float32/of_nothing", [f(2, 0)], {"dim": 1}
        yield op + "/float32/no_dims", [scalar(2.5)], {"dim": 0}
        yield op + "/float32/one_class", [f(3, 1)], {"dim": 1}
        yield op + "/float32/dim_out_of_range", [f(2, 3)], {"dim": 2, "fails": True}
