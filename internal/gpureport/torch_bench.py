"""What gpureport measures, measured with PyTorch on the same device.

Prints one line a figure: name, tab, value. The names are gpureport's.
"""
import time

import torch

assert torch.cuda.is_available(), "PyTorch finds no CUDA device"
torch.backends.cuda.matmul.allow_tf32 = False
dev = torch.device("cuda:0")


def best(f, n, rounds=7):
    """Seconds a call of f, the best of some rounds of n calls."""
    f()
    torch.cuda.synchronize()
    least = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(n):
            f()
        torch.cuda.synchronize()
        least = min(least, (time.perf_counter() - start) / n)
    return least


def host(f, n, rounds=7):
    """Seconds that a call of f takes the host, whatever the device does."""
    least = float("inf")
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(n):
            f()
        least = min(least, (time.perf_counter() - start) / n)
    torch.cuda.synchronize()
    return least


def say(name, value):
    print(f"{name}\t{value:.4g}", flush=True)


def empty():
    torch.empty(1 << 18, dtype=torch.float32, device=dev)


empty()
say("alloc_free_us", 1e6 * host(empty, 2000))

small = torch.zeros(256, device=dev)
say("launch_us", 1e6 * host(lambda: small.add_(1), 500))

big = torch.zeros(64 << 20, device=dev)
other = torch.zeros(64 << 20, device=dev)
say("copy_gb_s", 2 * 4 * big.numel() / best(lambda: big.copy_(other), 20) / 1e9)
say("add_gb_s", 3 * 4 * big.numel() / best(lambda: torch.add(big, other, out=big), 20) / 1e9)
say("sum_gb_s", 4 * big.numel() / best(lambda: big.sum(), 20) / 1e9)
del big, other

for n in (256, 1024, 4096):
    a, b, c = (torch.randn(n, n, device=dev) for _ in range(3))
    say(f"sgemm_{n}_tflop_s", 2 * n**3 / best(lambda: torch.mm(a, b, out=c), max(5, 2048 // n)) / 1e12)
    a, b, c = (x.to(torch.bfloat16) for x in (a, b, c))
    say(f"bf16_{n}_tflop_s", 2 * n**3 / best(lambda: torch.mm(a, b, out=c), max(5, 2048 // n)) / 1e12)

for batch in (64, 256):
    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).to(dev)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, foreach=True)
    x, y = torch.randn(batch, 784, device=dev), torch.randint(10, (batch,), device=dev)

    def step():
        opt.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        opt.step()

    say(f"mlp_{batch}_eager_us", 1e6 * best(step, 200))
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    opt.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        torch.nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    say(f"mlp_{batch}_graph_us", 1e6 * best(graph.replay, 200))
