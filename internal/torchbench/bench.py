"""Times ops on the CPU beside PyTorch's, in turns, and prints a line a case.

    go build -o torchbench ./internal/torchbench
    python internal/torchbench/bench.py --tarn ./torchbench --op attention --threads 1,2

A figure is the least of all rounds, in milliseconds. On a machine that others
use too take --clock processor, which counts what the process itself has used;
with several threads that says little. A family of ops has its cases in a file
beside this one, of its name: cases() yields (shape, flags), and call(shape,
flags) returns what is to be timed.
"""

import argparse
import importlib
import json
import subprocess
import time

import torch


class Tarn:
    """The program that times our side."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def time(self, clock, **request):
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("torchbench ended")
        return json.loads(line)[clock]


CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


def time_torch(clock, call, calls):
    now, best = CLOCKS[clock], float("inf")
    call()
    for _ in range(calls):
        start = now()
        call()
        best = min(best, now() - start)
    return best * 1e3


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--tarn", required=True, help="the program that go build made")
    p.add_argument("--op", required=True, help="a family of ops")
    p.add_argument("--threads", default="1")
    p.add_argument("--clock", choices=CLOCKS, default="wall")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--calls", type=int, default=3, help="of each side in a round")
    args = p.parse_args()

    family, tarn = importlib.import_module(args.op), Tarn(args.tarn)
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {args.clock} time")
    print(f"{'op':40} {'threads':>7} {'ours ms':>10} {'torch ms':>10} {'ratio':>6}")
    for threads in map(int, args.threads.split(",")):
        torch.set_num_threads(threads)
        for shape, flags in family.cases():
            call = family.call(shape, flags)
            ours = torchs = float("inf")
            for _ in range(args.rounds):
                ours = min(ours, tarn.time(args.clock, op=args.op, shape=shape, flags=flags, threads=threads, calls=args.calls))
                torchs = min(torchs, time_torch(args.clock, call, args.calls))
            name = " ".join([args.op, "x".join(map(str, shape)), *flags])
            print(f"{name:40} {threads:7} {ours:10.3f} {torchs:10.3f} {ours / torchs:6.2f}", flush=True)


main()
