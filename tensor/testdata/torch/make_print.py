"""Makes print.json: how PyTorch prints small tensors, and long ones.

    pip install torch
    python tensor/testdata/torch/make_print.py

A case is a dtype, a shape and either the elements, as Python prints them, or
start and step of a series. A dtype that PyTorch prints is taken off: precision and sci_mode are those of torch.set_printoptions.
"""

import json
import pathlib
import re

import torch

HERE = pathlib.Path(__file__).resolve().parent
nan, inf = float("nan"), float("inf")

ELEMENTS = [
    # name, dtype, shape, elements[, precision[, sci_mode]]
    ("scalar", "float32", [], [0.5]),
    ("whole scalar", "float32", [], [3.0]),
    ("integer scalar", "int64", [], [-7]),
    ("large scalar", "float64", [], [123456789.25]),
    ("largest fixed", "float64", [2], [1e8, 99999999.5]),
    ("small scalar", "float64", [], [0.00001234]),
    ("smallest fixed", "float64", [], [0.0001]),
    ("nan scalar", "float32", [], [nan]),
    ("vector", "float32", [4], [1, 2.5, -3, 4]),
    ("whole vector", "float32", [4], [1, 20, -3, 400]),
    ("zeros", "float32", [2, 2], [0, 0, 0, 0]),
    ("minus zero", "float32", [3], [-0.0, 0, 1]),
    ("minus zero among fractions", "float64", [3], [-0.0, 0, 1.5]),
    ("ones", "float64", [1], [1]),
    ("third", "float64", [2], [1 / 3, 2 / 3]),
    ("float32 third", "float32", [2], [1 / 3, -2 / 3]),
    ("halves are rounded", "float64", [3], [0.00005, 0.00015, 0.12345]),
    ("far apart", "float32", [3], [1000.5, 0.25, 1]),
    ("whole and far apart", "float32", [3], [5000, 2, 1]),
    ("just not far apart", "float32", [2], [1000, 1]),
    ("large whole", "float32", [2], [1e9, 2e9]),
    ("huge", "float64", [2], [1e300, -1e-300]),
    ("three digits of exponent", "float64", [2], [1e100, 2.5e100]),
    ("denormal", "float64", [1], [5e-324]),
    ("nan and inf", "float64", [3], [nan, inf, -inf]),
    ("nan among numbers", "float32", [5], [nan, 1.5, inf, -inf, 20]),
    ("nan among whole numbers", "float32", [5], [nan, 1, inf, -inf, 20]),
    ("nan in scientific form", "float32", [4], [nan, 1e10, -inf, 0]),
    ("nan and zeros", "float32", [3], [0, nan, inf]),
    ("integers", "int64", [2, 3], [1, -20, 300, 4, 5, 6]),
    ("largest integers", "int64", [2], [2**63 - 1, -(2**63)]),
    ("matrix", "float32", [2, 3], [1, 2.5, -3, 4, 5, 6]),
    ("column", "float32", [3, 1], [1, 2, 3]),
    ("row", "float32", [1, 3], [1, 2, 3]),
    ("cube", "float32", [2, 1, 2], [1, 2, 3, 4]),
    ("four dims", "int64", [2, 1, 2, 2], [1, 2, 3, 4, 5, 6, 7, 8]),
    ("empty", "float32", [0], []),
    ("empty rows", "float32", [2, 0], []),
    ("no rows", "float32", [0, 3], []),
    ("empty cube", "float64", [2, 0, 3], []),
    ("2 decimals", "float64", [3], [1 / 3, 2, 100.125], 2),
    ("no decimals", "float64", [3], [0.5, 1.5, 2.5], 0),
    ("8 decimals", "float32", [2], [0.1, 2.5], 8),
    ("2 decimals of scientific form", "float64", [2], [1e10, 1.25], 2),
    ("2 decimals of whole numbers", "float64", [2], [1, 2], 2),
    ("forced scientific", "float32", [2], [1.5, -2], 4, True),
    ("forced scientific and whole", "float32", [2], [1, 2], 3, True),
    ("forced scientific zeros", "float32", [2], [0, nan], 3, True),
    ("forced fixed", "float64", [3], [1e10, 1.25, 1e-7], 4, False),
    ("forced fixed and whole", "float64", [2], [1e12, 1], 4, False),
    ("float16", "float16", [3], [1 / 3, -2.5, 100.0625]),
    ("whole float16", "float16", [2, 2], [1, -20, 300, 2048]),
    ("float16 far apart", "float16", [3], [65504, 0.5, 1]),
    ("smallest float16", "float16", [2], [2.0**-24, 2.0**-14]),
    ("nan among float16", "float16", [4], [nan, 1.5, inf, -inf]),
    ("empty float16", "float16", [0], []),
    ("bfloat16", "bfloat16", [3], [1 / 3, -2.5, 100.5]),
    ("large bfloat16", "bfloat16", [2], [3e38, -1]),
    ("whole bfloat16 scalar", "bfloat16", [], [7]),
    ("8 decimals of float16", "float16", [2], [0.1, 2.5], 8),
    ("forced scientific bfloat16", "bfloat16", [2], [0.1, 2], 3, True),
    ("int32", "int32", [2, 2], [2**31 - 1, -(2**31), 0, 5]),
    ("int32 scalar", "int32", [], [-3]),
    ("empty int32", "int32", [2, 0], []),
    ("uint8", "uint8", [4], [0, 1, 200, 255]),
    ("uint8 scalar", "uint8", [], [255]),
    ("empty uint8", "uint8", [0], []),
    ("truth values", "bool", [2], [True, False]),
    ("all true", "bool", [2, 2], [True] * 4),
    ("true", "bool", [], [True]),
    ("false", "bool", [], [False]),
    ("no truth values", "bool", [0], []),
    ("no rows of truth values", "bool", [0, 3], []),
    ("truth values wrap", "bool", [25], [i % 3 == 0 for i in range(25)]),
]

