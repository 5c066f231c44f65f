"""Convolution and pooling."""

from torch.nn import functional as F

from op_values import BF16, F16, F64, HALVES, INF, NAN, View, f, name_of, v

import torch


def conv(g):
    return lambda x, a: g(x[0], x[1], x[2] if len(x) > 2 else None, a.get("stride", 1), a.get("padding", 0), a.get("dilation", 1), a.get("groups", 1))


def max_pool(g):
    def pool(x, a):
        return g(x[0], a["kernel"], a.get("stride", a["kernel"]), a.get("padding", 0), a.get("dilation", 1), a.get("ceil", False), return_indices=a.get("indices", False))

    return pool


def avg_pool(g):
    return lambda x, a: g(x[0], a["kernel"], a.get("stride", a["kernel"]), a.get("padding", 0), a.get("ceil", False), not a.get("exclude_pad", False))


OPS = {
    "conv1d": conv(F.conv1d),
    "conv2d": conv(F.conv2d),
    "max_pool1d": max_pool(F.max_pool1d),
    "max_pool2d": max_pool(F.max_pool2d),
    "avg_pool1d": avg_pool(F.avg_pool1d),
    "avg_pool2d": avg_pool(F.avg_pool2d),
    "adaptive_avg_pool1d": lambda x, a: F.adaptive_avg_pool1d(x[0], a["size"]),
    "adaptive_avg_pool2d": lambda x, a: F.adaptive_avg_pool2d(x[0], a["size"]),
}


def cases():
    yield from convolutions()
    yield from max_pools()
    yield from avg_pools()


def convolutions():
    for p in range(4):
        yield "conv1d/float32/padding_%d" % p, [f(1, 2, 5), f(2, 2, 3, seed=1), f(2, seed=2)], {"padding": [p]}
        yield "conv2d/float32/padding_%d" % p, [f(1, 1, 4, 5), f(2, 1, 3, 3, seed=1), f(2, seed=2)], {"padding": [p, p]}
        for s in (2, 3):
            yield "conv1d/float32/padding_%d_stride_%d" % (p, s), [f(1, 2, 7), f(1, 2, 3, seed=1)], {"padding": [p], "stride": [s]}
        yield "conv1d/float32/padding_%d_dilation_2" % p, [f(1, 1, 7), f(2, 1, 3, seed=1)], {"padding": [p], "dilation": [2]}
        yield "conv2d/float32/padding_%d_stride_2_dilation_2_groups_2" % p, [f(1, 2, 6, 5), f(2, 1, 2, 2, seed=1)], {
            "padding": [p, 3 - p], "stride": [2, 1], "dilation": [1, 2], "groups": 2}
    yield "conv1d/float32/depthwise", [f(1, 3, 5), f(6, 1, 2, seed=1)], {"groups": 3}
    yield "conv1d/float32/kernel_is_input", [f(2, 2, 3), f(3, 2, 3, seed=1)], {}
    yield "conv1d/float32/kernel_1", [f(2, 3, 4), f(2, 3, 1, seed=1)], {}
    yield "conv2d/float32/kernel_1_by_3", [f(1, 2, 3, 4), f(2, 2, 1, 3, seed=1)], {"padding": [0, 1]}
    yield "conv2d/float32/no_examples", [f(0, 2, 3, 3), f(2, 2, 2, 2, seed=1), f(2)], {}
    yield "conv2d/float32/transposed", [View(f(1, 2, 3, 4), ["transpose"]), f(2, 2, 2, 2, seed=1)], {}
    yield "conv2d/float32/nan_reaches_its_windows", [torch.tensor([[[[1.0, NAN, 2.0, 3.0], [1.0, 2.0, 3.0, INF]]]]), f(1, 1, 2, 2)], {}
    yield "conv2d/float64/values", [f(2, 2, 4, 4, dtype=F64), f(2, 2, 3, 3, seed=1, dtype=F64), f(2, seed=2, dtype=F64)], {"padding": [1, 1]}
    for dtype in HALVES:
        yield "conv2d/%s/values" % name_of(dtype), [f(1, 2, 4, 4, dtype=dtype), f(2, 2, 3, 3, seed=1, dtype=dtype), f(2, seed=2, dtype=dtype)], {"padding": [1, 1]}
        yield "conv1d/%s/values" % name_of(dtype), [f(1, 2, 6, dtype=dtype), f(2, 2, 3, seed=1, dtype=dtype)], {"stride": [2]}
    yield "conv1d/float32/kernel_too_large", [f(1, 1, 3), f(1, 1, 4)], {"fails": True}
    yield "conv1d/float32/channels_do_not_fit", [f(1, 2, 3), f(1, 3, 2)], {"fails": True}
    yield "conv1d/float32/groups_do_not_fit", [f(1, 4, 3), f(3, 2, 2)], {"groups": 2, "fails": True}
    yield "conv1d/float32/negative_padding", [f(1, 1, 3), f(1, 1, 1)], {"padding": [-1], "fails": True}
    yield "conv1d/float32_float64/dtypes_differ", [f(1, 1, 3), f(1, 1, 1, dtype=F64)], {"fails": True}


