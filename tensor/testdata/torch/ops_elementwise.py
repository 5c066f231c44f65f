"""Elementwise ops: special values, promotion, broadcasting, layouts, conversions."""

import torch
from torch.nn import functional as F

from op_values import BF16, BOOL, F16, F32, F64, FLOATS, HALVES, I32, I64, INF, NAN, U8, View, f, i, name_of, scalar, v

UNARY = {
    "abs": torch.abs,
    "neg": torch.neg,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "log": torch.log,
    "log1p": torch.log1p,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "trunc": torch.trunc,
    "sign": torch.sign,
    "isnan": torch.isnan,
    "isinf": torch.isinf,
    "logical_not": torch.logical_not,
}
BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "floor_divide": lambda x, y: torch.floor_divide(x.detach(), y.detach()),  # has no derivative
    "remainder": torch.remainder,
    "pow": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
}
OPS = {name: (lambda g: lambda x, a: g(x[0]))(g) for name, g in UNARY.items()}
OPS |= {name: (lambda g: lambda x, a: g(x[0], x[1]))(g) for name, g in BINARY.items()}
OPS |= {
    "elu": lambda x, a: F.elu(x[0], a["alpha"]),
    "leaky_relu": lambda x, a: F.leaky_relu(x[0], a["slope"]),
    "softplus": lambda x, a: F.softplus(x[0], a["beta"], a["threshold"]),
    "pow_scalar": lambda x, a: x[0].pow(a["p"]),
    "add_scalar": lambda x, a: x[0] + a["value"],
    "mul_scalar": lambda x, a: x[0] * a["value"],
    "clamp": lambda x, a: x[0].clamp(a["lo"], a["hi"]),
    "where": lambda x, a: torch.where(x[0], x[1], x[2]),
    "masked_fill": lambda x, a: x[0].masked_fill(x[1], a["value"]),
    "to": lambda x, a: x[0].to(getattr(torch, a["dtype"])),
}

SPECIAL = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 20.25, -20.25, 3e4, -3e4]
FUNCTIONS = "exp expm1 log log1p sqrt rsqrt reciprocal sin cos tanh erf sigmoid relu gelu gelu_tanh silu".split()
ROUNDING = "abs neg floor ceil round trunc sign isnan isinf logical_not".split()
COMPARISONS = "eq ne lt le gt ge".split()


def cases():
    yield from functions()
    yield from integers()
    yield from binary()
    yield from promotion()
    yield from powers()
    yield from selection()
    yield from shapes()
    yield from conversions()


