"""Training beside other programs that compute: what a fit takes while 0 to 3 busy processes share the cores with it."""

import contextlib
import os
import statistics
import subprocess
import sys

COUNTS = (0, 1, 2, 3)
# Times the fair share: with k busy processes on n cores a fit on n threads may take (n + k) / n times as long as alone.
ALLOWED = 1.5


@contextlib.contextmanager
def busy_processes(count):
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def measure(row, what, ours, peer, rounds):
    """`ours` and `peer` train once and return the seconds from the first batch to the end; `row` takes the result."""
    times = {(count, side): [] for count in COUNTS for side in (0, 1)}
    for i in range(rounds):
        for count in COUNTS:
            for side in (0, 1) if i % 2 == 0 else (1, 0):
                with busy_processes(count):
                    times[count, side].append((ours, peer)[side]())
    middle = {key: statistics.median(values) for key, values in times.items()}
    cores = len(os.sched_getaffinity(0))
    for count in COUNTS:
        slower = [middle[count, side] / middle[0, side] for side in (0, 1)]
        aim = ALLOWED * (cores + count) / cores
        row(
            f"{what}, beside {count} busy processes",
            f"{middle[count, 0]:.2f} s, {slower[0]:.2f} times",
            f"PyTorch {middle[count, 1]:.2f} s, {slower[1]:.2f} times",
            f"{middle[count, 1] / middle[count, 0]:.2f}×",
            f"≤ {aim:.2f} times the time alone" if count else "",
        )