def max_pools():
    plain = [f(1, 2, 5, 5)]
    for name, a in [
        ("plain", {"kernel": [2, 2]}),
        ("overlap", {"kernel": [3, 3], "stride": [1, 2]}),
        ("padding", {"kernel": [3, 2], "padding": [1, 1]}),
        ("ceil", {"kernel": [2, 2], "ceil": True}),
        ("ceil_padding", {"kernel": [3, 3], "stride": [2, 3], "padding": [1, 1], "ceil": True}),
        ("dilation", {"kernel": [2, 2], "stride": [1, 1], "dilation": [2, 3]}),
    ]:
        yield "max_pool2d/float32/" + name, plain, a
        yield "max_pool2d/float32/%s_indices" % name, plain, {**a, "indices": True}
    ties = torch.tensor([[[1.0, 1.0, 2.0, 2.0, NAN, 3.0, NAN, -INF, -INF, -INF]]])
    yield "max_pool1d/float32/ties_and_nan", [ties], {"kernel": [2], "indices": True}
    yield "max_pool1d/float32/overlapping_ties", [ties], {"kernel": [3], "stride": [1], "padding": [1], "indices": True}
    yield "max_pool1d/float32/ceil", [f(2, 1, 6)], {"kernel": [4], "stride": [3], "ceil": True}
    yield "max_pool1d/float32/transposed", [View(f(1, 6, 2), ["transpose"])], {"kernel": [2]}
    for dtype in HALVES + [F64]:
        yield "max_pool2d/%s/values" % name_of(dtype), [f(1, 1, 4, 4, dtype=dtype)], {"kernel": [2, 2], "stride": [1, 1], "indices": True}
    yield "max_pool2d/float32/no_examples", [f(0, 2, 4, 4)], {"kernel": [2, 2]}
    yield "max_pool1d/float32/padding_too_large", [f(1, 1, 5)], {"kernel": [2], "padding": [2], "fails": True}
    yield "max_pool1d/float32/kernel_too_large", [f(1, 1, 3)], {"kernel": [4], "fails": True}


def avg_pools():
    for name, a in [
        ("plain", {"kernel": [2, 2]}),
        ("overlap", {"kernel": [3, 3], "stride": [1, 2]}),
        ("padding", {"kernel": [3, 2], "padding": [1, 1]}),
        ("ceil", {"kernel": [2, 2], "ceil": True}),
        ("ceil_padding", {"kernel": [3, 3], "stride": [2, 3], "padding": [1, 1], "ceil": True}),
    ]:
        for exclude in (False, True):
            yield "avg_pool2d/float32/" + name + ("_exclude_pad" if exclude else ""), [f(1, 2, 5, 5)], {**a, "exclude_pad": exclude}
            yield "avg_pool1d/float32/" + name + ("_exclude_pad" if exclude else ""), [f(1, 2, 6)], {
                **{k: x[:1] if isinstance(x, list) else x for k, x in a.items()}, "exclude_pad": exclude}
    yield "avg_pool1d/float32/nan_and_infinities", [torch.tensor([[[NAN, 1.0, INF, -INF, INF, 2.0]]])], {"kernel": [2]}
    for dtype in HALVES + [F64]:
        yield "avg_pool2d/%s/values" % name_of(dtype), [f(1, 1, 4, 4, dtype=dtype)], {"kernel": [3, 3], "stride": [1, 1], "padding": [1, 1]}
    for size in (1, 2, 3, 5, 7):
        yield "adaptive_avg_pool1d/float32/5_to_%d" % size, [f(1, 2, 5)], {"size": [size]}
    yield "adaptive_avg_pool2d/float32/uneven", [f(1, 2, 5, 4)], {"size": [3, 2]}
    yield "adaptive_avg_pool2d/float32/to_1", [f(2, 2, 3, 3)], {"size": [1, 1]}
    yield "adaptive_avg_pool2d/bfloat16/uneven", [f(1, 1, 5, 4, dtype=BF16)], {"size": [2, 3]}
    yield "adaptive_avg_pool2d/float16/transposed", [View(f(1, 1, 5, 4, dtype=F16), ["transpose"])], {"size": [2, 2]}
