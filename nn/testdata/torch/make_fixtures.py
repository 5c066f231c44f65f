"""Makes the PyTorch values that the tests of nn compare with.

    pip install torch
    python nn/testdata/torch/make_fixtures.py

It needs PyTorch 2.0 or later and no GPU; each fixture names the version and the
instruction set that made it.

Three training steps of the MLP 20-16-10-5 per optimiser, in float32 and again in
float64: the distance between the two is what rounding alone does, and judges
whether a tolerance is fair. Linear weights are written as [in, out], the
transpose of PyTorch's [out, in]; gradients and optimiser state likewise.

peaks.py, beside this file, measures the memory of a step.
"""

import pathlib
import sys

import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "internal" / "fixture")]

import fixture  # noqa: E402
import peaks  # noqa: E402

STEPS, BATCH, SIZES, SEED = 3, 8, (20, 16, 10, 5), 1

# No pre-activation may lie nearer to ReLU's kink than this, or float32 and
# float64 could take different branches. SEED is one that keeps to it.
KINK = 1e-4

OPTIMIZERS = {
    "sgd": ("sgd", dict(lr=0.1)),
    "sgd_momentum_wd": ("sgd", dict(lr=0.1, momentum=0.9, weight_decay=0.01)),
    "sgd_dampening": ("sgd", dict(lr=0.1, momentum=0.9, dampening=0.2)),
    "sgd_nesterov": ("sgd", dict(lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True)),
    "adamw": ("adamw", dict(lr=0.01, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)),
}

CLASSES = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}


def mlp(sizes):
    layers = []
    for i, (n, m) in enumerate(zip(sizes, sizes[1:])):
        layers += [nn.ReLU()] * (i > 0) + [nn.Linear(n, m)]
    return nn.Sequential(*layers)


def ours(t):
    """t in our layout: matrices transposed, all else as it is."""
    return fixture.tensor(t.t() if t is not None and t.dim() == 2 else t)


def batches():
    """One batch per step, so that a gradient left over from a step shows."""
    g = torch.Generator().manual_seed(SEED)
    return [
        (torch.randn(BATCH, SIZES[0], generator=g), torch.randint(SIZES[-1], (BATCH,), generator=g))
        for _ in range(STEPS)
    ]


def train(optimizer, options, dtype):
    torch.manual_seed(SEED)
    model = mlp(SIZES).to(dtype)
    names = [name for name, _ in model.named_parameters()]
    initial = [{"name": n, "value": ours(p)} for n, p in model.named_parameters()]
    step = CLASSES[optimizer](model.parameters(), foreach=False, **options)

    nearest = [float("inf")]
    for layer in model[:-1]:
        if isinstance(layer, nn.Linear):
            layer.register_forward_hook(
                lambda _, __, out: nearest.append(min(nearest.pop(), out.abs().min().item())))

    steps = []
    for x, labels in batches():
        step.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(x.to(dtype)), labels)
        loss.backward()
        grads = [ours(p.grad) for p in model.parameters()]
        step.step()
        params = []
        for name, p, grad in zip(names, model.parameters(), grads):
            state = {k: ours(v) for k, v in step.state[p].items() if k != "step" and v is not None}
            params.append({"name": name, "grad": grad, "value": ours(p), "state": state})
        steps.append({"loss": fixture.tensor(loss), "params": params})
    if nearest[0] < KINK:
        sys.exit("pre-activation %g is too near to ReLU's kink: take another SEED" % nearest[0])
    return initial, {"dtype": str(dtype).replace("torch.", ""), "steps": steps}


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name, (optimizer, options) in OPTIMIZERS.items():
        initial, single = train(optimizer, options, torch.float32)
        _, double = train(optimizer, options, torch.float64)
        fixture.write(HERE / ("three_steps_%s.json" % name), {
            **fixture.header(torch),
            "optimizer": {"name": optimizer, **{k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}},
            "batches": [{"x": fixture.tensor(x), "labels": fixture.tensor(y)} for x, y in batches()],
            "params": initial,
            "runs": [single, double],
        })
    fixture.write(HERE / "peaks.json", {**fixture.header(torch), **peaks.measure(mlp, CLASSES)})


if __name__ == "__main__":
    main()
