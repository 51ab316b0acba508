"""tools/bench/run has a name for the table of verdicts; what the tables of profiles count as right and as enough."""

import contextlib
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.environ["SOURCE_DIR"], "tools", "bench"))
import applied  # noqa: E402
import bench  # noqa: E402
import bottlenecks  # noqa: E402
import ledger  # noqa: E402
import programs  # noqa: E402
import verdicts  # noqa: E402


@contextlib.contextmanager
def plain_stage(options, case, model, size):
    """A stage beside which nothing runs and is made."""
    yield bottlenecks.arguments(options, case, model, size=size)


class Programs(unittest.TestCase):
    def test_a_program_that_is_not_built(self):
        with tempfile.TemporaryDirectory() as build, mock.patch.object(programs, "BUILD", build):
            with self.assertRaises(SystemExit) as ended:
                programs.bench_program("bench_ops")
            self.assertIn(f"there is no {build}/bench/bench_ops; to build it: ninja -C ", ended.exception.code)
            self.assertTrue(ended.exception.code.endswith(" benchmarks"))


class Verdicts(unittest.TestCase):
    def table(self, wrong, others=1.0):
        """The row of the benchmark where every fourth stage of this case gets another verdict, while other processes
        take this share of the cores. Balanced stages are called contention."""
        asked = []

        def profile(_, words, *_more):
            asked.append(words)
            case = words[words.index("--case") + 1]
            expected = verdicts.CASES[case][0] if case in verdicts.CASES else "none"
            verdict = "host" if case == wrong and len(asked) % 4 == 0 else expected
            return {"verdict": "contention" if case == "none" else verdict, "otherwise": verdict, "share": 0.5,
                    "pipeline": {"limits": bottlenecks.LIMITS[case], "threads": 1, "threads_needed": 2}
                    if case in bottlenecks.LIMITS else None}

        rows = bench.Bench(types.SimpleNamespace(data="/data/mnist", rounds=1))
        with (mock.patch.object(verdicts, "profile", profile), mock.patch.object(verdicts, "stage", plain_stage),
              mock.patch.object(bottlenecks, "why_no_gpu", lambda words: "there is none"),
              mock.patch.object(verdicts.OtherWork, "__exit__", lambda self, *_: setattr(self, "share", others)),
              mock.patch("builtins.print")):
            rows.profile()
        self.assertTrue(any("/data/cifar10-jpeg.tar" in words for words in asked))
        return rows.rows[0]

    def test_the_table_of_verdicts_is_a_benchmark(self):
        row = self.table(wrong=None)
        self.assertEqual((row[1], row[3]), ("177 of 177 verdicts are right; 0 of 20 balanced stages are called "
                                            "something", "enough"))
        self.assertEqual(self.table(wrong="gemm")[3], "enough")
        self.assertIn("174 of 177", self.table(wrong="gemm")[1])

    def test_contention_without_other_work_is_a_false_alarm(self):
        row = self.table(wrong=None, others=0.01)
        self.assertIn("20 of 20 balanced stages are called something", row[1])
        self.assertNotEqual(row[3], "enough")

    def test_a_verdict_without_steps_has_no_share(self):
        result = {"verdict": "capacity", "otherwise": "capacity", "share": None, "pipeline": None}
        self.assertEqual(verdicts.told(result, "capacity"), ("capacity", True))

    def test_the_stage_of_the_input_that_limits_has_to_be_right(self):
        result = {"verdict": "input", "otherwise": "input", "share": 0.5, "pipeline": {"limits": "read"}}
        self.assertEqual(verdicts.told(result, "storage"), ("input, read 50 %", True))
        self.assertEqual(verdicts.told(result, "decode"), ("**input, read** 50 %", False))
        self.assertEqual(verdicts.told({**result, "pipeline": None}, "decode"), ("**input, None** 50 %", False))


    def test_one_thread_that_is_too_few_has_to_be_told(self):
        def told(needed):
            pipeline = {"limits": "augment", "threads": 1, "threads_needed": needed}
            result = {"verdict": "input", "otherwise": "input", "share": 0.5, "pipeline": pipeline}
            return verdicts.told(result, "threads")

        self.assertEqual(told(3), ("input, augment, 3 threads 50 %", True))
        self.assertFalse(told(1)[1])

    def test_a_case_that_needs_a_gpu_is_left_out_with_the_reason(self):
        options = types.SimpleNamespace(only=None, model=None, data="/data")
        for reason in ("", "no device"):
            with mock.patch.object(bottlenecks, "why_no_gpu", lambda words: reason), mock.patch("builtins.print"):
                cases = [case for case, _ in bottlenecks.asked(options)]
            self.assertEqual("transfer" in cases, not reason)


class Promises(unittest.TestCase):
    def test_promises_are_made_and_held(self):
        held = [("gemm", "yes"), ("gemm", None), ("transform", None)]
        self.assertTrue(applied.is_enough(held))
        self.assertFalse(applied.is_enough([("gemm", "yes"), ("gemm", None), ("validate", None)]))
        self.assertFalse(applied.is_enough([*held, ("gemm", "no")]))
        self.assertFalse(applied.is_enough([*held, ("gemm", "unclear")]))
        self.assertTrue(applied.is_enough([*[("gemm", "yes")] * 4, ("gemm", "unclear")]))
        self.assertFalse(applied.is_enough([("transform", None)]))

    def test_gains_are_compared_rather_than_ratios(self):
        def held(promised, gained):
            return applied.judged(*({"median": median, "low": low, "high": high}
                                    for median, low, high in (promised, gained)))

        self.assertEqual(held((2.1, 2.0, 2.2), (2.0, 1.9, 2.1))[2], "yes")
        off, gain_off, holds = held((1.15, 1.12, 1.17), (1.30, 1.25, 1.39))  # near as ratios, and half the gain
        self.assertAlmostEqual(off, -0.115, places=3)
        self.assertAlmostEqual(gain_off, -0.5)
        self.assertEqual(holds, "no")
        self.assertEqual(held((1.04, 1.03, 1.07), (1.06, 1.04, 1.09))[2], "unclear")
        self.assertEqual(held((1.04, 1.03, 1.07), (0.99, 0.97, 1.02))[2], "no")
        self.assertEqual(held((1.04, 1.01, 1.07), (0.99, 0.97, 1.02))[2], "unclear")

    def test_the_interval_of_a_median_is_that_of_order_statistics(self):
        self.assertEqual(applied.median_interval([6, 1, 2, 3, 4, 5]), {"median": 3.5, "low": 1, "high": 6})
        self.assertEqual(applied.median_interval(range(1, 13)), {"median": 6.5, "low": 3, "high": 10})


class Ledger(unittest.TestCase):
    def test_parts_are_compared_with_what_others_measure(self):
        profile = {"memory": {"categories": {"weights": 60, "script": 30, "program": 500}, "peak": 90,
                              "counted_peak": 100},
                   "layers": [{"forward": 1, "backward": 2}, {"forward": 3, "backward": 0}],
                   "layer_steps": {"step_seconds": 6, "mean_seconds": 8},
                   "phase_seconds": {"forward": 3, "backward": 1}, "step_seconds": {"median": 2}}
        self.assertEqual(ledger.ratios_of(profile), {"categories": 0.9, "layers": 2})
        profile["layer_steps"]["mean_seconds"] = None
        self.assertEqual(ledger.ratios_of(profile), {"categories": 0.9, "layers": 3})


if __name__ == "__main__":
    unittest.main()
