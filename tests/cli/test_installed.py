"""`cmake --install` gives a tree that runs from any folder, also after it was moved."""

import os
import shutil
import subprocess
import unittest

from program import LIMIT, CliTest


class Installed(CliTest):
    def test_installed_tree(self):
        prefix = self.folder / "installed"
        done = subprocess.run([os.environ["CMAKE"], "--install", os.environ["BUILD_DIR"], "--prefix", str(prefix)],
                              capture_output=True, text=True, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        moved = self.folder / "moved here"
        prefix.rename(moved)
        self.addCleanup(shutil.rmtree, moved)

        program = moved / "bin" / "trainlab"
        self.assertIn("optim.AdamW", self.run_program("help", program=program, cwd="/").out)
        work = self.folder / "work"
        work.mkdir()
        recipes = list(moved.rglob("digits.lua"))
        self.assertEqual(len(recipes), 1, "the recipes are installed, once")
        result = self.run_program(recipes[0], "--epochs", "2", "--threads", "1", "--json", program=program, cwd=work)
        self.assertEqual(result.json()["out"], str(work / "runs/digits/001"))
        self.assertEqual(result.json()["status"], "done")

        # The thin program starts in milliseconds, because few libraries are loaded.
        needed = subprocess.run(["readelf", "--dynamic", "--wide", str(program)], capture_output=True, text=True,
                                timeout=LIMIT, check=True).stdout
        for library in ("libstdc++", "libsoci", "libtorch", "libluajit"):
            self.assertNotIn(library, needed)

        # Nothing of it points back to where it was built: LibTorch comes from the installed tree.
        maps = subprocess.run(["ldd", str(moved / "libexec" / "trainlab-engine")], capture_output=True, text=True,
                              timeout=LIMIT, check=True).stdout
        libraries = [line for line in maps.splitlines() if "libtorch" in line or "libc10" in line]
        self.assertGreaterEqual(len(libraries), 2, maps)
        for line in libraries:
            self.assertIn(str(moved), line)


if __name__ == "__main__":
    unittest.main()
