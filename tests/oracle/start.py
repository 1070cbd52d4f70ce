"""What PyTorch needs before a first step: importing torch, and making a preset's weights.

Usage:  python start.py --model gpt2-124m [--threads 1] [--json FILE]

Prints one JSON line: load_s (import torch), init_s (build on the CPU, then normal_ of every tensor of two and more
dimensions, zeros or ones in the rest).  One generator for all, so the values depend on the order of the parameters and
whole tensors must be made; trainctl's depend on seed and name alone.
"""
import argparse
import json
import time


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", required=True)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--json", help="write the line into this file too")
    a = p.parse_args()
    begin = time.perf_counter()
    import torch
    load_s = time.perf_counter() - begin
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    from models import build
    begin = time.perf_counter()
    model = build(a.model)      # embeddings and linear layers fill themselves once: not counted twice below
    build_s = time.perf_counter() - begin
    begin = time.perf_counter()
    with torch.no_grad():
        for name, q in model.named_parameters():
            if q.dim() > 1:
                q.normal_(0.0, 0.02)
            else:
                q.fill_(float(name.endswith("weight")))
    line = json.dumps({"model": a.model, "load_s": round(load_s, 4), "build_s": round(build_s, 4),
                       "init_s": round(time.perf_counter() - begin, 4)})
    print(line)
    if a.json:
        with open(a.json, "w") as f:
            f.write(line + "\n")


if __name__ == "__main__":
    main()
