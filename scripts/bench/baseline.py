"""bench.sh baseline: the eager step, start, memory and two-process DDP, beside PyTorch doing the same work.

Steps: medians of each process's steps without the first ones, then over processes.  Both programs' step_ms covers the
batch, forward, backward, clipping, the update and reading the loss.
Start: from the start of the process to the first step's record on disk, seen from outside; trainctl's matmul peak is
already in its cache (a run before the first round sees to it).
Peak RSS: the kernel's figure of the largest process.
"""
import dataclasses
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from measure import Figure, Pair, main, say  # noqa: E402
from side_by_side import HERE as ORACLE  # noqa: E402
from side_by_side import Work, clean_environment, oracle_python, read_lines, run_pytorch, run_trainctl  # noqa: E402

PYTORCH = "PyTorch 2.11 eager (tests/oracle/train.py)"
EAGER_TARGET = 1.03
DDP_TARGET = 1.0
START_TARGET_S = 0.6
INIT_TARGET_S = 0.5
SKIP = 3    # first steps left out
HIDDEN = 0.03


def count(n, what):
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def step_figures(run, side):
    uncounted = run.uncounted_share()
    if uncounted > HIDDEN:      # seen from outside: what the program's own figure does not say
        say(f"WARNING: {side}'s step_ms leaves out {100 * uncounted:.1f} % of the time between its records")
    return {"step_ms": statistics.median(run.column("step_ms")[SKIP:]), "rss_mb": run.peak_rss_mb}


def step_pair(name, work, target, rss_target=None):
    figures = (Figure("step_ms", f"step {name}", "ms", target), Figure("rss_mb", f"peak RSS {name}", "MB", rss_target))
    return Pair(trainctl=lambda folder: step_figures(warmed(work, folder), "trainctl"),
                peer=lambda folder: step_figures(run_pytorch(work, folder), "PyTorch"),
                peer_name=PYTORCH, figures=figures)


warm = set()


def warmed(work, folder):
    """run_trainctl, after a short run that measures the machine's peak into the cache and is not counted."""
    key = (work.threads, work.ranks, work.precision)
    if key not in warm:
        warm.add(key)
        run_trainctl(dataclasses.replace(work, model="gpt2-tiny", seq=None, steps=1), folder)
    return run_trainctl(work, folder)


def start_pair(steps):
    work = Work("gpt2-tiny", steps=steps)
    return Pair(trainctl=lambda folder: {"start_s": warmed(work, folder).step0_s},
                peer=lambda folder: {"start_s": run_pytorch(work, folder).step0_s}, peer_name=PYTORCH,
                figures=(Figure("start_s", "start to step 0 of gpt2-tiny", "s", target_value=START_TARGET_S),))


def init_pair(quick):
    """Loading the engine (torch) and making gpt2-124m, apart; each program's own figures."""
    preset = "gpt2-tiny" if quick else "gpt2-124m"
    work = Work(preset, steps=1, batch=1, seq=64)

    def ours(folder):
        result = warmed(work, folder).result
        return {"load_s": result["load_s"], "init_s": result["init_s"]}

    def theirs(folder):
        folder.mkdir(parents=True, exist_ok=True)
        out = folder / "start.jsonl"
        subprocess.run([oracle_python(), ORACLE / "start.py", "--model", preset, "--json", out],
                       env=clean_environment(), check=True, stdout=subprocess.DEVNULL)
        return read_lines(out)[-1]

    return Pair(ours, theirs, "PyTorch 2.11 (tests/oracle/start.py: import torch; normal_ per parameter)",
                (Figure("load_s", "loading the engine, one thread", "s"),
                 Figure("init_s", f"init of {preset}, one thread", "s", target_value=INIT_TARGET_S)))


def make_pairs(o):
    def work(model, precision="fp32", threads=1, ranks=1, batch=4, seq=None):
        steps = 5 if o.quick else 10 if precision == "fp32" else 16
        return Work(model, steps=steps, batch=batch, seq=seq, precision=precision, threads=threads, ranks=ranks,
                    lr=3e-4)

    gpt2, llama = ("gpt2-tiny", "llama-tiny") if o.quick else ("gpt2-30m", "llama-30m")
    seq = 64 if o.quick else 256
    pairs = []
    for model in (gpt2, llama):
        for precision in ("fp32", "bf16"):
            for threads in (1, 2):
                pairs.append(step_pair(f"{model} {precision} {count(threads, 'thread')} B=4 T={seq}",
                                       work(model, precision, threads, seq=seq), EAGER_TARGET, 1.0))
    batch = 4 if o.quick else 32
    for threads in (1, 2):
        pairs.append(step_pair(f"resnet18-cifar fp32 {count(threads, 'thread')} B={batch}",
                               work("resnet18-cifar", threads=threads, batch=batch), EAGER_TARGET, 1.0))
    pairs.append(step_pair(f"{gpt2} fp32 two-process DDP global batch 8 T={seq}", work(gpt2, ranks=2, seq=seq),
                           DDP_TARGET, 1.0))
    pairs.append(start_pair(1))
    pairs.append(init_pair(o.quick))
    return pairs


if __name__ == "__main__":
    main("baseline", __doc__, make_pairs)
