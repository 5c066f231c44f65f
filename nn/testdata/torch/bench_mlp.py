"""Times PyTorch's training step of the MLP 784-256-10, as BenchmarkMLPStep times ours.

    pip install torch
    python nn/testdata/torch/bench_mlp.py [--threads 1 2] [--seconds 3]

A step is zero_grad, forward, cross-entropy, backward, optimiser step, on the
same batch each time. The last line is one JSON object; times are µs per step.
For each optimiser stand PyTorch's default and, where the version has it, its
fused variant. gemm_us is the time of the step's five matrix products alone, with
results in place: the part that no framework can save.
"""

import argparse
import json
import os
import statistics
import sys
import time

import torch
from torch import nn

INPUT, HIDDEN, CLASSES = 784, 256, 10

OPTIMIZERS = {
    "sgd": lambda ps, **kw: torch.optim.SGD(ps, lr=0.01, **kw),
    "adamw": lambda ps, **kw: torch.optim.AdamW(ps, lr=0.001, **kw),
}


def timed(run, seconds):
    """Times single calls of run for about the given seconds, after a warm-up."""
    for limit in (seconds / 5, seconds):
        times, end = [], time.perf_counter() + limit
        while time.perf_counter() < end or len(times) < 20:
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e6)
    tenths = statistics.quantiles(times, n=10)
    return {"median": round(statistics.median(times), 1), "p10": round(tenths[0], 1),
            "best": round(min(times), 1), "steps": len(times)}


def step_of(batch, name, fused):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(INPUT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))
    optimizer = OPTIMIZERS[name](model.parameters(), **({"fused": True} if fused else {}))
    x, labels = torch.randn(batch, INPUT), torch.randint(CLASSES, (batch,))

    def step():
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()

    step()  # a version without a fused optimiser refuses here, at the latest
    return step


def products(batch):
    """The step's matrix products; the first layer needs no gradient of its input."""
    x, h, y = torch.randn(batch, INPUT), torch.randn(batch, HIDDEN), torch.randn(batch, CLASSES)
    w1, w2 = torch.randn(HIDDEN, INPUT), torch.randn(CLASSES, HIDDEN)
    outs = [torch.empty_like(t) for t in (h, y, w2, h, w1)]

    def run():
        torch.mm(x, w1.t(), out=outs[0])
        torch.mm(h, w2.t(), out=outs[1])
        torch.mm(y.t(), h, out=outs[2])
        torch.mm(y, w2, out=outs[3])
        torch.mm(h.t(), x, out=outs[4])

    return run


def flops(batch):
    return 2 * batch * (2 * INPUT * HIDDEN + 3 * HIDDEN * CLASSES)


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            return next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=3.0, help="per measurement")
    args = parser.parse_args()

    rows = []
    for threads in args.threads:
        torch.set_num_threads(threads)
        for batch in (64, 256):
            gemm = timed(products(batch), args.seconds)
            for name in OPTIMIZERS:
                for fused in (False, True):
                    try:
                        step = step_of(batch, name, fused)
                    except (TypeError, RuntimeError) as e:
                        print("%s fused: %s" % (name, e), file=sys.stderr)
                        continue
                    row = {"threads": threads, "batch": batch, "optimizer": name, "fused": fused,
                           "step_us": timed(step, args.seconds), "gemm_us": gemm, "gemm_flop": flops(batch)}
                    rows.append(row)
                    print("%d threads, batch %3d, %-5s %-5s %8.1f µs median, gemm %8.1f" % (
                        threads, batch, name, "fused" if fused else "", row["step_us"]["median"], gemm["median"]), file=sys.stderr)
    config = torch.__config__.show()
    blas = "mkl" if "Math Kernel Library" in config else "other"
    print(json.dumps({"torch": torch.__version__, "blas": blas, "cpu": cpu_name(), "cores": os.cpu_count(),
                      "load": os.getloadavg()[0], "rows": rows}))


if __name__ == "__main__":
    main()
