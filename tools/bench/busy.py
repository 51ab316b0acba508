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
    """`ours` and `peer` train once and return the seconds that count; `peer` may be None. `row` takes the result."""
    sides = (ours, peer) if peer else (ours,)
    times = {(count, side): [] for count in COUNTS for side in sides}
    for i in range(rounds):
        for count in COUNTS:
            for side in sides if i % 2 == 0 else sides[::-1]:
                with busy_processes(count):
                    times[count, side].append(side())
    middle = {key: statistics.median(values) for key, values in times.items()}
    cores = len(os.sched_getaffinity(0))

    def told(count, side):
        return f"{middle[count, side]:.2f} s, {middle[count, side] / middle[0, side]:.2f} times"

    for count in COUNTS:
        aim = ALLOWED * (cores + count) / cores
        row(
            f"{what}, beside {count} busy processes",
            told(count, ours),
            f"PyTorch {told(count, peer)}" if peer else "",
            f"{middle[count, peer] / middle[count, ours]:.2f}×" if peer else "",
            f"≤ {aim:.2f} times the time alone" if count else "",
        )
