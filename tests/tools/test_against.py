"""tools/bench/against.py fails rows by their median, and says which rows need more rounds."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["SOURCE_DIR"], "tools", "bench"))
from against import judged  # noqa: E402 (the path must be known first)


class Judged(unittest.TestCase):
    def test_rows(self):
        for ratios, fails, marks in [
            ([0.99, 1.00, 1.01], False, ""),
            ([1.03, 1.04, 1.05], True, "  <-- above"),
            ([0.90, 1.03, 1.10], True, "  <-- above, repeat with more rounds"),
            ([0.90, 1.01, 1.10], False, "  <-- repeat with more rounds"),
            ([1.021], True, "  <-- above"),
            ([1.0], False, ""),
        ]:
            with self.subTest(ratios=ratios):
                self.assertEqual(judged(ratios, 2)[0::2], (fails, marks))

    def test_middle_half(self):
        self.assertEqual(judged([1.5, 1.1, 1.3, 1.2, 1.4, 1.6, 1.7], 2)[1], (1.2, 1.4, 1.6))


if __name__ == "__main__":
    unittest.main()
