"""trainctl against PyTorch: equal initial weights, equal batches, equal threads; losses, gradient norms, final weights.

Usage
    parity.py CASE...            the short form (a few seconds a case)      parity.py --list: the cases
    parity.py --full [CASE...]   50 steps; a minute a case, resnet several
    --keep DIR                   leaves both sides' files in DIR

Environment: TRAINCTL_BIN (the binary), TRAINCTL_ORACLE (Python with PyTorch).
Exit: 0 agrees, 1 differs, 77 there is no oracle.

What "agrees" means, each bound printed beside what was found
    exact   losses and gradient norms to 1e-5 relative at every step.  Correct programs that sum in another order differ
            by 2e-7 in these models (PyTorch against itself), so 1e-5 leaves room for 50 steps of growth, and no more.
            It holds for the tiny presets: llama-30m differs from itself by 7e-5 in 50 steps.
    noise   where rounding grows (bf16, batch norm) the bound is what PyTorch does to itself: a second PyTorch run in
            this same test that differs in the order of summation alone.  `halves` splits each batch into two
            micro-steps; `threads` uses two threads for one (batch norm forbids to split the batch).  trainctl may be
            3 times as far: it is a third draw of the same noise, of which one draw was seen.  Step 0 has its own,
            tighter bound: nothing has been updated yet, so only one forward and backward pass may differ.  After it the
            largest gap of all steps counts: when rounding first tips something over (a ReLU, a bf16 digit), and so
            begins to grow, is chance.  Never below `exact`.
    weights after the last step, per tensor: ||a - b|| <= 3 ||noise|| + 1e-6 ||b||, noise as above and, where rounding
            grows, also of a run from initial weights that are off by one rounding (`rounding`): one draw can miss a
            tensor, as `threads` does where both numbers of threads sum alike.  The larger counts.  1e-6: a few
            roundings of fp32 (6e-8) per update.  Noise alone would not do (it can be 0), a fixed bound neither: the
            gradient of GPT-2's key biases is zero but for rounding and AdamW divides by its size, so they differ by
            3e-4 between two PyTorch runs.
    lr      to 1e-12 relative: both compute it in double.
"""
import argparse
import dataclasses
import math
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "oracle"))
from side_by_side import SOURCE, Work, become_oracle, run_pytorch, run_pytorch_here  # noqa: E402
from side_by_side import run_trainctl, write_init  # noqa: E402

THIRD_DRAW = 3.0    # see "noise" above
EXACT = 1e-5
FP32_ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True)
class Case:
    says: str                   # the test's name
    work: Work
    full: Work                  # of the full form
    rule: str = "exact"         # or "noise"
    draws: tuple = ("halves",)  # how PyTorch is run again; the first is the noise of losses and norms, all of weights
    text: bool = False          # tokens from a file (this project's licence, a token a byte), else synthetic


