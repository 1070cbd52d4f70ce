"""What every bench does: runs both sides in turn, takes medians, prints one JSON object a line.

A bench is a list of Metrics.  Each gives two functions that start fresh processes and return one figure each (or a dict
of figures, so that one pair of runs serves several metrics).  Rounds are A B, A B, ...: slow drift of the machine hits
both sides alike.  `spread` holds the least and the greatest figure of each side, and of the ratio within a round.
"""
import argparse
import dataclasses
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/oracle"))
from side_by_side import become_oracle  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Figure:
    """One line of the output, from the figures that a pair of runs gave under `key`."""
    key: str
    metric: str
    unit: str
    target: float | None = None             # greatest ratio that is good enough
    target_value: float | None = None       # greatest figure of trainctl's that is good enough


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two functions of a folder to work in, each returning {key: figure}."""
    trainctl: Callable
    peer: Callable
    peer_name: str
    figures: tuple


@dataclasses.dataclass(frozen=True)
class Options:
    quick: bool
    rounds: int


def options(bench, description):
    p = argparse.ArgumentParser(prog=f"bench.sh {bench}", description=description)
    p.add_argument("--quick", action="store_true", help="one short round: shows that everything runs, measures nothing")
    p.add_argument("--rounds", type=int, default=5, help="processes of each side (default 5)")
    p.add_argument("--only", default="", help="only the metrics with this text in their name")
    p.add_argument("--list", action="store_true", help="name the metrics, run nothing")
    return p.parse_args()


def main(bench, description, make_pairs):
    """make_pairs(Options) -> [Pair]."""
    a = options(bench, description)
    rounds = 1 if a.quick else a.rounds
    pairs = [p for p in make_pairs(Options(a.quick, rounds)) if any(a.only in f.metric for f in p.figures)]
    if a.list:
        print("\n".join(f.metric for p in pairs for f in p.figures))
        return
    become_oracle(f"bench {bench}")
    warn_if_busy(a.quick)
    for pair in pairs:
        for line in measure(bench, pair, rounds, a.quick):
            print(json.dumps(line), flush=True)


def measure(bench, pair, rounds, quick):
    ours, theirs = [], []
    with tempfile.TemporaryDirectory(prefix="trainctl-bench-") as folder:
        for r in range(rounds):
            # the side that starts changes, so that neither always inherits the other's caches
            sides = [(pair.trainctl, ours, "trainctl"), (pair.peer, theirs, "peer")]
            for run, figures, name in sides if r % 2 == 0 else reversed(sides):
                start = time.monotonic()
                figures.append(run(pathlib.Path(folder) / name))
                first = pair.figures[0]
                say(f"{first.metric}: round {r + 1} of {rounds}, {name}: {figures[-1].get(first.key, math.nan):.4g} "
                    f"{first.unit} ({time.monotonic() - start:.1f} s)")
    for figure in pair.figures:
        yield line_of(bench, pair.peer_name, figure, [o[figure.key] for o in ours],
                      [t[figure.key] for t in theirs if figure.key in t], quick)


def line_of(bench, peer_name, figure, ours, theirs, quick):
    trainctl = statistics.median(ours)
    peer = statistics.median(theirs) if theirs else None
    line = {"bench": bench, "metric": figure.metric, "unit": figure.unit, "trainctl": rounded(trainctl),
            "peer": rounded(peer), "peer_name": peer_name if theirs else None,
            "ratio": rounded(trainctl / peer) if theirs else None, "runs": len(ours),
            "spread": {"trainctl": span(ours), "peer": span(theirs),
                       "ratio": span(a / b for a, b in zip(ours, theirs))}}
    goals = [(figure.target, line["ratio"], "target"), (figure.target_value, trainctl, "target_value")]
    for goal, value, name in goals:
        if goal is not None and not quick:
            line[name] = goal
            line["met"] = line.get("met", True) and value <= goal
    if quick:
        line["quick"] = True    # a smoke test's figures are no measurement
    return line


def rounded(x):
    return None if x is None else float(f"{x:.4g}")


def span(values):
    values = sorted(values)
    return [rounded(values[0]), rounded(values[-1])] if values else None


def warn_if_busy(quick):
    # the last minute's average lags: watch what runs for two seconds as well
    busy = busy_share(0.2 if quick else 2.0)
    if busy > 0.1:
        say(f"WARNING: other programs use {100 * busy:.0f} % of the CPUs; these timings are not valid")
    say(f"{os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.2f}, {100 * busy:.0f} % busy before the start")


def busy_share(seconds):
    def read():
        with open("/proc/stat") as f:
            times = [int(x) for x in f.readline().split()[1:9]]
        return sum(times), times[3] + times[4]    # all, idle + waiting for disks
    total, idle = read()
    time.sleep(seconds)
    total2, idle2 = read()
    return 1 - (idle2 - idle) / max(1, total2 - total)


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)
