"""Matrix products and einsum."""

import torch
from torch.nn import functional as F

from op_values import BF16, F16, F64, HALVES, I64, INF, NAN, View, f, i, name_of, v

OPS = {
    "matmul": lambda x, a: x[0] @ x[1],
    "dot": lambda x, a: torch.dot(x[0], x[1]),
    "outer": lambda x, a: torch.outer(x[0], x[1]),
    "linear": lambda x, a: F.linear(x[0], x[1].mT, x[2]),
    "einsum": lambda x, a: torch.einsum(a["equation"], *x),
}


def cases():
    yield from matmuls()
    yield from linears()
    yield from einsums()


def matmuls():
    pairs = [
        ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,)), ((2, 3), (2, 3, 2)), ((2, 2, 3), (3, 2)),
        ((2, 2, 3), (2, 3, 2)), ((1, 2, 3), (3, 3, 2)), ((2, 1, 2, 3), (3, 3, 2)), ((2, 1, 1, 3), (1, 2, 3, 2)), ((3,), (2, 1, 3, 2)), ((2, 1, 2, 3), (3,)),
    ]
    shape = lambda s: "by".join(str(n) for n in s)  # noqa: E731
    for a, b in pairs:
        yield "matmul/float32/%s_times_%s" % (shape(a), shape(b)), [f(*a), f(*b, seed=1)], {}
    empty = [((0,), (0,)), ((2, 0), (0, 3)), ((2, 0), (0,)), ((0, 3), (3, 2)), ((2, 3, 0), (2, 0, 2)), ((0, 2, 3), (3, 2)), ((0, 2, 3), (1, 3, 2)), ((2, 0, 3), (3, 2))]
    for a, b in empty:
        yield "matmul/float32/%s_times_%s" % (shape(a), shape(b)), [f(*a), f(*b)], {}
    for a, b in [((3,), (2,)), ((2, 3), (2, 3)), ((2, 2, 3), (3, 3, 2)), ((), (3,)), ((2, 3), (2,))]:
        yield "matmul/float32/%s_times_%s" % (shape(a) or "scalar", shape(b)), [f(*a), f(*b)], {"fails": True}
    yield "matmul/float32_float64/refused", [f(2, 2), f(2, 2, dtype=F64)], {"fails": True}
    yield "matmul/float32/special_values", [torch.tensor([[NAN, 1.0], [INF, 0.0], [0.0, -0.0], [-INF, INF]]), torch.tensor([[1.0, 0.0], [1.0, 1.0]])], {}
    yield "matmul/float32/both_transposed", [View(f(3, 2), ["transpose"]), View(f(4, 3, seed=1), ["transpose"])], {}
    yield "matmul/float32/batch_transposed_and_sliced", [View(f(2, 3, 2), ["transpose"]), View(f(2, 3, 5, seed=1), ["slice", 2])], {}
    yield "matmul/float32/expanded_batch", [View(f(1, 2, 3), ["expand", 3, 2, 3]), f(3, 3, 2, seed=1)], {}
    for dtype in HALVES + [F64]:
        yield "matmul/%s/values" % name_of(dtype), [f(3, 5, dtype=dtype), f(5, 4, seed=1, dtype=dtype)], {}
        yield "matmul/%s/batch" % name_of(dtype), [f(2, 2, 3, dtype=dtype), f(3, 2, seed=1, dtype=dtype)], {}


