"""tools/bench/run has a name for the table of verdicts; what the tables of profiles count as right and as enough."""

import contextlib
import os
import sys
import types
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.environ["SOURCE_DIR"], "tools", "bench"))
import applied  # noqa: E402
import bench  # noqa: E402
import bottlenecks  # noqa: E402
import ledger  # noqa: E402
import verdicts  # noqa: E402


@contextlib.contextmanager
def plain_stage(options, case, model, size):
    """A stage beside which nothing runs and is made."""
    yield bottlenecks.arguments(options, case, model, size=size)


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
                    "pipeline": {"limits": bottlenecks.LIMITS[case]} if case in bottlenecks.LIMITS else None}

        rows = bench.Bench(types.SimpleNamespace(data="/data/mnist", rounds=1))
        with (mock.patch.object(verdicts, "profile", profile), mock.patch.object(verdicts, "stage", plain_stage),
              mock.patch.object(verdicts.OtherWork, "__exit__", lambda self, *_: setattr(self, "share", others)),
              mock.patch("builtins.print")):
            rows.profile()
        self.assertTrue(any("/data/cifar10-jpeg.tar" in words for words in asked))
        return rows.rows[0]

    def test_the_table_of_verdicts_is_a_benchmark(self):
        row = self.table(wrong=None)
        self.assertEqual((row[1], row[3]), ("132 of 132 verdicts are right; 0 of 20 balanced stages are called "
                                            "something", "enough"))
        self.assertEqual(self.table(wrong="gemm")[3], "enough")
        self.assertIn("129 of 132", self.table(wrong="gemm")[1])

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


class Promises(unittest.TestCase):
    def test_promises_are_made_and_held(self):
        held = [("gemm", True), ("gemm", None), ("transform", None)]
        self.assertTrue(applied.is_enough(held))
        self.assertFalse(applied.is_enough([("gemm", True), ("gemm", None), ("validate", None)]))
        self.assertFalse(applied.is_enough([*held, ("gemm", False)]))
        self.assertFalse(applied.is_enough([("transform", None)]))


class Ledger(unittest.TestCase):
    def test_parts_are_compared_with_what_others_measure(self):
        profile = {"memory": {"categories": {"weights": 60, "script": 30, "program": 500}, "peak": 90,
                              "counted_peak": 100},
                   "layers": [{"forward": 1, "backward": 2}, {"forward": 3, "backward": 0}],
                   "layer_steps": {"step_seconds": 6, "plain_seconds": 5}}
        self.assertEqual(ledger.ratios_of(profile), {"categories": 0.9, "layers": 1.2})


if __name__ == "__main__":
    unittest.main()
