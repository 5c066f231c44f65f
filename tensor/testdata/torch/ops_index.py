"""Indexing, joining, moving, making."""

import torch
from torch.nn import functional as F

from op_values import BF16, BOOL, F16, F32, F64, HALVES, I32, I64, INF, NAN, U8, View, constant, f, i, name_of, v

OPS = {
    "gather": lambda x, a: x[0].gather(a["dim"], x[1]),
    "scatter": lambda x, a: x[0].scatter(a["dim"], x[1], x[2]),
    "scatter_add": lambda x, a: x[0].scatter_add(a["dim"], x[1], x[2]),
    "index_select": lambda x, a: x[0].index_select(a["dim"], x[1]),
    "index_add": lambda x, a: x[0].index_add(a["dim"], x[1], x[2]),
    "embedding": lambda x, a: F.embedding(x[0], x[1]),
    "one_hot": lambda x, a: F.one_hot(x[0], a["classes"]),
    "triu": lambda x, a: x[0].triu(a["k"]),
    "tril": lambda x, a: x[0].tril(a["k"]),
    "concat": lambda x, a: torch.cat(x, a["dim"]),
    "stack": lambda x, a: torch.stack(x, a["dim"]),
    "pad": lambda x, a: F.pad(x[0], a["padding"], a["mode"], a.get("value") if a["mode"] == "constant" else None),
    "roll": lambda x, a: x[0].roll(a["shifts"], a["dims"]),
    "flip": lambda x, a: x[0].flip(a["dims"]),
    "repeat": lambda x, a: x[0].repeat(a["times"]),
    "repeat_interleave": lambda x, a: x[0].repeat_interleave(a["times"], a["dim"]),
    "diagonal": lambda x, a: x[0].diagonal(a["offset"], a["dim1"], a["dim2"]),
    "unfold": lambda x, a: x[0].unfold(a["dim"], a["size"], a["step"]),
    "arange": lambda x, a: torch.arange(a["start"], a["stop"], a["step"], dtype=getattr(torch, a["dtype"])),
    "linspace": lambda x, a: torch.linspace(a["start"], a["stop"], a["n"], dtype=getattr(torch, a["dtype"])),
    "eye": lambda x, a: torch.eye(a["n"], a["m"], dtype=getattr(torch, a["dtype"])),
}


def cases():
    yield from gathers()
    yield from scatters()
    yield from tables()
    yield from triangles()
    yield from joins()
    yield from moves()
    yield from made()


def gathers():
    x = f(3, 4)
    yield "gather/float32/columns_repeated", [x, torch.tensor([[0, 0, 3], [1, 1, 1], [3, 2, 0]])], {"dim": 1}
    yield "gather/float32/rows_of_fewer_columns", [x, torch.tensor([[2, 0], [2, 2]])], {"dim": 0}
    yield "gather/float32/negative_dim", [x, torch.tensor([[3], [0], [0]])], {"dim": -1}
    yield "gather/float32/no_indices", [x, torch.zeros(3, 0, dtype=I64)], {"dim": 1}
    yield "gather/float32/transposed", [View(f(4, 3), ["transpose"]), torch.tensor([[0, 3], [1, 1], [2, 0]])], {"dim": 1}
    yield "gather/float32/nan_and_infinities", [v(NAN, INF, -INF, -0.0), i(3, 2, 1, 0)], {"dim": 0}
    yield "gather/int64/values", [i(5, -7, 9), i(2, 2, 0)], {"dim": 0}
    yield "gather/bool/values", [v(True, False, dtype=BOOL), i(1, 0, 0)], {"dim": 0}
    for dtype in HALVES + [F64]:
        yield "gather/%s/columns_repeated" % name_of(dtype), [x.to(dtype), torch.tensor([[0, 0, 3], [1, 1, 1], [3, 2, 0]])], {"dim": 1}
    yield "gather/float32/index_too_large", [x, torch.tensor([[4]])], {"dim": 1, "fails": True}
    yield "gather/float32/index_negative", [x, torch.tensor([[-1]])], {"dim": 1, "fails": True}
    yield "gather/float32/rank_differs", [x, i(0, 1)], {"dim": 1, "fails": True}
    yield "gather/float32/index_wider_elsewhere", [x, torch.zeros(4, 1, dtype=I64)], {"dim": 1, "fails": True}


