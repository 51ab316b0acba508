"""trainlab: machine-learning experiments as short Lua recipes, run by a native engine.

The package holds the program; `python -m trainlab` and the command `trainlab` start it. There are no Python bindings.
"""

import pathlib

# The program, for subprocess.run([trainlab.PROGRAM, "recipe.lua", "--json"]).
PROGRAM = str(pathlib.Path(__file__).parent / "bin" / "trainlab")
