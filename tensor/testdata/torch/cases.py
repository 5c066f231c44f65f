"""The cases of ops.json: (op/what it is about, inputs, attributes)."""

import torch

NAN, INF = float("nan"), float("inf")
MAX = 3.4028234663852886e38  # the largest float32
TINY = 1e-45  # rounds to the smallest float32, which is subnormal

# Every kind of float that an elementwise op may treat specially.
EDGES = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, MAX, -MAX, TINY, -TINY, 1.1754944e-38]


def f(*shape, seed=0, scale=1.0, dtype=torch.float32):
    """Values of both signs and no order, exact in float32 and none of them 0."""
    n = 1
    for d in shape:
        n *= d
    k = torch.arange(n, dtype=torch.float64) + 37 * seed + 1
    v = ((k * 29) % 64 - 31.5) / 16 * scale
    return v.reshape(shape).to(dtype)


def d(*shape, **kwargs):
    return f(*shape, dtype=torch.float64, **kwargs)


def v(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


def i(*values):
    return torch.tensor(values, dtype=torch.int64)


def rows(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


def edge_pairs():
    """Each special value against each of a few."""
    right = [NAN, INF, 0.0, -0.0]
    few = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, MAX]
    return [v(*[a for a in few for _ in right]), v(*[b for _ in few for b in right])]


def elementwise():
    for op in ("add", "sub", "mul", "div"):
        yield op + "/same_shape", [f(2, 3), f(2, 3, seed=1)], {}
        yield op + "/row", [f(3, 4), f(4, seed=1)], {}
        yield op + "/column", [f(3, 4), f(3, 1, seed=1)], {}
        yield op + "/special_values", edge_pairs(), {}
    yield "add/outer", [f(3, 1), f(1, 4, seed=1)], {}
    yield "add/scalar_right", [f(2, 3), f(seed=1)], {}
    yield "add/scalar_left", [f(), f(2, 3, seed=1)], {}
    yield "add/scalars", [f(), f(seed=1)], {}
    yield "add/rank_4", [f(2, 1, 3, 1), f(2, 1, 3, seed=1)], {}
    yield "add/empty", [f(0), f(0)], {}
    yield "add/empty_row", [f(0, 3), f(1, 3)], {}
    yield "add/empty_against_one", [f(2, 0), f(2, 1)], {}
    yield "add/empty_scalar", [f(0, 3), f()], {}
    yield "add/float64", [d(2, 3), d(3, seed=1)], {}
    yield "add/int64", [i(1, -2, 2**62), i(5, 7, 2**60 + 1)], {}
    yield "add/int64_wraps", [i(2**63 - 1, -(2**63)), i(1, -1)], {}
    yield "add/shapes_do_not_fit", [f(2, 3), f(2)], {}
    yield "sub/empty_scalar", [f(), f(0, 2)], {}
    yield "sub/int64_wraps", [i(-(2**63), 0), i(1, -(2**63))], {}
    yield "mul/scalar_right", [f(2, 3), f(seed=2)], {}
    yield "mul/outer", [f(3, 1), f(1, 4, seed=1)], {}
    yield "mul/empty_against_one", [f(1, 0), f(3, 1)], {}
    yield "mul/int64_wraps", [i(2**62, 3), i(2, -(2**62))], {}
    yield "div/scalar_left", [f(), f(2, 3, seed=1)], {}
    yield "div/by_zero", [v(1.0, -1.0, 1.0, -1.0), v(0.0, 0.0, -0.0, -0.0)], {}
    yield "div/float64", [d(2, 3), d(2, 1, seed=1)], {}
    yield "affine/scale_and_shift", [f(2, 3)], {"alpha": -1.5, "beta": 0.25}
    yield "affine/special_values", [v(*EDGES)], {"alpha": 2.0, "beta": -1.0}
    yield "affine/times_zero", [v(*EDGES)], {"alpha": 0.0, "beta": 1.0}
    yield "affine/float64", [d(2, 3)], {"alpha": 0.1, "beta": -0.3}


def functions():
    yield "exp/values", [f(3, 4)], {}
    yield "exp/special_values", [v(*EDGES)], {}
    yield "exp/near_the_ends", [v(88.7, 88.8, -87.3, -87.4, -103.9, -104.1, 1e4, -1e4)], {}
    yield "exp/float64", [d(2, 3, scale=100.0)], {}
    yield "exp/empty", [f(0, 2)], {}
    yield "log/values", [f(3, 4).abs()], {}
    yield "log/special_values", [v(*EDGES)], {}
    yield "log/near_one", [v(0.9999999, 1.0, 1.0000001, 0.99, 1.01)], {}
    yield "log/float64", [d(2, 3).abs()], {}
    yield "sqrt/values", [f(3, 4).abs()], {}
    yield "sqrt/special_values", [v(*EDGES)], {}
    yield "sqrt/float64", [d(2, 3).abs()], {}
    yield "relu/values", [f(3, 4)], {}
    yield "relu/special_values", [v(*EDGES)], {}
    yield "relu/float64", [d(2, 3)], {}
    yield "relu/scalar", [v(-2.0).reshape(())], {}
    yield "copy/float32_to_float64", [v(*EDGES)], {"dtype": "float64"}
    yield "copy/float64_to_float32", [v(0.1, 1e39, -1e39, 1e-46, NAN, INF, 1 + 2**-24, 1 + 3 * 2**-24, dtype=torch.float64)], {"dtype": "float32"}
    yield "copy/float_to_int64", [v(1.5, -1.5, 0.99, -0.99, -0.0, 16777216.0, -3.0)], {"dtype": "int64"}
    yield "copy/int64_to_float32", [i(0, -1, 16777217, 16777219, 2**63 - 1)], {"dtype": "float32"}


def reductions():
    for op in ("sum", "mean", "amax"):
        yield op + "/all", [f(3, 4)], {"dims": [0, 1]}
        yield op + "/rows", [f(3, 4)], {"dims": [0]}
        yield op + "/columns_keepdim", [f(3, 4)], {"dims": [1], "keepdim": True}
        yield op + "/outer_dims", [f(2, 3, 4)], {"dims": [0, 2]}
        yield op + "/middle_dim_keepdim", [f(2, 3, 4)], {"dims": [1], "keepdim": True}
        yield op + "/negative_dim", [f(2, 3)], {"dims": [-1]}
        yield op + "/all_keepdim", [f(2, 3)], {"dims": [0, 1], "keepdim": True}
        yield op + "/float64", [d(3, 4)], {"dims": [1]}
        yield op + "/infinities", [rows([INF, 1.0, 2.0], [-INF, 1.0, 2.0], [-INF, -INF, -INF], [INF, -INF, 1.0])], {"dims": [1]}
        yield op + "/nan", [rows([1.0, NAN, 2.0], [NAN, INF, NAN], [1.0, 2.0, 3.0])], {"dims": [1]}
        yield op + "/nothing_left", [f(0, 3)], {"dims": [1]}
        yield op + "/dim_twice", [f(2, 3)], {"dims": [0, 0]}
        yield op + "/dim_out_of_range", [f(2, 3)], {"dims": [2]}
        yield op + "/of_nothing", [f(2, 0)], {"dims": [1]}
        yield op + "/of_nothing_keepdim", [f(0, 3)], {"dims": [0], "keepdim": True}
    yield "sum/of_nothing_at_all", [f(0)], {"dims": [0]}
    yield "mean/of_nothing_at_all", [f(0, 0)], {"dims": [0, 1]}
    yield "sum/cancels", [v(1e8, 1.0, -1e8, 1.0, dtype=torch.float64)], {"dims": [0]}
    yield "amax/ties", [rows([1.0, 3.0, 3.0, 2.0], [2.0, 2.0, 2.0, 2.0], [5.0, 4.0, 4.0, 4.0])], {"dims": [1]}
    yield "amax/ties_over_both_dims", [rows([1.0, 3.0], [3.0, 3.0])], {"dims": [0, 1]}
    yield "amax/zeros_of_both_signs", [rows([0.0, -0.0, -1.0], [-0.0, 0.0, -1.0])], {"dims": [1]}
    yield "argmax/rows", [f(3, 4)], {"dims": [0]}
    yield "argmax/columns", [f(3, 4)], {"dims": [1]}
    yield "argmax/keepdim", [f(2, 3, 4)], {"dims": [1], "keepdim": True}
    yield "argmax/negative_dim", [f(2, 3)], {"dims": [-1]}
    yield "argmax/ties", [rows([1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.0, -0.0, -1.0], [-0.0, 0.0, -1.0])], {"dims": [1]}
    yield "argmax/nan", [rows([1.0, NAN, 2.0, NAN], [NAN, INF, 1.0, 2.0], [INF, 1.0, INF, 2.0])], {"dims": [1]}
    yield "argmax/infinities", [rows([-INF, -INF], [-INF, INF])], {"dims": [1]}
    yield "argmax/float64", [d(3, 4)], {"dims": [1]}
    yield "argmax/nothing_left", [f(0, 3)], {"dims": [1]}
    yield "argmax/of_nothing", [f(2, 0)], {"dims": [1]}


def products():
    for ta in (False, True):
        for tb in (False, True):
            attrs = {k: True for k, on in (("trans_a", ta), ("trans_b", tb)) if on}
            form = "nt"[ta] + "nt"[tb]
            flip = lambda on, m, n: (n, m) if on else (m, n)  # noqa: E731
            yield "matmul/" + form, [f(*flip(ta, 3, 5)), f(*flip(tb, 5, 4), seed=1)], attrs
            yield "matmul/" + form + "_float64", [d(*flip(ta, 2, 7)), d(*flip(tb, 7, 3), seed=1)], attrs
            yield "matmul/" + form + "_k_is_0", [f(*flip(ta, 2, 0)), f(*flip(tb, 0, 3))], attrs
    yield "matmul/m_is_0", [f(0, 3), f(3, 2)], {}
    yield "matmul/n_is_0", [f(2, 3), f(3, 0)], {}
    yield "matmul/all_0", [f(0, 0), f(0, 0)], {}
    yield "matmul/one_by_one", [f(1, 1), f(1, 1, seed=1)], {}
    yield "matmul/dot", [f(1, 40), f(40, 1, seed=1)], {}
    yield "matmul/outer", [f(5, 1), f(1, 6, seed=1)], {}
    yield "matmul/special_values", [rows([NAN, 1.0], [INF, 0.0], [0.0, -0.0], [1.0, 2.0]), rows([1.0, 0.0, INF], [2.0, 1.0, -INF])], {}
    yield "matmul/shapes_do_not_fit", [f(2, 3), f(2, 3)], {}
    yield "linear/bias", [f(3, 4), f(4, 5, seed=1), f(5, seed=2)], {}
    yield "linear/bias_relu", [f(3, 4), f(4, 5, seed=1), f(5, seed=2)], {"relu": True}
    yield "linear/no_bias", [f(3, 4), f(4, 5, seed=1)], {}
    yield "linear/no_bias_relu", [f(3, 4), f(4, 5, seed=1)], {"relu": True}
    yield "linear/relu_float64", [d(3, 4), d(4, 5, seed=1), d(5, seed=2)], {"relu": True}
    yield "linear/no_rows", [f(0, 4), f(4, 5), f(5)], {"relu": True}
    yield "linear/in_is_0", [f(3, 0), f(0, 2), v(1.5, -1.5)], {"relu": True}
    yield "linear/relu_nan", [rows([NAN, 1.0], [INF, 1.0], [-INF, 1.0]), rows([1.0, -1.0], [1.0, 1.0]), v(0.0, NAN)], {"relu": True}


def losses():
    yield "cross_entropy/values", [f(4, 5), i(0, 4, 2, 2)], {}
    yield "cross_entropy/float64", [d(4, 5), i(1, 0, 3, 4)], {}
    yield "cross_entropy/one_row", [f(1, 3), i(2)], {}
    yield "cross_entropy/one_class", [f(3, 1), i(0, 0, 0)], {}
    yield "cross_entropy/equal_logits", [torch.full((2, 4), 7.0), i(0, 3)], {}
    yield "cross_entropy/large_logits", [rows([1e4, -1e4, 0.0], [88.0, 89.0, 90.0], [-200.0, -201.0, -202.0]), i(1, 2, 0)], {}
    yield "cross_entropy/largest_logits", [rows([MAX, 0.0], [0.0, MAX]), i(0, 1)], {}
    yield "cross_entropy/largest_logits_wrong", [rows([MAX, -MAX]), i(1)], {}
    yield "cross_entropy/minus_infinity_elsewhere", [rows([1.0, -INF, 2.0], [-INF, 0.5, -INF]), i(2, 1)], {}
    yield "cross_entropy/minus_infinity_at_label", [rows([1.0, -INF, 2.0], [1.0, 2.0, 3.0]), i(1, 0)], {}
    yield "cross_entropy/only_minus_infinity", [rows([-INF, -INF], [1.0, 2.0]), i(0, 1)], {}
    yield "cross_entropy/plus_infinity", [rows([INF, 1.0], [1.0, 2.0]), i(0, 1)], {}
    yield "cross_entropy/nan", [rows([NAN, 1.0], [1.0, 2.0]), i(1, 1)], {}
    yield "cross_entropy/no_rows", [f(0, 3), i()], {}
    yield "cross_entropy/label_too_large", [f(2, 3), i(0, 3)], {}
    yield "cross_entropy/label_negative", [f(2, 3), i(-1, 0)], {}
    yield "cross_entropy/rows_do_not_fit", [f(2, 3), i(0)], {}


def bounds():
    for fan_in in (1, 5, 64, 256, 784):
        yield "kaiming_uniform_bounds/fan_in_%d" % fan_in, [], {"fan_in": fan_in}


CASES = [c for family in (elementwise, functions, reductions, products, losses, bounds) for c in family()]