def scatters():
    x, once, often = f(3, 4), torch.tensor([[0, 3], [1, 0], [3, 2]]), torch.tensor([[0, 0, 0], [1, 1, 3], [2, 2, 2]])
    yield "scatter/float32/each_once", [x, once, f(3, 2, seed=1)], {"dim": 1}
    yield "scatter/float32/first_dim", [x, torch.tensor([[2, 0, 1, 2]]), f(1, 4, seed=1)], {"dim": 0}
    yield "scatter/float32/source_larger_than_index", [x, once, constant(f(3, 4, seed=1))], {"dim": 1}
    yield "scatter/int64/values", [i(1, 2, 3), i(2, 0), i(-1, -2)], {"dim": 0}
    yield "scatter/float16/each_once", [x.half(), once, f(3, 2, seed=1, dtype=F16)], {"dim": 1}
    yield "scatter_add/float32/repeated", [x, often, f(3, 3, seed=1)], {"dim": 1}
    yield "scatter_add/float32/first_dim_repeated", [x, torch.tensor([[2, 0, 1, 2], [2, 2, 1, 0]]), f(2, 4, seed=1)], {"dim": 0}
    yield "scatter_add/float32/no_indices", [x, torch.zeros(3, 0, dtype=I64), f(3, 0)], {"dim": 1}
    yield "scatter_add/float64/repeated", [x.double(), often, f(3, 3, seed=1, dtype=F64)], {"dim": 1}
    yield "scatter_add/int64/repeated", [i(1, 2, 3), i(2, 2, 2), i(10, 20, 30)], {"dim": 0}
    yield "scatter_add/float32/index_too_large", [x, torch.tensor([[4]]), f(1, 1)], {"dim": 1, "fails": True}
    yield "scatter_add/float32/dtypes_differ", [x, once, f(3, 2, dtype=F64)], {"dim": 1, "fails": True}
    yield "index_add/float32/repeated", [x, i(0, 0, 2), f(3, 4, seed=1)], {"dim": 0}
    yield "index_add/float32/columns", [x, i(3, 1), f(3, 2, seed=1)], {"dim": 1}


def tables():
    x = f(4, 3)
    for dtype in (I64, I32):
        yield "index_select/float32/%s_repeated" % name_of(dtype), [x, i(3, 0, 3, 3, dtype=dtype)], {"dim": 0}
        yield "embedding/float32/%s_repeated" % name_of(dtype), [torch.tensor([[3, 0], [3, 1]], dtype=dtype), x], {}
    yield "index_select/float32/columns", [x, i(2, 2, 0)], {"dim": -1}
    yield "index_select/float32/nothing", [x, i()], {"dim": 0}
    yield "index_select/bfloat16/repeated", [x.bfloat16(), i(1, 1)], {"dim": 0}
    yield "index_select/float32/index_too_large", [x, i(4)], {"dim": 0, "fails": True}
    yield "embedding/float32/no_dims", [i(2).reshape(()), x], {}
    yield "embedding/float32/nothing", [i(), x], {}
    yield "embedding/float16/repeated", [i(0, 0, 0, 2), x.half()], {}
    yield "embedding/float32/index_too_large", [i(4), x], {"fails": True}
    yield "embedding/float32/index_negative", [i(-1), x], {"fails": True}
    yield "one_hot/int64/values", [torch.tensor([[0, 2], [1, 0]])], {"classes": 3}
    yield "one_hot/int64/nothing", [i()], {"classes": 3}
    yield "one_hot/int64/class_too_large", [i(0, 3)], {"classes": 3, "fails": True}


