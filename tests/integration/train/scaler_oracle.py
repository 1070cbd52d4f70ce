"""torch.amp.GradScaler's scale over a list of steps, for oracle_test.cpp.

Usage: scaler_oracle.py WINDOW FLAGS SCALE..., FLAGS a text of 0 and 1: 1 where the step's gradient overflows.
Prints for each initial scale a line a step: the scale and the steps since it changed, after the step, and the gradient 1 as unscaled.
"""
import sys

import torch


def follow(scale, window, flags):
    p = torch.nn.Parameter(torch.zeros(1))
    opt = torch.optim.SGD([p], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=window)
    scaler.scale(torch.zeros(()))    # makes the state
    for flag in flags:
        p.grad = torch.tensor([float("inf") if flag == "1" else 1.0])
        scaler.unscale_(opt)
        unscaled = p.grad.item()
        scaler.step(opt)
        scaler.update()
        print(f"{scaler.get_scale():.9g} {scaler._get_growth_tracker()} {unscaled:.9g}")


torch.set_num_threads(1)
for initial in sys.argv[3:]:
    follow(float(initial), int(sys.argv[1]), sys.argv[2])
