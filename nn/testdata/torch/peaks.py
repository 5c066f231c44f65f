"""Peak of the sum of live tensor bytes of one training step, as PyTorch holds it.

A storage counts with the bytes asked for, before any allocator rounds them, and
once, however many views it has. What Python or a BLAS library holds is no tensor
and does not count.

Two methods, which must agree up to the scalars that an op makes inside itself of
a Python number (12 bytes in AdamW's division):

tracked   A TorchDispatchMode sees every aten op, those of backward and of the
          optimiser included, and keeps a weak reference to the storage of each
          result. After each op it adds up the storages still alive. This is
          exact: bytes are taken inside ops alone, and between ops they only fall,
          so the sum is highest when an op has just returned and still holds its
          inputs. It cannot see what an op takes and gives back inside itself,
          but it knows what every byte is for, so it gives the breakdown too.
allocated The profiler records each call of the CPU allocator with its bytes.
          Their running sum, over what was alive before the step, has its own
          peak. This sees the insides of ops, and runs the step undisturbed.

The optimiser's state exists before the measured step: two steps come first. The
gradients of the step before die in zero_grad(set_to_none=True), its first act.
"""

import gc

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

TRAINING = [
    (sizes, batch, optimizer)
    for sizes, batch in [((784, 256, 10), 64), ((784, 256, 10), 256), ((784, 512, 512, 10), 64)]
    for optimizer in ("sgd", "sgd_momentum", "adamw")
]

OPTIONS = {
    "sgd": ("sgd", dict(lr=0.01)),
    "sgd_momentum": ("sgd", dict(lr=0.01, momentum=0.9)),
    "adamw": ("adamw", dict(lr=0.001)),
}

DEEP, WIDTH, DEEP_BATCH = 20, 512, 256

SCALARS = 16  # bytes that an op may take inside itself


def tensors(v):
    if isinstance(v, torch.Tensor):
        yield v
    elif isinstance(v, (tuple, list)):
        for x in v:
            yield from tensors(x)


class Tracker(TorchDispatchMode):
    """Sums up the storages that are alive after each op."""

    def __init__(self, known):
        super().__init__()
        self.live = {}  # address of the StorageImpl -> (weak reference, bytes, role)
        self.peak, self.at, self.parts = 0, "", {}
        for role, ts in known.items():
            for t in ts:
                self.add(t, role)
        self.sum("start")

    def add(self, t, role):
        s = t.untyped_storage()
        if s._cdata not in self.live:
            self.live[s._cdata] = (StorageWeakRef(s), s.nbytes(), role)

    def sum(self, op):
        self.live = {k: v for k, v in self.live.items() if not v[0].expired()}
        total = sum(v[1] for v in self.live.values())
        if total > self.peak:
            self.peak, self.at, self.parts = total, op, {}
            for _, n, role in self.live.values():
                self.parts[role] = self.parts.get(role, 0) + n

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for t in tensors(out):
            self.add(t, "made_in_step")
        self.sum(str(func))
        return out


def allocated(before, run):
    """Peak of the allocator's running sum over two runs.

    before is what is alive as the window opens. The profiler knows the size of a
    freed block only if it saw it taken, so no gradients may be alive then; the
    first run makes those that the second gives up.
    """
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as prof:
        run()
        run()
    total = peak = before
    for size in walk(prof.profiler.kineto_results.experimental_event_tree()):
        total += size
        peak = max(peak, total)
    return peak


def walk(roots):
    """Yields the bytes taken (or, negative, given back) in order of time."""
    stack, found = list(roots), []
    while stack:
        e = stack.pop()
        stack += e.children
        size = getattr(e.extra_fields, "alloc_size", None)
        if size is not None:
            found.append((e.start_time_ns, e.extra_fields.total_allocated, size))
    found.sort(key=lambda f: f[0])
    before = None
    for when, total, size in found:  # the profiler's own sum proves the order
        if before is not None and total != before + size:
            raise RuntimeError("allocations out of order at %d ns" % when)
        before = total
        yield size


def bytes_of(known):
    return sum({s._cdata: s.nbytes() for ts in known.values() for t in ts for s in [t.untyped_storage()]}.values())


def state_of(optimizer):
    return list(tensors([list(s.values()) for s in optimizer.state.values()]))


def both(known, run, clear):
    """One measurement by both methods. known() names the tensors that are alive,
    and nothing here may hold on to them; clear() drops the gradients."""
    gc.collect()
    tracker = Tracker(known())
    with tracker:
        run()
    clear()
    row = {"peak_bytes": tracker.peak, "at_op": tracker.at, "parts": tracker.parts}
    row["allocated_bytes"] = allocated(bytes_of(known()), run)
    return row


def training(mlp, classes, sizes, batch, name):
    kind, options = OPTIONS[name]
    torch.manual_seed(0)
    model = mlp(sizes)
    optimizer = classes[kind](model.parameters(), foreach=False, **options)
    x, labels = torch.randn(batch, sizes[0]), torch.randint(sizes[-1], (batch,))

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def step():
        clear()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()

    def known():
        return {
            "parameters": list(model.parameters()),
            "gradients_before": [p.grad for p in model.parameters() if p.grad is not None],
            "optimizer_state": state_of(optimizer),
            "batch": [x, labels],
        }

    step()
    step()
    return {"sizes": list(sizes), "batch": batch, "optimizer": name, **both(known, step, clear)}


def inference(mlp):
    model, x = mlp((WIDTH,) * (DEEP + 1)), torch.randn(DEEP_BATCH, WIDTH)

    def run():
        with torch.no_grad():
            model(x)

    run()
    known = lambda: {"parameters": list(model.parameters()), "batch": [x]}  # noqa: E731
    return {"sizes": [WIDTH] * (DEEP + 1), "batch": DEEP_BATCH, "optimizer": "", **both(known, run, lambda: None)}


def measure(mlp, classes):
    rows = [training(mlp, classes, *c) for c in TRAINING] + [inference(mlp)]
    for r in rows:
        if not 0 <= r["allocated_bytes"] - r["peak_bytes"] <= SCALARS:
            raise RuntimeError("the two methods differ: %r" % r)
    return {"cases": rows}
