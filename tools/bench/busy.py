"""Training beside other programs that compute: what a fit takes while 0 to 3 busy processes share the cores with it."""

import contextlib
import os
import statistics
import subprocess
import sys

COUNTS = (0, 1, 2, 3)
# Times the fair share: with k busy processes on n cores a fit on n threads may take (n + k) / n times as long as alone.
ALLOWED = 1.5


class OtherWork:
    """A context that measures how much of the cores' time the work of others takes meanwhile: `share`, from 0 to 1.
    The work of this process and of the processes that it has waited for does not count."""

    QUIET = 0.05  # a machine on which others take less is not busy

    def __enter__(self):
        self.share = 0
        self.before = self.times()
        return self

    def __exit__(self, *_):
        busy, idle, own = (now - before for now, before in zip(self.times(), self.before))
        self.share = max(busy - own, 0) / (busy + idle) if busy + idle > 0 else 0

    @staticmethod
    def times():
        """Seconds of all cores that were busy, and that were idle, and those of the own processes."""
        with open("/proc/stat") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        idle = ticks[3] + ticks[4]  # waiting for a disk included
        second, own = os.sysconf("SC_CLK_TCK"), os.times()
        return (sum(ticks) - idle) / second, idle / second, sum(own[:4])


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
