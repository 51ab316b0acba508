"""A PostgreSQL server of the tests' own, from Debian's package postgresql, in a folder that goes with it.

As a program, `postgresql.py serve`, it serves tests in C++: it prints the server's URL, or nothing where PostgreSQL is
not installed; then it reads the words stop, start and restart, a line each, answers each with a line, and ends with its
standard input.
"""

import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile

PASSWORD = "geheim%"  # as a URL has it: "geheim%25"


def programs():
    """The folder with initdb and pg_ctl, of which Debian has one for each version; None where there is none."""
    found = [path.parent for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if not found or (os.geteuid() == 0 and not any(user.pw_name == "postgres" for user in pwd.getpwall())):
        return None
    return max(found)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """Runs until stop(). Unix sockets trust everybody; 127.0.0.1 wants the password."""

    def __init__(self, **settings):
        self.programs = programs()
        # A short name, because the path of a socket has at most 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pg-"))
        self.port = free_port()
        # The server refuses to run as root.
        self.user = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        (self.folder / "password").write_text(PASSWORD)
        self.run("initdb", "-D", self.folder / "data", "-U", "postgres", "-E", "UTF8", "--no-sync",
                 "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={self.folder / 'password'}")
        # Without fsync: what a loss of power does to a server is not tested here.
        everything = {"fsync": "off", "unix_socket_directories": self.folder, "listen_addresses": "127.0.0.1",
                      "port": self.port, **settings}
        with open(self.folder / "data/postgresql.conf", "a", encoding="utf-8") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in everything.items())
        self.start()

    def run(self, program, *arguments):
        done = subprocess.run([*self.user, self.programs / program, *arguments], cwd=self.folder, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stdout}")
        return done.stdout

    def control(self, *arguments):
        log = self.folder / "log"
        command = [*self.user, self.programs / "pg_ctl", "-D", self.folder / "data", "-w", "-l", log, *arguments]
        done = subprocess.run(command, cwd=self.folder, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            raise RuntimeError(f"pg_ctl failed: {log.read_text()[-2000:]}")

    def start(self):
        self.control("start")

    def stop(self, mode="fast"):
        self.control("stop", "-m", mode)

    def restart(self, mode="fast"):
        self.control("restart", "-m", mode)

    def remove(self):
        if (self.folder / "data/postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder)

    @property
    def url(self):
        return f"postgresql:///postgres?user=postgres&host={self.folder}&port={self.port}"

    @property
    def tcp_url(self):
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def sql(self, text, database=""):
        """The rows of a statement, fields between |, in the database of this URL."""
        return self.run("psql", "-X", "-q", "-A", "-t", "-d", database or self.url, "-c", text).splitlines()


def serve():
    if not programs():
        return
    server = Server()
    try:
        print(server.url, flush=True)
        for line in sys.stdin:
            getattr(server, line.strip())()
            print("done", flush=True)
    finally:
        server.remove()


if __name__ == "__main__":
    serve()