def functions():
    for k, op in enumerate(FUNCTIONS + ROUNDING):
        yield op + "/float32/special_values", [v(*SPECIAL)], {}
        half = HALVES[k % 2]
        yield "%s/%s/special_values" % (op, name_of(half)), [v(*SPECIAL, dtype=half)], {}
    for op in FUNCTIONS:
        yield op + "/float64/values", [f(2, 3, dtype=F64).abs() + 0.1], {}
    for op in ("exp", "sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "expm1"):
        yield op + "/float32/large", [v(87.5, 88.75, 90.0, -87.5, -90.0, -104.5, 3e38, -3e38, 1e-30, -1e-30)], {}
    for op in ("log1p", "expm1", "tanh", "erf"):
        yield op + "/float32/small", [v(1e-8, -1e-8, 1e-4, -1e-4, 1e-40)], {}
    for dtype in FLOATS:
        n = name_of(dtype)
        yield "elu/%s/special_values" % n, [v(*SPECIAL, dtype=dtype)], {"alpha": 1.5}
        yield "leaky_relu/%s/special_values" % n, [v(*SPECIAL, dtype=dtype)], {"slope": 0.125}
        yield "softplus/%s/special_values" % n, [v(*SPECIAL, dtype=dtype)], {"beta": 1.0, "threshold": 20.0}
    yield "softplus/float32/beta_and_threshold", [v(*SPECIAL)], {"beta": 2.0, "threshold": 3.0}
    yield "elu/float32/alpha_0", [v(*SPECIAL)], {"alpha": 0.0}
    yield "relu/float32/empty", [f(0, 3)], {}
    yield "tanh/float32/transposed", [View(f(3, 4), ["transpose"])], {}
    yield "exp/float32/sliced", [View(f(2, 7), ["slice", 2])], {}
    yield "sigmoid/float32/expanded", [View(f(3, 1), ["expand", 2, 3, 4])], {}


def integers():
    for op in ("exp", "sqrt", "sigmoid", "reciprocal", "sin"):
        yield op + "/int64/becomes_float", [i(0, 1, 4, 9)], {}
    yield "log/bool/becomes_float", [v(True, False, dtype=BOOL)], {}
    for op in ("abs", "neg", "sign", "floor", "round", "isnan", "logical_not"):
        yield op + "/int32/values", [i(-3, 0, 5, 2**31 - 1, -(2**31), dtype=I32)], {}
    yield "neg/uint8/wraps", [i(0, 1, 200, dtype=U8)], {}
    yield "neg/bool/refused", [v(True, dtype=BOOL)], {"fails": True}
    yield "relu/int64/values", [i(-3, 0, 5)], {}
    yield "abs/int64/lowest", [i(-(2**63), -5)], {}
    yield "logical_not/bool/values", [v(True, False, dtype=BOOL)], {}


def binary():
    few = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.5]
    left, right = [a for a in few for _ in few], [b for _ in few for b in few]
    for k, op in enumerate(["add", "sub", "mul", "div", "floor_divide", "remainder", "maximum", "minimum"] + COMPARISONS):
        yield op + "/float32/special_pairs", [v(*left), v(*right)], {}
        half = HALVES[k % 2]
        yield "%s/%s/values" % (op, name_of(half)), [f(3, 4, dtype=half), f(4, seed=1, dtype=half)], {}
    for op in COMPARISONS:
        yield op + "/int64/large", [i(2**53, -(2**63), 5), i(2**53, 2**62, -5)], {}
    signs = [7, -7, 7, -7, 6, -6, 0, 1], [2, 2, -2, -2, 3, 3, 5, -3]
    for dtype in (I64, I32, F32):
        for op in ("floor_divide", "remainder", "div"):
            yield "%s/%s/signs" % (op, name_of(dtype)), [v(*signs[0], dtype=dtype), v(*signs[1], dtype=dtype)], {}
    yield "floor_divide/uint8/values", [i(200, 7, 255, dtype=U8), i(7, 2, 16, dtype=U8)], {}
    yield "remainder/uint8/values", [i(200, 7, 255, dtype=U8), i(7, 2, 16, dtype=U8)], {}
    yield "div/int64/by_zero", [i(1, -1, 0), i(0, 0, 0)], {}
    yield "floor_divide/float32/near_whole", [v(1.0, -1.0, 0.9, 1e10, -1e10), v(0.1, 0.1, 0.3, 3.0, 3.0)], {}
    yield "add/int32/wraps", [i(2**31 - 1, -(2**31), dtype=I32), i(1, -1, dtype=I32)], {}
    yield "mul/uint8/wraps", [i(200, 16, 255, dtype=U8), i(2, 16, 255, dtype=U8)], {}
    yield "sub/uint8/wraps", [i(1, 0, dtype=U8), i(2, 255, dtype=U8)], {}
    yield "maximum/float32/ties", [v(1.0, 2.0, 0.0, -0.0), v(1.0, 3.0, -0.0, 0.0)], {}
    yield "minimum/float64/ties", [v(1.0, 2.0, 4.0, dtype=F64), v(1.0, 3.0, 3.0, dtype=F64)], {}
    bits = [0b1100, 0b1010, 255, 0], [0b1010, 0b0110, 1, 7]
    for op in ("and", "or", "xor"):
        for dtype in (U8, I32, I64, BOOL):
            yield "%s/%s/bits" % (op, name_of(dtype)), [v(*b, dtype=I64).to(dtype) for b in bits], {}
        yield op + "/float32/refused", [v(1.0), v(2.0)], {"fails": True}
    yield "and/int64/negative", [i(-1, -8), i(5, 13)], {}


