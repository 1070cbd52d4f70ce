"""Steps of torch.optim's fused optimizers, for oracle_test.cpp.

Usage: optimizer_oracle.py KIND OUT, KIND one of adamw, sgd, nesterov; OUT gets the parameters after the last step, raw float32.

Parameters a [40, 30] and b [77]; element k of parameter number p starts at value(p, 0, k), its gradient at step s >= 1
is value(p, s, k) = ((k * 7919 + p * 104729 + s * 1299709) mod 2003) / 1001.5 - 1, computed in float32.
Learning rate 1e-3 * s; weight decay 0.1 on a, 0 on b; the global norm is clipped to 1.
"""
import sys

import torch

STEPS = 7


def value(p, s, shape):
    k = torch.arange(torch.Size(shape).numel())
    x = (k * 7919 + p * 104729 + s * 1299709) % 2003
    return (x.to(torch.float32) / torch.tensor(1001.5) - 1).reshape(shape)


def main():
    kind, out = sys.argv[1:]
    torch.set_num_threads(1)
    shapes = [(40, 30), (77,)]
    params = [torch.nn.Parameter(value(p, 0, shape)) for p, shape in enumerate(shapes)]
    groups = [dict(params=[params[0]], weight_decay=0.1), dict(params=[params[1]], weight_decay=0.0)]
    if kind == "adamw":
        opt = torch.optim.AdamW(groups, lr=1.0, betas=(0.9, 0.95), eps=1e-8, fused=True)
    else:
        opt = torch.optim.SGD(groups, lr=1.0, momentum=0.9, nesterov=kind == "nesterov", fused=True)
    for s in range(1, STEPS + 1):
        for g in opt.param_groups:
            g["lr"] = 1e-3 * s
        for p, q in enumerate(params):
            q.grad = value(p, s, shapes[p])
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
    with open(out, "wb") as f:
        for q in params:
            f.write(q.detach().numpy().tobytes())


main()
