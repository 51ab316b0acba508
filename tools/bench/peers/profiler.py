"""A model of fit.py or gpt.py under PyTorch's own profiler, with memory, in turns with plain steps.

    profiler.py mlp_small|mnist_mlp|mnist_cnn|gpt THREADS DATA STEPS ROUNDS

Each round takes STEPS plain steps and as many profiled ones; a round before the first warms up. Prints one JSON object:
the median seconds of a plain and of a profiled step and of the quotient of both, the seconds that the profiler needs
after the steps of a round to have its table, and the seconds of a step by operator, without those of the operators that
it calls. Seconds are those of the processor but for the operators' own, so that other work on the machine does not
count. What the optimizer calls counts as "optimizer"; what the loader calls is left out, and so are the names that
autograd gives to its nodes.
"""

import collections
import itertools
import json
import statistics
import sys
import time

import fit
import gpt
import torch
from torch.profiler import ProfilerActivity, profile


def endless_steps(kind, path):
    """A function that takes the next step of the training."""
    if kind == "gpt":
        training, numbers = gpt.Training(path, 2000), itertools.count()
        return lambda: training.step(next(numbers), *training.batch())
    training = fit.Training(kind, path)
    batches = itertools.chain.from_iterable(training.loader for _ in itertools.count())
    return lambda: training.step(*next(batches))


def seconds_of(step, count):
    begin = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - begin) / count


def part_of(event):
    """The name under which an event counts; None where it is left out."""
    outer = event
    while outer is not None:
        if outer.name.startswith("Optimizer."):
            return "optimizer"
        if outer.name.startswith("enumerate(DataLoader)"):
            return None
        outer = outer.cpu_parent
    return event.name if event.name.startswith("aten::") else None


def main():
    kind, path = sys.argv[1], sys.argv[3]
    count, rounds = int(sys.argv[4]), int(sys.argv[5])
    torch.set_num_threads(int(sys.argv[2]))
    step = endless_steps(kind, path)
    plain, profiled, after, sums = [], [], [], collections.Counter()
    for number in range(rounds + 1):
        without = seconds_of(step, count)
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            within = seconds_of(step, count)
            begin = time.process_time()
        profiler.key_averages()
        table = time.process_time() - begin
        if number == 0:
            continue
        plain.append(without)
        profiled.append(within)
        after.append(table)
        for event in profiler.events():
            if name := part_of(event):
                sums[name] += event.self_cpu_time_total * 1e-6
    steps = rounds * count
    print(json.dumps({"plain_seconds": statistics.median(plain), "profiled_seconds": statistics.median(profiled),
                      "ratio": statistics.median(b / a for a, b in zip(plain, profiled)),
                      "table_seconds": statistics.median(after),
                      "operators": {name: seconds / steps for name, seconds in sums.most_common()}}))


if __name__ == "__main__":
    main()