def promotion():
    ones = {dtype: v(1, 0, 1, dtype=dtype) for dtype in FLOATS + [I64, I32, U8, BOOL]}
    pairs = [(BOOL, BOOL), (BOOL, U8), (U8, I32), (U8, I64), (I32, I64), (BOOL, F16), (I64, F16), (I64, BF16), (U8, F32),
             (F16, BF16), (F16, F32), (BF16, F32), (F32, F64), (I32, F64)]
    for a, b in pairs:
        for op in ("add", "mul"):
            yield "%s/%s_%s/promotes" % (op, name_of(a), name_of(b)), [ones[a], ones[b]], {}
    yield "sub/bool_bool/refused", [ones[BOOL], ones[BOOL]], {"fails": True}
    yield "div/bool_bool/becomes_float", [ones[BOOL], v(True, True, True, dtype=BOOL)], {}
    yield "div/uint8_int32/becomes_float", [ones[U8], i(2, 3, 7, dtype=I32)], {}
    yield "eq/float16_bfloat16/promotes", [v(0.1, 1.0, dtype=F16), v(0.1, 1.0, dtype=BF16)], {}
    yield "lt/int64_float32/promotes", [i(1, 2, 3), v(1.5, 1.5, 3.0)], {}
    yield "maximum/int32_float64/promotes", [i(1, 2, dtype=I32), v(1.5, 1.5, dtype=F64)], {}
    yield "and/bool_uint8/promotes", [ones[BOOL], i(3, 3, 2, dtype=U8)], {}
    dimless = [(F32, F64), (F16, F32), (BF16, F64), (I32, I64), (I64, F64), (U8, F16), (BOOL, I64), (BOOL, F32), (F32, I64)]
    for a, b in dimless:
        yield "add/%s_%s/right_has_no_dims" % (name_of(a), name_of(b)), [ones[a], scalar(2, b)], {}
        yield "mul/%s_%s/left_has_no_dims" % (name_of(b), name_of(a)), [scalar(2, b), ones[a]], {}
    yield "add/float32_float64/neither_has_dims", [scalar(1.5), scalar(2.5, F64)], {}
    yield "add/float32_float32/empty_and_no_dims", [f(0, 2), scalar(1.0)], {}
    yield "where/float16_float32/promotes", [v(True, False, dtype=BOOL), v(1.5, 2.5, dtype=F16), v(3.5, 4.5)], {}
    yield "where/int32_float64/right_has_no_dims", [v(True, False, dtype=BOOL), i(1, 2, dtype=I32), scalar(0.5, F64)], {}
    yield "pow/int64_float32/promotes", [i(2, 3), v(0.5, 2.0)], {}
    yield "pow/bool_bool/refused", [v(True, False, dtype=BOOL), v(False, False, dtype=BOOL)], {"fails": True}


def powers():
    base = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, INF, -INF, NAN]
    for p in (0.0, 1.0, 2.0, 3.0, 0.5, -1.0, -2.0, INF, -INF, NAN):
        yield "pow_scalar/float32/to_%s" % str(p).replace("-", "minus_").replace(".", "_"), [v(*base)], {"p": p}
    yield "pow_scalar/float16/squares", [f(2, 3, dtype=F16)], {"p": 2.0}
    yield "pow_scalar/bfloat16/roots", [f(2, 3, dtype=BF16).abs()], {"p": 0.5}
    yield "pow_scalar/float64/values", [f(2, 3, dtype=F64).abs()], {"p": -1.5}
    for exponent in (0.0, -0.0, 1.0, 2.0, 0.5, -1.0, INF, NAN):
        name = "pow/float32/exponent_%s" % str(exponent).replace("-", "minus_").replace(".", "_")
        yield name, [v(*base), torch.full((9,), exponent)], {}
    yield "pow/int64/values", [i(2, -2, -3, 0, 0, 1, 10), i(10, 3, 2, 0, 5, 100, 18)], {}
    yield "pow/int64/negative_exponents", [i(1, -1, -1, 2, -2), i(-3, -3, -2, -1, -1)], {}
    yield "pow/uint8/wraps", [i(2, 3, 16, dtype=U8), i(8, 5, 2, dtype=U8)], {}
    yield "pow/float32/broadcast_exponent_gradient", [f(2, 3).abs(), v(2.0, -1.0, 0.5)], {}
    yield "pow/float16/values", [f(2, 3, dtype=F16).abs(), f(3, seed=2, dtype=F16)], {}


