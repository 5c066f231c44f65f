"""Writes the .npy and .npz files beside this script, and expected.json with
what is in them, by NumPy alone.

    python3 make_fixtures.py
"""

import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
SPECIAL = [0.0, -0.0, 1.5, -2.25, 65504.0, 2.0**-24, -(2.0**-14), np.inf, -np.inf, np.nan]

expected = {"numpy": np.__version__, "read": {}, "refused": {}, "archives": {}}


def number(x):
    """JSON has no infinities, and -0.0 would be easy to lose."""
    return repr(float(x)) if isinstance(x, (float, np.floating)) else repr(int(x))


def contents(a):
    return {
        "dtype": str(a.dtype.newbyteorder("=")),
        "shape": list(a.shape),
        "values": [number(x) for x in a.ravel(order="C")],
    }


def write(name, a, version=None):
    with open(HERE / (name + ".npy"), "wb") as f:
        np.lib.format.write_array(f, a, version=version)
    expected["read"][name] = contents(a)


def refuse(name, a, says):
    np.save(HERE / (name + ".npy"), a)
    expected["refused"][name] = says


rng = np.random.default_rng(1)
m = rng.standard_normal((3, 4))
for dt in ["f4", "f8", "i8"]:
    write(dt, (10 * m).astype("<" + dt))
    write(dt + "_big", (10 * m).astype(">" + dt))
    write(dt + "_fortran", np.asfortranarray((10 * m).astype("<" + dt)))
    write(dt + "_scalar", np.array(7, "<" + dt))
    write(dt + "_empty", np.zeros((0, 3), "<" + dt))
write("vector", np.arange(5, dtype="<f4"))
write("column", np.arange(5, dtype="<f4").reshape(5, 1))
write("rank8", np.arange(24, dtype="<i8").reshape(1, 2, 1, 3, 1, 4, 1, 1))
write("rank3_fortran_big", np.asfortranarray(np.arange(24).reshape(2, 3, 4).astype(">f8")))
write("version2", m.astype("<f4"), (2, 0))
write("version3", m.astype("<f8"), (3, 0))
write("f2", np.array(SPECIAL, "<f2"))
write("f2_big", np.array(SPECIAL, ">f2"))
write("f4_special", np.array(SPECIAL + [1e-45, 3.4028235e38], "<f4"))
write("f8_special", np.array(SPECIAL + [5e-324, 1.7976931348623157e308], "<f8"))
write("b1", np.array([[True, False], [False, True]]))
for dt in ["i1", "i2", "i4", "i8", "u1", "u2", "u4"]:
    limits = np.iinfo(dt)
    write(dt + "_limits", np.array([limits.min, 0, 1, limits.max], "<" + dt))
    write(dt + "_limits_big", np.array([limits.min, 0, 1, limits.max], ">" + dt))

refuse("u8", np.zeros(2, "<u8"), "uint64")
refuse("c8", np.zeros(2, "<c8"), "complex64")
refuse("c16", np.zeros(2, ">c16"), "complex128")
refuse("longdouble", np.zeros(2, np.longdouble), "longdouble")
refuse("object", np.array([None, 1], object), "objects")
refuse("bfloat16", np.zeros(2, "V2"), "bfloat16")
refuse("raw", np.zeros(2, "V3"), "raw bytes")
refuse("structure", np.zeros(2, [("a", "<f4"), ("b", "<i8")]), "structure")
refuse("field_utf8", np.zeros(2, [("\u00b5\u65e5", "<f4")]), "structure")
refuse("text", np.array(["ab"]), "text")
refuse("bytes", np.array([b"ab"]), "bytes")
refuse("date", np.array(["2020-01-01"], "M8[D]"), "datetime64")
refuse("delta", np.zeros(1, "m8[s]"), "timedelta64")
refuse("rank9", np.zeros([1] * 9, "<f4"), "more than 8 dims")

arrays = {"w": m.astype("<f4"), "layer/b": np.arange(3), "f": np.asfortranarray(m), "zeros": np.zeros(999, "<f4")}
np.savez(HERE / "stored.npz", **arrays)
np.savez_compressed(HERE / "deflated.npz", **arrays)
for name in ["stored", "deflated"]:
    expected["archives"][name] = [{"name": k, **contents(a)} for k, a in arrays.items() if k != "zeros"]

(HERE / "expected.json").write_text(json.dumps(expected) + "\n")