def triangles():
    for op in ("triu", "tril"):
        for k in (-4, -1, 0, 1, 4):
            yield "%s/float32/diagonal_%s" % (op, str(k).replace("-", "minus_")), [f(3, 4)], {"k": k}
        yield op + "/float32/batch", [f(2, 3, 2)], {"k": 0}
        yield op + "/float32/nan_is_cut_off", [torch.full((2, 2), NAN)], {"k": 0}
        yield op + "/int64/values", [torch.tensor([[1, 2], [3, 4]])], {"k": 0}
        yield op + "/float32/empty", [f(0, 3)], {"k": 0}
        yield op + "/float32/transposed", [View(f(3, 4), ["transpose"])], {"k": 1}
        yield op + "/float16/values", [f(3, 3, dtype=F16)], {"k": 0}
        yield op + "/float32/one_dim", [f(3)], {"k": 0, "fails": True}


def joins():
    yield "concat/float32/rows", [f(1, 3), f(2, 3, seed=1)], {"dim": 0}
    yield "concat/float32/three_columns", [f(2, 1), f(2, 2, seed=1), f(2, 1, seed=2)], {"dim": -1}
    yield "concat/float32/one", [f(2, 3)], {"dim": 0}
    yield "concat/float32/empty_between", [f(2, 1), f(2, 0), f(2, 2, seed=2)], {"dim": 1}
    yield "concat/float32/transposed", [View(f(3, 2), ["transpose"]), f(2, 3, seed=1)], {"dim": 0}
    yield "concat/bfloat16/rows", [f(1, 2, dtype=BF16), f(1, 2, seed=1, dtype=BF16)], {"dim": 0}
    yield "concat/int64/values", [i(1, 2), i(3)], {"dim": 0}
    yield "concat/float32/sizes_differ", [f(2, 3), f(2, 2)], {"dim": 0, "fails": True}
    yield "stack/float32/first", [f(2, 3), f(2, 3, seed=1)], {"dim": 0}
    yield "stack/float32/last", [f(2, 3), f(2, 3, seed=1)], {"dim": -1}
    yield "stack/float32/no_dims", [f(), f(seed=1)], {"dim": 0}
    yield "stack/float32/shapes_differ", [f(2, 3), f(3, 2)], {"dim": 0, "fails": True}


def moves():
    yield "pad/float32/constant", [f(2, 3)], {"padding": [1, 2], "mode": "constant", "value": -1.5}
    yield "pad/float32/constant_two_dims", [f(2, 3)], {"padding": [0, 1, 2, 0], "mode": "constant", "value": 0.0}
    yield "pad/float32/constant_negative", [f(3, 4)], {"padding": [-1, 1, 1, -2], "mode": "constant", "value": 0.5}
    yield "pad/float32/constant_empty", [f(2, 0)], {"padding": [1, 1], "mode": "constant", "value": 2.0}
    yield "pad/int64/constant", [i(1, 2)], {"padding": [1, 1], "mode": "constant", "value": 7.0}
    for mode in ("reflect", "replicate", "circular"):
        yield "pad/float32/%s_1d" % mode, [f(1, 2, 4)], {"padding": [2, 1], "mode": mode}
        yield "pad/float32/%s_2d" % mode, [f(1, 1, 3, 3)], {"padding": [1, 2, 2, 1], "mode": mode}
        yield "pad/float16/%s_1d" % mode, [f(1, 2, 4, dtype=F16)], {"padding": [1, 1], "mode": mode}
    yield "pad/float32/replicate_far", [f(1, 1, 2)], {"padding": [3, 4], "mode": "replicate"}
    yield "pad/float32/reflect_too_far", [f(1, 1, 3)], {"padding": [3, 0], "mode": "reflect", "fails": True}
    yield "pad/float32/circular_too_far", [f(1, 1, 3)], {"padding": [4, 0], "mode": "circular", "fails": True}
    yield "pad/float32/cut_too_much", [f(2, 3)], {"padding": [-2, -2], "mode": "constant", "value": 0.0, "fails": True}
    yield "roll/float32/by_1", [f(2, 4)], {"shifts": [1], "dims": [1]}
    yield "roll/float32/two_dims_far", [f(3, 4)], {"shifts": [-4, 9], "dims": [0, -1]}
    yield "roll/float32/empty", [f(2, 0)], {"shifts": [1], "dims": [1]}
    yield "roll/bool/values", [v(True, False, False, dtype=BOOL)], {"shifts": [-1], "dims": [0]}
    yield "flip/float32/last", [f(2, 3)], {"dims": [-1]}
    yield "flip/float32/both", [f(2, 3)], {"dims": [0, 1]}
    yield "flip/float32/transposed", [View(f(2, 3), ["transpose"])], {"dims": [0]}
    yield "flip/bfloat16/first", [f(2, 3, dtype=BF16)], {"dims": [0]}
    yield "flip/float32/dim_twice", [f(2, 3)], {"dims": [0, 0], "fails": True}
    yield "repeat/float32/both_dims", [f(2, 2)], {"times": [2, 3]}
    yield "repeat/float32/more_dims", [f(3)], {"times": [2, 1, 2]}
    yield "repeat/float32/zero_times", [f(2, 2)], {"times": [0, 2]}
    yield "repeat/float64/once", [f(2, 2, dtype=F64)], {"times": [1, 1]}
    yield "repeat/float32/too_few", [f(2, 2)], {"times": [2], "fails": True}


    for dim in (0, -1):
        yield "repeat_interleave/float32/" + ("first" if dim == 0 else "last"), [f(2, 3)], {"times": 2, "dim": dim}
    yield "repeat_interleave/float32/zero_times", [f(2, 3)], {"times": 0, "dim": 1}
    for offset in (-5, -1, 0, 2):
        yield "diagonal/float32/offset_%s" % str(offset).replace("-", "minus_"), [f(2, 3, 4)], {"offset": offset, "dim1": 1, "dim2": -1}
    yield "unfold/float32/overlapping", [f(2, 5)], {"dim": 1, "size": 3, "step": 1}
    yield "unfold/float32/apart", [f(5, 2)], {"dim": 0, "size": 1, "step": 3}
    yield "unfold/float32/too_large", [f(2, 3)], {"dim": 1, "size": 4, "step": 1, "fails": True}