def linears():
    for op in ("dot", "outer"):
        yield op + "/float32/values", [f(3), f(3, seed=1)], {}
        yield op + "/float16/sliced", [View(f(7, dtype=F16), ["slice", 2]), f(3, seed=1, dtype=F16)], {}
        yield op + "/float32/empty", [f(0), f(0)], {}
        yield op + "/float32/matrix", [f(2, 3), f(3)], {"fails": True}
    yield "dot/float32/sizes_differ", [f(3), f(2)], {"fails": True}
    yield "linear/float32/rank_3", [f(2, 2, 3), f(3, 4, seed=1), f(4, seed=2)], {}
    yield "linear/float32/rank_1", [f(3), f(3, 4, seed=1), f(4, seed=2)], {}
    yield "linear/float16/rank_2", [f(2, 3, dtype=F16), f(3, 4, seed=1, dtype=F16), f(4, seed=2, dtype=F16)], {}
    yield "linear/bfloat16/rank_2", [f(2, 3, dtype=BF16), f(3, 4, seed=1, dtype=BF16), f(4, seed=2, dtype=BF16)], {}
    yield "linear/float32/bias_does_not_fit", [f(2, 3), f(3, 4), f(3)], {"fails": True}


def einsums():
    equations = [
        ("dot", "i,i->", (3,), (3,)), ("outer", "i,j->ij", (2,), (3,)), ("outer_implicit", "i,j", (2,), (3,)), ("matmul", "ij,jk->ik", (2, 3), (3, 2)),
        ("matmul_implicit", "ij,jk", (2, 3), (3, 2)), ("implicit_order", "ba,ac", (2, 3), (3, 2)), ("transpose", "ij->ji", (2, 3)), ("sum", "ij->", (2, 3)),
        ("sum_rows", "ij->j", (2, 3)), ("diagonal", "ii->i", (3, 3)), ("trace", "ii", (3, 3)), ("batch_diagonal", "bii->bi", (2, 3, 3)),
        ("batch", "bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("ellipsis", "...ij,...jk->...ik", (2, 2, 3), (3, 2)),
        ("ellipsis_implicit", "i...,i...", (2, 3), (2, 3)), ("ellipsis_first", "...i->i...", (2, 3, 2)), ("hadamard", "ij,ij->ij", (2, 3), (2, 3)),
        ("size_1_broadcasts", "ij,ij->ij", (2, 1), (2, 3)), ("sum_of_one_side", "ij,k->ik", (2, 3), (2,)), ("three", "ij,jk,kl->il", (2, 3), (3, 2), (2, 2)),
        ("bilinear", "bn,anm,bm->ba", (2, 3), (2, 3, 2), (2, 2)), ("attention", "bhld,bhsd->bhls", (1, 2, 2, 3), (1, 2, 3, 3)),
        ("spaces_and_capitals", "iJ , Jk -> ik", (2, 3), (3, 2)), ("empty_contraction", "ij,jk->ik", (2, 0), (0, 3)), ("no_dims", ",->", (), ()),
    ]
    for name, equation, *shapes in equations:
        yield "einsum/float32/" + name, [f(*s, seed=k) for k, s in enumerate(shapes)], {"equation": equation}
    yield "einsum/float64/matmul", [f(2, 3, dtype=F64), f(3, 2, seed=1, dtype=F64)], {"equation": "ij,jk->ik"}
    yield "einsum/bfloat16/matmul", [f(2, 3, dtype=BF16), f(3, 2, seed=1, dtype=BF16)], {"equation": "ij,jk->ik"}
    yield "einsum/float32/transposed_operand", [View(f(3, 2), ["transpose"]), f(3, 2, seed=1)], {"equation": "ij,jk->ik"}
    bad = [
        ("sizes_differ", "ij,jk->ik", (2, 3), (2, 3)), ("too_few_operands", "ij,jk->ik", (2, 3)), ("too_many_letters", "ijk->i", (2, 3)), ("output_twice", "ij->ii", (2, 2)),
        ("unknown_output", "ij->ik", (2, 3)), ("no_letter", "i1->i", (2, 3)), ("too_few_letters", "i->i", (2, 3)), ("diagonal_differs", "ii->i", (2, 3)),
    ]
    for name, equation, *shapes in bad:
        yield "einsum/float32/" + name, [f(*s) for s in shapes], {"equation": equation, "fails": True}