SERIES = [
    # name, dtype, shape, start, step
    ("wraps", "float32", [25], 0.5, 1),
    ("wraps integers", "int64", [40], -3, 1),
    ("wraps in a matrix", "float32", [2, 20], 0, 0.25),
    ("wraps in a cube", "int64", [1, 2, 30], 100, 7),
    ("wide", "float64", [12], 1e-9, 1e-3),
    ("1000 are printed", "int64", [1000], 0, 1),
    ("1001 are not", "int64", [1001], 0, 1),
    ("1001 floats", "float32", [1001], 0, 0.5),
    ("the middle has no say", "float32", [2001], -1000, 1),
    ("long matrix", "float32", [50, 50], 0, 0.125),
    ("long rows", "int64", [2, 600], 0, 1),
    ("long columns", "int64", [600, 2], 0, 1),
    ("7 long rows", "int64", [7, 200], 0, 1),
    ("6 long rows", "int64", [6, 200], 0, 1),
    ("long cube", "float32", [10, 11, 12], 0, 1),
    ("long cube of short rows", "int64", [20, 30, 2], 0, 1),
    ("four long dims", "int64", [7, 7, 7, 7], 0, 1),
    ("eight dims, three long", "int64", [10, 1, 1, 8, 1, 1, 1, 30], 0, 1),
    ("zeros wrap", "float32", [50], 0, 0),
    ("long float16", "float16", [1001], 0, 0.5),
    ("bfloat16 wraps", "bfloat16", [3, 20], -2, 0.25),
    ("long int32", "int32", [40, 50], -1000, 1),
    ("uint8 wraps", "uint8", [2, 40], 0, 3),
    ("long uint8", "uint8", [1001], 7, 0),
    ("long truths", "bool", [30, 40], 1, 0),
    ("long untruths", "bool", [1001], 0, 0),
]


def printed(t, dtype, precision, sci_mode):
    torch.set_printoptions(precision=precision, sci_mode=sci_mode)
    return re.sub(r",\s+dtype=torch\.\w+\)$", ")", str(t))


def main():
    rows = []
    for name, dtype, shape, elements, *options in ELEMENTS:
        precision, sci_mode = (options + [4, None][len(options) :])[:2]
        t = torch.tensor(elements, dtype=getattr(torch, dtype)).reshape(shape)
        row = {"name": name, "dtype": dtype, "shape": shape, "elements": [repr(v) for v in elements]}
        if options:
            row.update(precision=precision, sci_mode=sci_mode)
        rows.append({**row, "text": printed(t, dtype, precision, sci_mode)})
    for name, dtype, shape, start, step in SERIES:
        n = 1
        for d in shape:
            n *= d
        t = (torch.arange(n, dtype=torch.float64) * step + start).to(getattr(torch, dtype)).reshape(shape)
        rows.append({"name": name, "dtype": dtype, "shape": shape, "start": start, "step": step, "text": printed(t, dtype, 4, None)})
    lines = ",\n".join("  " + json.dumps(r) for r in rows)
    text = '{\n "torch": %s,\n "cases": [\n%s\n ]\n}\n' % (json.dumps(torch.__version__), lines)
    (HERE / "print.json").write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