def made():
    for dtype, start, stop, step in [("int64", 0.0, 5.0, 1.0), ("int64", 5.0, 0.0, -2.0), ("float32", 0.0, 1.0, 0.1), ("float64", 1.0, 2.0, 0.25), ("float16", 0.0, 1.0, 0.3),
                                     ("bfloat16", 0.0, 4.0, 0.5), ("int32", 3.0, 3.0, 1.0), ("uint8", 250.0, 256.0, 2.0), ("float32", -1.0, 1.0, 0.7)]:
        n = "%s_to_%s_by_%s" % (start, stop, step)
        yield "arange/%s/%s" % (dtype, n.replace("-", "minus_").replace(".", "_")), [], {"start": start, "stop": stop, "step": step, "dtype": dtype}
    yield "arange/float32/step_0", [], {"start": 0.0, "stop": 1.0, "step": 0.0, "dtype": "float32", "fails": True}
    yield "arange/float32/wrong_way", [], {"start": 0.0, "stop": 1.0, "step": -1.0, "dtype": "float32", "fails": True}
    for dtype, start, stop, n in [("float32", 0.0, 1.0, 5), ("float64", -1.0, 1.0, 4), ("float32", 3.0, -3.0, 7), ("float32", 2.0, 5.0, 1), ("float32", 2.0, 5.0, 0), ("float16", 0.0, 1.0, 4)]:
        yield "linspace/%s/%d_of_%s" % (dtype, n, ("%s_to_%s" % (start, stop)).replace("-", "minus_").replace(".", "_")), [], {
            "start": start, "stop": stop, "n": n, "dtype": dtype}
    yield "linspace/float32/negative_count", [], {"start": 0.0, "stop": 1.0, "n": -1, "dtype": "float32", "fails": True}
    for n, m in [(3, 3), (2, 4), (3, 0)]:
        yield "eye/float32/%d_by_%d" % (n, m), [], {"n": n, "m": m, "dtype": "float32"}
    yield "eye/bool/3_by_2", [], {"n": 3, "m": 2, "dtype": "bool"}
