"""The program with engines that start in milliseconds, so that ten thousand attacks are a matter of minutes: they are
forked from one engine that has been loaded and has not begun (warm_engine.cpp). Each is a process of its own."""

import atexit
import os
import pathlib
import shutil
import subprocess
import time

SOURCE = pathlib.Path(__file__).parent / "warm_engine.cpp"


def warmed(program, place):
    """Makes the tree place/warm with such a program, and returns the program's path."""
    tree = pathlib.Path(program).resolve().parent.parent
    warm = pathlib.Path(place) / "warm"
    (warm / "bin").mkdir(parents=True)
    (warm / "libexec").mkdir()
    shutil.copy2(tree / "bin" / "trainlab", warm / "bin")
    (warm / "lib").symlink_to(tree / "lib")
    library = warm / "warm_engine.so"
    compiler = ["c++", "-std=c++20", "-O1", SOURCE, "-o"]
    subprocess.run([*compiler, warm / "libexec" / "trainlab-engine"], check=True)
    subprocess.run([*compiler, library, "-shared", "-fPIC", "-DWARM_SERVER"], check=True)
    os.environ["WARM_ENGINE"] = str(warm / "socket")
    server = subprocess.Popen([tree / "libexec" / "trainlab-engine"], env={**os.environ, "LD_PRELOAD": str(library)})
    atexit.register(server.kill)
    while not (warm / "socket").exists():
        if server.poll() is not None:
            raise SystemExit("the engine to be forked has ended")
        time.sleep(0.01)
    threads = os.listdir(f"/proc/{server.pid}/task")
    if len(threads) != 1:
        raise SystemExit(f"the engine to be forked has {len(threads)} threads before it has begun")
    return str(warm / "bin" / "trainlab")
