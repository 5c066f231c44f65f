"""Makes dtypes.json: how PyTorch converts elements, and what it fills with.

    pip install torch
    python tensor/testdata/torch/make_dtypes.py

A conversion has the elements before and after it, as float64 prints them; those
of which the result has no meaning are left out: NaN and what is beyond the range
of an integer, but for those of which the low bits are kept. A fill has a value
and what every element then is, null where PyTorch refuses.
"""

import json
import pathlib

import torch

HERE = pathlib.Path(__file__).resolve().parent
nan, inf = float("nan"), float("inf")
DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"]
FLOATS, INTEGERS = DTYPES[:4], DTYPES[4:7]

# What every float type has, or rounds to.
FINITE = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.75, 2.0**-24, 2.0**-25, 3 * 2.0**-25, 2.0**-14, 100.7, 127.9, 255.5]
NARROW = [1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 / 3, 2049.0, 257.0, 259.0]
# Between two floats, and two halves, that float64 alone tells apart.
DOUBLES = [1 + 2.0**-24, 1 + 3 * 2.0**-24, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-40, 1e-46, 2.0**-149, 0.1]
LARGE = [65504.0, 65519.0, 65520.0, 1e5, 1e30, 3.3895313892515355e38, 3.396e38, inf, -inf, nan]
SMALL_INTEGERS = [0, 1, 2, 3, 127, 128, 200, 255]
WIDE_INTEGERS = SMALL_INTEGERS + [-1, -2, -128, -129, 256, 300, 32767, -32769, 65519, 65520, 16777217, 2**31 - 1, -(2**31)]
INT64S = WIDE_INTEGERS + [2**31, 2**32 + 5, -(2**40) - 1, 2**53]

FILLS = {
    "uint8": [0, 1.9, 254.99, 255, 255.9, 256, 300, -0.5, -1.0, nan, inf],
    "int32": [-7.9, 2147483647.0, 2147483647.5, 2147483648.0, -2147483648.0, -2147483648.5, 1e30, nan, -inf],
    "int64": [1.7, -1.7, 2.0**53, 9.2e18, 2.0**63, -(2.0**63), 1e19, nan, inf],
    "bool": [0, -0.0, 1, 0.5, -3, nan, inf],
    "float16": [0.1, 65504, 65519, 65520, 1e6, -1e6, 1e-9, inf, nan],
    "bfloat16": [0.1, 3.395e38, 3.4e38, 1e39, -1e300, -inf, nan],
    "float32": [0.1, 3.4028234663852886e38, 3.4028235e38, 1e39, -1e39, 1e-50, inf, nan],
    "float64": [0.1, 1.7976931348623157e308, -inf, nan],
}


def elements(dtype, to):
    if dtype == "bool":
        return [0, 1]
    if dtype in INTEGERS:
        return {"uint8": SMALL_INTEGERS, "int32": WIDE_INTEGERS, "int64": INT64S}[dtype]
    values = FINITE + NARROW + (DOUBLES if dtype == "float64" else [])
    return values if to in INTEGERS else values + LARGE


def texts(t):
    return [repr(float(v)) for v in t.tolist()]


def main():
    conversions = []
    for dtype in DTYPES:
        for to in DTYPES:
            x = torch.tensor(elements(dtype, to), dtype=getattr(torch, dtype))
            conversions.append({"from": dtype, "to": to, "before": texts(x), "after": texts(x.to(getattr(torch, to)))})
    fills = []
    for dtype, values in FILLS.items():
        for value in values:
            try:
                after = repr(float(torch.full((), float(value), dtype=getattr(torch, dtype)).item()))
            except RuntimeError:
                after = None
            fills.append({"dtype": dtype, "value": repr(float(value)), "after": after})
    groups = [json.dumps(name) + ": [\n" + ",\n".join("  " + json.dumps(r) for r in rows) + "\n ]"
              for name, rows in [("conversions", conversions), ("fills", fills)]]
    text = "{\n %s: %s,\n %s,\n %s\n}\n" % ('"torch"', json.dumps(torch.__version__), *groups)
    (HERE / "dtypes.json").write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