def ranks2(work):
    """The same global batch on two ranks."""
    return dataclasses.replace(work, ranks=2, batch=work.batch // 2)


GPT2 = Work("gpt2-tiny", steps=20, batch=4, warmup=5)
LLAMA = Work("llama-tiny", steps=20, batch=4, warmup=5)
MLP = Work("mlp-toy", steps=20, batch=32, optimizer="sgd", lr=0.05)
RESNET = Work("resnet18-cifar", steps=5, batch=8, lr=1e-4)
GPT2_FULL = dataclasses.replace(GPT2, steps=50)
LLAMA_FULL = dataclasses.replace(LLAMA, steps=50)
MLP_FULL = dataclasses.replace(MLP, steps=50)
RESNET_FULL = dataclasses.replace(RESNET, steps=50)


def bf16(work):
    return dataclasses.replace(work, precision="bf16")


BF16 = ("halves", "rounding")
BATCH_NORM = ("threads", "rounding")

CASES = {
    "gpt2": Case("gpt2 on text follows PyTorch", GPT2, GPT2_FULL, text=True),
    "gpt2-accumulate": Case("gpt2 with accumulated micro-batches follows PyTorch",
                            dataclasses.replace(GPT2, batch=2, accumulate=2),
                            dataclasses.replace(GPT2_FULL, batch=2, accumulate=2)),
    "llama": Case("llama follows PyTorch", LLAMA, LLAMA_FULL),
    "mlp": Case("mlp with SGD follows PyTorch", MLP, MLP_FULL),
    "mlp-adamw": Case("mlp with AdamW and a constant rate follows PyTorch",
                      dataclasses.replace(MLP, optimizer="adamw", lr=1e-3, schedule="const"),
                      dataclasses.replace(MLP_FULL, optimizer="adamw", lr=1e-3, schedule="const")),
    "resnet": Case("resnet follows PyTorch as far as PyTorch follows itself", RESNET, RESNET_FULL, "noise", BATCH_NORM),
    "gpt2-ddp": Case("gpt2 on two ranks follows PyTorch's DDP", ranks2(GPT2), ranks2(GPT2_FULL)),
    "llama-ddp": Case("llama on two ranks follows PyTorch's DDP", ranks2(LLAMA), ranks2(LLAMA_FULL)),
    "mlp-ddp": Case("mlp on two ranks follows PyTorch's DDP", ranks2(MLP), ranks2(MLP_FULL)),
    "resnet-ddp": Case("resnet on two ranks follows PyTorch's DDP as far as that follows itself", ranks2(RESNET),
                       ranks2(RESNET_FULL), "noise", BATCH_NORM),
    "gpt2-bf16": Case("gpt2 in bf16 follows PyTorch's autocast within its noise", bf16(GPT2), bf16(GPT2_FULL),
                      "noise", BF16),
    "llama-bf16": Case("llama in bf16 follows PyTorch's autocast within its noise", bf16(LLAMA), bf16(LLAMA_FULL),
                       "noise", BF16),
}


def drawn_again(draw, work, folder):
    """The same work, rounded otherwise."""
    if draw == "threads":
        return dataclasses.replace(work, threads=3 - work.threads)
    if draw == "rounding":
        return dataclasses.replace(work, init=write_init(work.model, folder, rounded=True))
    return dataclasses.replace(work, batch=work.batch // 2, accumulate=2 * work.accumulate)


def gaps(a, b):
    """Relative difference at each step."""
    if len(a) != len(b):
        raise SystemExit(f"{len(a)} steps against {len(b)}")
    return [abs(x - y) / abs(y) if math.isfinite(x) and math.isfinite(y) else math.inf for x, y in zip(a, b)]


def bounds(case, noise):
    """The largest allowed gap at each step."""
    if case.rule == "exact":
        return [EXACT] * len(noise)
    later = max(EXACT, THIRD_DRAW * max(noise))
    return [max(FP32_ROUNDING, THIRD_DRAW * noise[0])] + [later] * (len(noise) - 1)


def compare_steps(case, ours, theirs, other):
    good = True
    for key in ("loss", "grad_norm"):
        found = gaps(ours.column(key), theirs.column(key))
        noise = gaps(other.column(key), theirs.column(key))
        allowed = bounds(case, noise)
        step = max(range(len(found)), key=lambda s: found[s] / allowed[s])
        agrees = found[step] <= allowed[step]
        good &= agrees
        print(f"  {key:9}: {found[0]:.1e} at step 0, at most {max(found):.1e}; nearest its bound at step {step}: "
              f"{found[step]:.1e} of {allowed[step]:.1e}; PyTorch against itself ({case.draws[0]}): at most "
              f"{max(noise):.1e}; last value {ours.column(key)[-1]:.6f}: {verdict(agrees)}")
    found = max(gaps(ours.column("lr"), theirs.column("lr")))
    print(f"  lr       : {found:.1e}, bound 1e-12: {verdict(found <= 1e-12)}")
    return good and found <= 1e-12


def compare_weights(ours, theirs, others):
    from safetensors.torch import load_file
    a, b, *draws = (load_file(str(run.weights)) for run in (ours, theirs, *others))
    a.pop("lm_head.weight", None) if "lm_head.weight" not in b else None    # a tied head that is written out
    if a.keys() != b.keys():
        print(f"  weights  : names differ: {sorted(a.keys() ^ b.keys())[:6]}: DIFFERS")
        return False
    rows = []
    for name in b:
        x, y, *zs = (t[name].double() for t in (a, b, *draws))
        noise = max(float((z - y).norm()) for z in zs)
        gap, allowed = float((x - y).norm()), THIRD_DRAW * noise + FP32_ROUNDING * float(y.norm())
        rows.append((gap / allowed if allowed else math.inf if gap else 0.0, name, gap, allowed))
    share, name, gap, allowed = max(rows)
    print(f"  weights  : {len(rows)} tensors; nearest its bound: {name}, ||a - b|| {gap:.1e} of {allowed:.1e}: "
          f"{verdict(share <= 1)}")
    return share <= 1


def verdict(good):
    return "agrees" if good else "DIFFERS"


def token_file(folder):
    import numpy as np
    path = folder / "licence.bin"
    np.frombuffer((SOURCE / "LICENSE").read_bytes(), np.uint8).astype("<u2").tofile(path)
    return str(path)


def pytorch(work, folder):
    return run_pytorch_here(work, folder) if work.ranks == 1 else run_pytorch(work, folder, save=True)


def check(name, full, folder):
    case = CASES[name]
    work = case.full if full else case.work
    work = dataclasses.replace(work, init=write_init(work.model, folder),
                               tokens=token_file(folder) if case.text else None)
    print(f"{name}: {case.says}\n  {work.model}, {work.steps} steps, {work.ranks} ranks of {work.threads} threads, "
          f"{work.precision}, {work.accumulate} x {work.batch} samples a rank", flush=True)
    theirs = pytorch(work, folder / name / "pytorch")
    others = [pytorch(drawn_again(draw, work, folder), folder / name / f"pytorch-{draw}") for draw in case.draws]
    ours = run_trainctl(work, folder / name / "trainctl")
    steps = compare_steps(case, ours, theirs, others[0])
    return compare_weights(ours, theirs, others) and steps


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("case", nargs="*", help="default: all")
    p.add_argument("--full", action="store_true")
    p.add_argument("--list", action="store_true")
    p.add_argument("--keep", type=pathlib.Path)
    a = p.parse_args()
    if a.list:
        print("\n".join(f"{name:16} {case.says}" for name, case in CASES.items()))
        return 0
    if unknown := [c for c in a.case if c not in CASES]:
        p.error(f"no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    become_oracle("parity with PyTorch")
    with tempfile.TemporaryDirectory(prefix="trainctl-parity-") as temporary:
        folder = (a.keep or pathlib.Path(temporary)).absolute()
        results = [check(name, a.full, folder) for name in a.case or CASES]
    print(f"{sum(results)} of {len(results)} cases agree")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
