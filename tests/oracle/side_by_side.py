"""The same work on both sides: one description, done by trainctl and by PyTorch's train.py, measured alike.

Used by the parity tests and the benchmarks.  A Work says what to train; run_trainctl and run_pytorch start real
processes, as a user would, and return what each showed.

Both sides get the same environment, without the variables that set threads (OMP_, KMP_, MKL_), so that their number is
the program's own setting (launch.threads, --threads).  Peak RSS is the kernel's (wait4): the largest process of each
side.
"""
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
SKIPPED = 77    # CTest's SKIP_RETURN_CODE of these tests


def oracle_python():
    return pathlib.Path(os.environ.get("TRAINCTL_ORACLE", SOURCE / ".deps/oracle/bin/python"))


def trainctl_binary():
    return pathlib.Path(os.environ.get("TRAINCTL_BIN", SOURCE / "build/release/bin/trainctl"))


def become_oracle(what):
    """Goes on under the oracle's Python; where there is none, says that `what` did not run and exits with 77."""
    python = oracle_python()
    if not python.exists():
        print(f"skipped: {what} needs Python PyTorch; {python} is not there (scripts/setup.sh --oracle installs it)")
        raise SystemExit(SKIPPED)
    if not os.environ.get("TRAINCTL_UNDER_ORACLE"):
        os.environ["TRAINCTL_UNDER_ORACLE"] = "1"
        os.execv(python, [str(python), *sys.argv])


@dataclasses.dataclass(frozen=True)
class Work:
    """What to train.  batch counts samples of one rank and micro-step; the rest is named as in train.py."""
    model: str
    steps: int = 20
    batch: int = 4
    seq: int | None = None          # None: the preset's, or no tokens
    accumulate: int = 1
    precision: str = "fp32"
    threads: int = 1
    ranks: int = 1
    optimizer: str = "adamw"
    lr: float = 1e-3
    momentum: float = 0.9           # sgd
    weight_decay: float = 0.1
    clip: float = 1.0
    schedule: str = "cosine"        # or "const"
    warmup: int = 0
    tokens: str | None = None       # raw uint16 file; None: synthetic
    init: str | None = None         # safetensors; None: each side's own rule (not equal weights)


@dataclasses.dataclass
class Run:
    """What one side showed.  Lists have one entry a step, of rank 0."""
    steps: list                     # the step records as written
    weights: pathlib.Path | None    # safetensors after the last step
    wall_s: float                   # from start to end of the process
    step0_s: float                  # from start of the process to the first step's record on disk
    last_s: float                   # the same, to the last step's record
    peak_rss_mb: float              # of the largest process, MB of 2^20
    result: dict                    # trainctl's result.json; train.py's summary

    def column(self, key):
        return [record[key] for record in self.steps]

    def uncounted_share(self):
        """Share of the time between the first and the last record that the program's own step_ms leaves out."""
        return 1 - sum(self.column("step_ms")[1:]) / 1e3 / (self.last_s - self.step0_s)


class SideFailed(RuntimeError):
    """One side did not end with 0; holds the end of its output."""


def job_spec(work, run_dir):
    """trainctl's job file for `work`, as nested dicts."""
    optimizer = {"kind": work.optimizer, "lr": work.lr, "weight_decay": work.weight_decay, "clip_norm": work.clip}
    if work.optimizer == "sgd":
        optimizer["momentum"] = work.momentum
    data = {"format": "tokens_u16" if work.tokens else "synthetic", "shuffle": False}
    if work.tokens:
        data["train"] = [str(work.tokens)]
    if work.seq:
        data["seq_len"] = work.seq
    model = {"preset": work.model}
    if work.init:
        model["init_from"] = str(work.init)
    return {
        "name": "side-by-side",
        "run_dir": str(run_dir),
        "launch": {"nproc_per_node": work.ranks, "device": "cpu", "threads": work.threads},
        "model": model,
        "data": data,
        "optimizer": optimizer,
        "schedule": {"kind": {"const": "constant"}.get(work.schedule, work.schedule), "warmup_steps": work.warmup},
        "train": {"steps": work.steps, "micro_batch": work.batch, "accumulate": work.accumulate},
        "precision": {"compute": work.precision},
        "metrics": {"log_every": 1},
    }


def yaml_text(spec):
    """Block YAML of nested dicts; scalars and lists in JSON's form, which is YAML's too."""
    lines = []
    for key, value in spec.items():
        if isinstance(value, dict):
            lines.append(f"{key}:")
            lines += [f"  {k}: {json.dumps(v)}" for k, v in value.items()]
        else:
            lines.append(f"{key}: {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def torch_arguments(work):
    args = ["--model", work.model, "--precision", work.precision, "--batch", work.batch, "--steps", work.steps,
            "--accumulate", work.accumulate, "--threads", work.threads, "--optimizer", work.optimizer, "--lr", work.lr,
            "--momentum", work.momentum, "--weight-decay", work.weight_decay, "--clip", work.clip,
            "--schedule", work.schedule, "--warmup", work.warmup, "--parallel", "ddp" if work.ranks > 1 else "none"]
    for flag, value in (("--seq", work.seq), ("--tokens", work.tokens), ("--init", work.init)):
        if value:
            args += [flag, value]
    return [str(a) for a in args]


def clean_environment(**extra):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("OMP_", "KMP_", "MKL_", "GOMP_")) and k not in
           ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    return env | extra