def selection():
    edge = [NAN, INF, -INF, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5]
    for name, lo, hi in [("both", -0.5, 1.0), ("low", 0.0, INF), ("high", -INF, 0.5), ("crossed", 1.0, -0.5), ("equal", 0.5, 0.5), ("none", -INF, INF)]:
        yield "clamp/float32/" + name, [v(*edge)], {"lo": lo, "hi": hi}
    for dtype in HALVES + [F64]:
        yield "clamp/%s/gradient_at_the_bounds" % name_of(dtype), [v(*edge, dtype=dtype)], {"lo": -0.5, "hi": 1.0}
    yield "where/float32/nan_not_chosen", [v(True, False, True, dtype=BOOL), v(1.0, NAN, INF), v(NAN, 2.0, 3.0)], {}
    yield "where/float32/broadcast_all", [View(torch.tensor([[True], [False]])), f(3), f(1, 1, seed=1)], {}
    yield "where/int64/values", [v(True, False, dtype=BOOL), i(2**62, 5), i(1, -(2**62))], {}
    yield "where/bool/values", [v(True, False, dtype=BOOL), v(False, False, dtype=BOOL), v(True, True, dtype=BOOL)], {}
    yield "where/bfloat16/values", [v(True, False, dtype=BOOL), v(0.1, 0.2, dtype=BF16), v(0.3, 0.4, dtype=BF16)], {}
    yield "where/float32/condition_is_no_bool", [v(1.0, 0.0), v(1.0, 2.0), v(3.0, 4.0)], {"fails": True}
    yield "masked_fill/float32/row", [f(2, 3), v(True, False, True, dtype=BOOL)], {"value": -INF}
    yield "masked_fill/float16/column", [f(2, 3, dtype=F16), torch.tensor([[True], [False]])], {"value": 0.5}
    yield "masked_fill/int64/values", [i(1, 2, 3), v(True, False, True, dtype=BOOL)], {"value": -7.0}
    yield "add_scalar/float16/rounds_once", [f(2, 3, dtype=F16)], {"value": 0.1}
    yield "mul_scalar/bfloat16/rounds_once", [f(2, 3, dtype=BF16)], {"value": 0.1}
    yield "mul_scalar/float32/infinite", [v(0.0, 1.0, -1.0, NAN)], {"value": INF}


def shapes():
    for op in ("add", "div", "eq"):
        yield op + "/float32/empty_against_row", [f(0, 3), f(3)], {}
        yield op + "/float32/empty_against_1", [f(2, 0, 3), f(1, 1, 1)], {}
    yield "mul/float32/empty_column_against_row", [f(0, 1), f(1, 0)], {}
    yield "add/float32/0_against_2", [f(0, 3), f(2, 3)], {"fails": True}
    yield "mul/float32/3_against_2", [f(3), f(2)], {"fails": True}
    yield "sub/float32/gradient_of_broadcast_middle", [f(2, 1, 3), f(2, 4, 1, seed=1)], {}
    yield "mul/float32/both_transposed", [View(f(3, 4), ["transpose"]), View(f(3, 4, seed=1), ["transpose"])], {}
    yield "mul/float32/sliced_against_expanded", [View(f(2, 7), ["slice", 2]), View(f(3, seed=1), ["expand", 2, 3])], {}
    yield "div/float32/transposed_against_dense", [View(f(3, 2), ["transpose"]), f(2, 3, seed=1)], {}
    yield "add/float32/rank_5", [f(2, 1, 2, 1, 3), f(2, 1, 2, 1, seed=1)], {}


def conversions():
    for a in (F32, F64, F16, BF16):
        for b in (F32, F64, F16, BF16):
            if a != b:
                yield "to/%s_%s/gradient" % (name_of(a), name_of(b)), [v(0.1, -3.3, 1e-5, 60000.0, INF, NAN, dtype=a)], {"dtype": name_of(b)}
    yield "to/float32_int64/truncates", [v(1.9, -1.9, 0.5, -0.0)], {"dtype": "int64"}
    yield "to/float16_bool/nan_is_true", [v(NAN, 0.0, -0.0, 1e-7, dtype=F16)], {"dtype": "bool"}
    yield "to/int64_uint8/keeps_low_bits", [i(256, -1, 511, 300)], {"dtype": "uint8"}
    yield "to/int64_float16/overflows", [i(65519, 65520, -70000, 2049)], {"dtype": "float16"}
    yield "to/bool_bfloat16/values", [v(True, False, dtype=BOOL)], {"dtype": "bfloat16"}
