"""The symbols of trainlab-cuda.so: all that it needs is there where the engine loads it, and nothing is there twice."""

import os
import pathlib
import subprocess
import unittest

BUILD = pathlib.Path(os.environ["BUILD_DIR"])
PLUGIN = BUILD / "libexec" / "trainlab-cuda.so"
ENGINE = BUILD / "libexec" / "trainlab-engine"


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(path, *options):
    """(type, name) of each symbol; names without their versions."""
    rows = [line.split() for line in output("nm", *options, path).splitlines()]
    return {(row[-2], row[-1].split("@")[0]) for row in rows if len(row) >= 2}


def names(path, *options):
    return {name for _, name in symbols(path, *options)}


class Plugin(unittest.TestCase):
    def test_it_exports_what_the_engine_asks_for_alone(self):
        self.assertEqual(names(PLUGIN, "-D", "--defined-only") - {"trainlab_device_plugin"}, set())

    def test_what_it_needs_of_the_engine_is_exported_by_it(self):
        needed = {name for name in names(PLUGIN, "-D", "--undefined-only") if "8trainlab" in name}
        self.assertIn("_ZN8trainlab15add_device_kindENS_10DeviceKindE", needed)
        self.assertEqual(needed - names(ENGINE, "-D", "--defined-only"), set())

    def test_all_else_is_in_the_libraries_that_the_engine_has_loaded(self):
        libraries = [BUILD / "lib" / "trainlab" / name for name in ("libtorch_cpu.so", "libc10.so", "libcudart.so.13")]
        given = set().union(*(names(library, "-D", "--defined-only") for library in libraries))
        needed = {name for name in names(PLUGIN, "-D", "--undefined-only")
                  if "8trainlab" not in name and ("3c10" in name or "2at" in name or "cuda" in name.lower())}
        self.assertIn("cudaGetDeviceCount", needed)
        self.assertEqual(needed - given, set())

    def test_it_links_nothing_of_libtorch_that_only_a_gpu_needs(self):
        needed = {line.split("[")[1].rstrip("]") for line in output("readelf", "-d", PLUGIN).splitlines()
                  if "(NEEDED)" in line}
        self.assertLessEqual({name for name in needed if name.startswith(("libtorch", "libc10", "libcu"))},
                             {"libtorch_cpu.so", "libc10.so", "libcudart.so.13"})

    def test_it_has_no_copy_of_a_function_of_the_engine(self):
        """But for those of headers, which are weak in the engine."""
        own = {name for kind, name in symbols(PLUGIN, "--defined-only") if kind in "TtDdBb" and "8trainlab" in name}
        strong = {name for kind, name in symbols(ENGINE, "--defined-only") if kind in "TDB"}
        self.assertTrue(any("4cuda8add_cuda" in name for name in own), own)
        self.assertIn("_ZNK8trainlab6Device4takeERSt6vectorIN2at6TensorESaIS3_EE", strong)
        self.assertEqual(own & strong, set())


if __name__ == "__main__":
    unittest.main()
