"""Each function of OpenMP that LibTorch calls is the engine's own: with half of them from another runtime, threads of
a region would not know of each other."""

import os
import pathlib
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["BUILD_DIR"])


def names(path, kind):
    """OpenMP's names in the table of the dynamic linker, without their versions; `kind` is an option of nm."""
    text = subprocess.run(["nm", "-D", kind, path], capture_output=True, text=True, check=True).stdout
    words = [line.split()[-1].split("@")[0] for line in text.splitlines()]
    return {word for word in words if word.startswith(("GOMP_", "omp_", "__kmpc", "GOACC_"))}


class OpenMP(unittest.TestCase):
    def test_what_libtorch_calls_is_in_the_engine(self):
        called = names(BUILD / "lib" / "trainlab" / "libtorch_cpu.so", "--undefined-only")
        given = names(BUILD / "libexec" / "trainlab-engine", "--defined-only")
        self.assertIn("GOMP_parallel", called)
        self.assertEqual(called - given, set())


unittest.main()
