"""tools/bench/run has a name for the table of verdicts."""

import os
import sys
import types
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.environ["SOURCE_DIR"], "tools", "bench"))
import bench  # noqa: E402
import verdicts  # noqa: E402


class Verdicts(unittest.TestCase):
    def table(self, wrong):
        """The row of the benchmark where every fourth stage of this case gets another verdict."""
        asked = []

        def profile(_, words, *_more):
            asked.append(words)
            case = words[words.index("--case") + 1]
            expected = verdicts.CASES[case][0] if case in verdicts.CASES else "none"
            verdict = "host" if case == wrong and len(asked) % 4 == 0 else expected
            return {"verdict": "contention" if case == "none" else verdict, "otherwise": verdict, "share": 0.5}

        options = types.SimpleNamespace(data="/data/mnist", rounds=1)
        rows = bench.Bench(options)
        with mock.patch.object(verdicts, "profile", profile), mock.patch.object(verdicts, "others", mock.MagicMock()):
            with mock.patch("builtins.print"):
                rows.profile()
        self.assertTrue(any("/data/cifar10-jpeg.tar" in words for words in asked))
        return rows.rows[0]

    def test_the_table_of_verdicts_is_a_benchmark(self):
        row = self.table(wrong=None)
        self.assertEqual((row[1], row[3]), ("120 of 120 verdicts are right; 0 of 20 balanced stages are called "
                                            "something", "enough"))
        self.assertEqual(self.table(wrong="gemm")[3], "enough")
        self.assertIn("117 of 120", self.table(wrong="gemm")[1])


if __name__ == "__main__":
    unittest.main()