def run_trainctl(work, folder, timeout_s=600):
    """One `trainctl train` in the new folder `folder`."""
    folder = fresh(folder)
    job, run_dir = folder / "job.yaml", folder / "run"
    job.write_text(yaml_text(job_spec(work, run_dir)))
    trial = run_dir / "trials/train"
    command = [str(trainctl_binary()), "train", str(job)]
    times, rss_mb = watch([(command, clean_environment())], folder, trial / "metrics.jsonl", timeout_s)
    return Run(steps=[r for r in read_lines(trial / "metrics.jsonl") if "loss" in r],
               weights=run_dir / "model.safetensors", **times, peak_rss_mb=rss_mb,
               result=json.loads((trial / "result.json").read_text()))


def run_pytorch(work, folder, save=False, timeout_s=600):
    """One train.py in the new folder `folder`; with ranks, one process a rank with torchrun's variables."""
    folder = fresh(folder)
    weights = folder / "model.safetensors"
    command = [str(oracle_python()), str(HERE / "train.py"), *torch_arguments(work),
               "--json", str(folder / "rank%d.jsonl")]
    if save:
        command += ["--save", str(weights)]
    rendezvous = {"WORLD_SIZE": str(work.ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    processes = [([a.replace("%d", str(rank)) for a in command],
                  clean_environment(RANK=str(rank), LOCAL_RANK=str(rank), **rendezvous)) for rank in range(work.ranks)]
    times, rss_mb = watch(processes, folder, folder / "rank0.jsonl", timeout_s, marker=b'"event": "step"')
    lines = read_lines(folder / "rank0.jsonl")
    return Run(steps=[r for r in lines if r["event"] == "step"], weights=weights if save else None,
               **times, peak_rss_mb=rss_mb, result=lines[-1])


def run_pytorch_here(work, folder):
    """As run_pytorch with `save`, for one rank, inside this process: saves the seconds of importing torch.

    For comparing numbers only: its times and memory are this process's (nan)."""
    import contextlib
    import io
    import train
    folder = fresh(folder)
    record, weights = folder / "rank0.jsonl", folder / "model.safetensors"
    with contextlib.redirect_stdout(io.StringIO()):
        train.main([*torch_arguments(work), "--json", str(record), "--save", str(weights)])
    lines = read_lines(record)
    nan = float("nan")
    return Run([r for r in lines if r["event"] == "step"], weights, nan, nan, nan, nan, lines[-1])


def watch(processes, folder, record, timeout_s, marker=b"\n"):
    """Runs the processes to their end.  Returns (Run's times by name, peak RSS in MB).

    Looks at the file every 2 ms until `marker`, the first record, is there, then waits without looking: the last
    record's time is the file's (ticks of 4 ms)."""
    start, start_date = time.monotonic(), time.time()
    children = []
    for rank, (command, env) in enumerate(processes):
        with open(folder / f"output-{rank}.txt", "wb") as out:
            children.append(subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                             start_new_session=True, cwd=folder))
    try:
        step0_s = first_record(children, record, marker, start, timeout_s)
        ends = [wait_usage(c, start + timeout_s) for c in children]
    except BaseException:
        for c in children:
            if c.returncode is None:
                os.killpg(c.pid, signal.SIGKILL)
                c.wait()
        raise
    wall_s = time.monotonic() - start
    for rank, (code, _) in enumerate(ends):
        if code != 0:
            text = (folder / f"output-{rank}.txt").read_text(errors="replace")
            raise SideFailed(f"{' '.join(processes[rank][0])}\nended with {code}:\n{text[-3000:]}")
    times = {"wall_s": wall_s, "step0_s": step0_s, "last_s": record.stat().st_mtime - start_date}
    return times, max(rss for _, rss in ends)


def first_record(children, record, marker, start, timeout_s):
    while time.monotonic() < start + timeout_s:
        try:
            if marker in record.read_bytes():
                return time.monotonic() - start
        except FileNotFoundError:
            pass
        # WNOWAIT leaves the process to be reaped with its resource usage
        if os.waitid(os.P_PID, children[0].pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return float("nan")
        time.sleep(0.002)
    raise SideFailed(f"no first step within {timeout_s} s")


def wait_usage(child, deadline):
    """(exit code, peak RSS in MB of the child and of the children it waited for)."""
    while time.monotonic() < deadline:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, usage.ru_maxrss / 1024
        time.sleep(0.01)
    raise SideFailed(f"process {child.pid} ran out of time")


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder = pathlib.Path(folder).absolute()
    folder.mkdir(parents=True)
    return folder


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write_init(model, folder, seq=None, seed=0, rounded=False):
    """Initial weights of a preset by init_weights.py's rule, as a file.  `rounded`: each matrix element off by at most
    one rounding of fp32, up or down by chance."""
    import init_weights
    import torch
    from models import build
    from safetensors.torch import save_file
    path = pathlib.Path(folder) / f"{model}-seed{seed}{'-rounded' if rounded else ''}.safetensors"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        tensors = init_weights.tensors(build(model, seq, device="meta"), model, seed)
        if rounded:
            chance = torch.Generator().manual_seed(seed)
            tensors = {n: t * (1 + 2.0**-23 * torch.randint(-1, 2, t.shape, generator=chance)) if t.dim() > 1 else t
                       for n, t in tensors.items()}
        save_file(tensors, str(path), metadata={"format": "pt"})
    return str(path)
