"""`cmake --install` gives a tree that runs from any folder, also after it was moved."""

import os
import pathlib
import shutil
import subprocess
import unittest

from program import LIMIT, PROGRAM, SOURCE, CliTest


class Installed(CliTest):
    def commands(self):
        lines = self.run_program("--help").out.split("Commands:\n")[1].split("\n\n")[0].splitlines()
        return [line.split()[0] for line in lines]

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

        # The manual page has all commands, and each shell finds the completion under the program's name.
        page = (moved / "share/man/man1/trainlab.1").read_text()
        for command in self.commands():
            self.assertIn(f'.SS "trainlab {command}"', page)
        self.assertNotRegex(page, r"(?m)^[.'](?!TH|SH|SS|nf$|fi$)")  # no text is taken for a request
        self.assertIn("complete -o filenames -F _trainlab trainlab",
                      (moved / "share/bash-completion/completions/trainlab").read_text())
        self.assertTrue((moved / "share/zsh/site-functions/_trainlab").read_text().startswith("#compdef trainlab\n"))

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

    def test_libtorch_of_a_python_environment(self):
        package = self.folder / "site-packages" / "trainlab"
        program, engine = package / "bin" / "trainlab", package / "libexec" / "trainlab-engine"
        for path in (program, engine):
            path.parent.mkdir(parents=True)
        shutil.copy(PROGRAM, program)
        recipe = SOURCE / "recipes" / "digits.lua"
        error = self.run_program(recipe, program=program, code=2).err
        self.assertIn(f"the installation is incomplete: there is no program {engine}", error)
        engine.write_text("#!/bin/sh\n")
        engine.chmod(0o755)
        error = self.run_program(recipe, program=program, code=2).err
        self.assertIn(f"there is no {package}/lib/trainlab/libtorch_cpu.so", error)

        (package / "__init__.py").touch()
        torch = self.folder / "site-packages" / "torch"
        error = self.run_program(recipe, program=program, code=2).err
        self.assertIn(f"expected the Python package torch 2.11 in {torch}, found none", error)
        self.assertIn("pip install", error)
        (torch / "lib").mkdir(parents=True)
        (torch / "lib" / "libtorch_cpu.so").touch()
        (torch / "version.py").write_text("__version__ = '2.12.1+cu130'\n")
        error = self.run_program(recipe, program=program, code=2).err
        self.assertIn("found 2.12.1+cu130", error)
        (torch / "version.py").write_text("__version__ = '2.11.0'\n")
        # The loader's exit code for a library in which it misses a version of a symbol.
        engine.write_text("#!/bin/sh\nexit 1\n")
        error = self.run_program(recipe, program=program, code=2).err
        self.assertIn("the engine cannot be loaded (the system says why above)", error)
        self.assertIn("a library is missing or of another version", error)
        # The engine of this tree looks for LibTorch in the tree alone: what the system says stands above the error.
        shutil.copy(pathlib.Path(PROGRAM).parents[1] / "libexec" / "trainlab-engine", engine)
        error = self.run_program(recipe, program=program, code=2).err
        self.assertIn("the engine cannot be loaded", error)
        self.assertIn("libtorch_cpu.so", error)


if __name__ == "__main__":
    unittest.main()
