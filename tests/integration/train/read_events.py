"""Prints the scalars of a TensorBoard event folder as TensorBoard's own reader sees them: `tag step value`, sorted.

Usage: read_events.py DIR
"""
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1])
events.Reload()
for tag in sorted(events.Tags()["scalars"]):
    for e in events.Scalars(tag):
        print(tag, e.step, f"{e.value:.6g}")
