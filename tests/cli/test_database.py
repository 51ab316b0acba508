"""Studies in PostgreSQL: the same trials as in a file, whatever happens to processes and server; `trainlab worker
--study`; what is wrong is told in one message, without the password."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest
from unittest import mock

import postgresql
from program import CliTest
from sweeping import HALVING, reports, sweep, trials
from sweeping import SLOW as SLOW_FITS

SERVER = None
# One trial after the other, so that some have ended when others have not begun.
SLOW = {**SLOW_FITS, "more": "stack = false,"}
STUDY = """local study = lab.study {
  space = { x = lab.space.uniform(0, 1) }, sampler = lab.sampler.random(), %s
}
%s
print("trials", #study, study.best and study.best.value)
"""
LOOP = """for _ = 1, 5 do
  local trial = study:ask()
  study:tell(trial, trial.params.x)
end"""


def setUpModule():
    global SERVER
    if not postgresql.programs():
        raise unittest.SkipTest("PostgreSQL is not installed: apt-get install postgresql")
    SERVER = postgresql.Server()
    unittest.addModuleCleanup(SERVER.remove)


def in_environment(url):
    return mock.patch.dict(os.environ, {"TRAINLAB_STORAGE": url})


class DatabaseTest(CliTest):
    def setUp(self):
        super().setUp()
        SERVER.sql("DROP DATABASE IF EXISTS lab WITH (FORCE)")
        SERVER.sql("CREATE DATABASE lab")
        self.url = SERVER.url.replace("///postgres?", "///lab?")
        self.tcp_url = SERVER.tcp_url.replace("/postgres", "/lab").replace("//lab@", "//postgres@")

    def sql(self, text):
        return SERVER.sql(text, self.url)

    def studies(self):
        return self.sql("SELECT schemaname FROM pg_tables WHERE tablename = 'study' ORDER BY 1")

    def file_study(self, **options):
        """The trials of the same sweep in a file."""
        self.write("file.lua", sweep(**options))
        self.train("--out", "file", recipe="file.lua")
        return trials(self.folder / "file")

    def written(self):
        """All that runs have left here, as bytes."""
        return b"".join(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())


class SameTrials(DatabaseTest):
    def test_a_sweep(self):
        expected = self.file_study()
        self.write("r.lua", sweep(more=f'storage = "{self.url}", workers = 3,'))
        self.train("--out", "run")
        self.assertEqual(trials(self.folder / "run"), expected)
        self.assertEqual(self.studies(), ["s/001"])
        self.assertEqual(json.loads((self.folder / "run/database.json").read_text()),
                         {"study": "s/001", "url": self.url})
        rows = self.run_program("report", "run", "--csv").out
        shown = [line.split(",")[:5] for line in rows.splitlines()]
        others = [line.split(",")[:5] for line in self.run_program("report", "file", "--csv").out.splitlines()]
        self.assertEqual(shown, others)
        self.run_program("extend", "run", "--trials", "16")
        self.run_program("extend", "file", "--trials", "16")
        self.assertEqual(trials(self.folder / "run"), trials(self.folder / "file"))
        self.assertEqual(reports(self.folder / "run"), reports(self.folder / "file"))
        self.train("--out", "again")
        self.assertEqual(self.studies(), ["s/001", "s/002"])

    def test_a_sweep_by_the_environment_and_its_ensemble(self):
        text = sweep(run="local found = lab.run(", more="}) return lab.ensemble { name = 'e', from = found, keep = 2, "
                     "metric = 'val.loss', build = build").replace("lab.run( lab", "lab.run(lab")
        self.write("r.lua", text)
        self.train("--out", "file")
        with in_environment(self.url):
            self.train("--out", "run")
        self.assertEqual(self.summary(self.folder / "run")["ensemble"], self.summary(self.folder / "file")["ensemble"])
        self.assertEqual(self.studies(), ["s/001"])

    def test_halving(self):
        self.write("r.lua", sweep(**HALVING))
        self.train("--out", "file")
        with in_environment(self.url):
            self.train("--out", "run", "--workers", "2")
        self.assertEqual(trials(self.folder / "run"), trials(self.folder / "file"))

    def test_a_run_keeps_its_study_where_it_began(self):
        """TRAINLAB_STORAGE set or gone later changes nothing."""
        self.write("r.lua", sweep(**SLOW))
        running = self.start("r.lua", "--threads", "1", "--out", "file")
        running.until_said("s: ")
        running.send(signal.SIGINT)
        self.end(running, 130)
        with in_environment(self.url):
            self.run_program("resume", "file")
            self.assertEqual(self.studies(), [])
            running = self.start("r.lua", "--threads", "1", "--out", "run")
            running.until_said("s: ")
            running.send(signal.SIGINT)
            self.end(running, 130)
        self.run_program("resume", "run")
        self.assertEqual(trials(self.folder / "run"), trials(self.folder / "file"))
        self.assertEqual(self.studies(), ["s/001"])


class ServerThatGoes(DatabaseTest):
    def start_slow(self, *arguments):
        self.write("r.lua", sweep(**SLOW))
        with in_environment(self.url):
            running = self.start("r.lua", "--threads", "1", "--out", "run", *arguments)
        self.addCleanup(self.bring_back)
        running.until_said("s: ")
        return running

    @staticmethod
    def bring_back():
        if not (SERVER.folder / "data/postmaster.pid").exists():
            SERVER.start()

    def test_a_restart_changes_nothing(self):
        running = self.start_slow("--workers", "2")
        SERVER.restart()
        running.until_said("is there again")
        SERVER.restart("immediate")
        self.end(running, 0)
        self.assertEqual(trials(self.folder / "run"), self.file_study(**SLOW))
        self.assertEqual(self.sql('SELECT COUNT(*) FROM "s/001".trials WHERE attempt > 1'), ["0"])

    def test_an_interrupted_wait_is_resumed(self):
        running = self.start_slow()
        SERVER.stop()
        running.until_said("trying again for 120 s")
        running.send(signal.SIGINT)
        result = self.end(running, 130)
        self.assert_said(result, "study s/001: ", "trainlab resume")
        self.assert_status(self.folder / "run", "interrupted")
        again = self.start("resume", "run")
        again.until_said("trying again for 120 s")
        SERVER.start()
        self.end(again, 0)
        self.assertEqual(trials(self.folder / "run"), self.file_study(**SLOW))

    def test_a_server_that_refuses_when_it_is_back(self):
        self.write("r.lua", sweep(**SLOW))
        self.addCleanup(self.sql, f"ALTER ROLE postgres PASSWORD '{postgresql.PASSWORD}'")
        with in_environment(self.tcp_url), mock.patch.dict(os.environ, {"PGPASSWORD": postgresql.PASSWORD}):
            running = self.start("r.lua", "--threads", "1", "--out", "run")
        running.until_said("s: ")
        self.sql("ALTER ROLE postgres PASSWORD 'other'")
        SERVER.restart()
        running.until_said("password authentication failed")
        self.sql(f"ALTER ROLE postgres PASSWORD '{postgresql.PASSWORD}'")
        running.until_said("is there again")
        result = self.end(running, 0)
        self.assertEqual(result.err.count("password authentication failed"), 1, result)
        self.assertEqual(trials(self.folder / "run"), self.file_study(**SLOW))

    def test_away_at_the_start(self):
        self.write("r.lua", sweep())
        self.addCleanup(self.bring_back)
        SERVER.stop()
        with in_environment(self.url):
            result = self.train("--out", "run", code=3)
        self.assert_said(result, "connection to server", "hint: ")
        SERVER.start()
        with in_environment(self.url):
            self.run_program("resume", "run")
        self.assertEqual(trials(self.folder / "run"), self.file_study())


class Refusals(DatabaseTest):
    def refuse(self, storage, *texts):
        self.write("r.lua", sweep(more=f'storage = "{storage}",'))
        for command in (("check", "r.lua"), ("r.lua", "--out", "run")):
            result = self.run_program(*command, code=1)
            self.assert_said(result, "r.lua:", "storage: expected a URL", *texts)
            self.assertNotIn("geheim", result.err, result)
        self.assertFalse((self.folder / "run").exists())

    def test_urls(self):
        self.refuse("mysql://db/lab", 'found "mysql://db/lab"', "PostgreSQL")
        self.refuse("search.db", 'found "search.db"')
        self.refuse("postgresql://db:port/lab", "its port")
        self.refuse("postgresql://me:geheim@db/lab", "without a password", "PGPASSWORD", "TRAINLAB_STORAGE")
        self.refuse("postgresql://db/lab?password=geheim", "without a password")
        self.refuse("mysql://me:geheim@db/lab", "mysql://…")
        self.write("r.lua", sweep())
        with in_environment("mysql://me:geheim@db/lab"):
            result = self.train("--out", "run", code=2)
        self.assert_message(result, 'trainlab: TRAINLAB_STORAGE: expected a URL postgresql://USER@HOST/DATABASE, found '
                                    '"mysql://…": studies lie in PostgreSQL or in a file')

    def test_passwords(self):
        self.write("r.lua", sweep())
        right, wrong = (self.tcp_url.replace("postgres@", f"postgres:{word}@") for word in ("geheim%25", "falsch"))
        with in_environment(wrong):
            result = self.train("--out", "wrong", code=3)
        self.assert_said(result, "password authentication failed", "hint: the password comes from PGPASSWORD")
        self.assertNotIn("falsch", result.err)
        with in_environment(self.tcp_url):
            self.assert_said(self.train("--out", "none", code=3), "no password supplied", "hint: ")
            with mock.patch.dict(os.environ, {"PGPASSWORD": postgresql.PASSWORD}):
                self.train("--out", "other")
        with in_environment(right):
            result = self.train("--out", "run")
            self.assertNotIn("geheim", result.err + result.out)
        self.assertEqual(trials(self.folder / "run"), trials(self.folder / "other"))
        for word in (b"geheim", b"falsch"):
            self.assertNotIn(word, self.written())

    def test_rights(self):
        self.write("r.lua", sweep())
        self.sql("DROP ROLE IF EXISTS reader")
        self.sql("CREATE ROLE reader LOGIN")
        with in_environment(self.url.replace("user=postgres", "user=reader")):
            result = self.train("--out", "run", code=3)
        self.assert_said(result, "permission denied for database lab", "hint: ", "GRANT CREATE ON DATABASE")
        self.sql("ALTER DATABASE lab SET default_transaction_read_only TO on")
        with in_environment(self.url):
            result = self.train("--out", "read-only", code=3)
        self.assert_said(result, "read-only transaction", "hint: ")

    def test_another_version_and_a_study_that_is_gone(self):
        self.write("r.lua", sweep(more='trials = 12, max_failures = 1,', trials=""))
        with in_environment(self.url):
            self.train("--out", "run")
            self.sql('UPDATE "s/001".format SET version = 99')
            result = self.run_program("extend", "run", "--trials", "16", code=2)
            self.assert_said(result, "study s/001: written by a newer trainlab (schema 99, this one knows 2)")
            kept = trials(self.folder / "run")
            self.sql('DROP SCHEMA "s/001" CASCADE')
            result = self.run_program("extend", "run", "--trials", "16", code=2)
            self.assert_said(result, "study s/001: the study is gone", "hint: ", "study.db")
        self.assertEqual(trials(self.folder / "run"), kept)
        self.run_program("report", "run")

    def test_a_library_that_is_missing(self):
        library = next(pathlib.Path("/usr/lib").glob("*/libsoci_postgresql.so.4.0.*"), None)
        if os.geteuid() != 0 or not library:
            self.skipTest("only root can hide a library")
        self.write("r.lua", sweep())
        hidden = ["unshare", "--mount", "sh", "-c", f'mount --bind /dev/null {library} && exec "$@"', "sh"]
        with in_environment(self.url):
            result = self.train("--out", "run", code=2, before=hidden)
        self.assert_said(result, "needs SOCI's library", "hint: ", "apt-get install libsoci-postgresql4.0")
        self.train("--out", "file", before=hidden)

    def test_tls(self):
        if not shutil.which("openssl"):
            self.skipTest("there is no openssl to make a certificate")
        server = postgresql.Server()
        self.addCleanup(server.remove)
        subprocess.run(["openssl", "req", "-new", "-x509", "-nodes", "-subj", "/CN=localhost", "-days", "2",
                        "-out", "server.crt", "-keyout", "server.key"],
                       cwd=server.folder / "data", check=True, capture_output=True)
        certificate = self.write("root.crt", (server.folder / "data/server.crt").read_bytes())
        if os.geteuid() == 0:
            for name in ("server.crt", "server.key"):
                shutil.chown(server.folder / "data" / name, "postgres", "postgres")
        url = f"postgresql://postgres@localhost:{server.port}/postgres?sslmode=verify-full&hostaddr=127.0.0.1"
        self.write("r.lua", sweep())
        with mock.patch.dict(os.environ, {"PGPASSWORD": postgresql.PASSWORD}):
            with in_environment(f"{url}&sslrootcert={certificate}"):
                self.assert_said(self.train("--out", "none", code=3), "server does not support SSL")
                server.sql("ALTER SYSTEM SET ssl TO on")
                server.sql("SELECT pg_reload_conf()")
                self.train("--out", "run")
            with in_environment(url + "&sslrootcert=/nowhere"):
                self.assert_said(self.train("--out", "other", code=3), "root certificate", "hint: ")


class Studies(DatabaseTest):
    def test_a_study_by_hand(self):
        self.write("s.lua", STUDY % (f'storage = "{self.url}", name = "mine"', LOOP))
        for count in (5, 10):
            self.assert_said(self.run_program("s.lua"), f"trials\t{count}\t")
        self.write("t.lua", STUDY % ('name = "mine"', LOOP))
        with in_environment(self.url):
            self.assert_said(self.run_program("t.lua"), "trials\t15\t")
            self.assert_said(self.run_program("t.lua", "--seed", "3"), "trials\t20\t")
            self.write("t.lua", (STUDY % ('name = "mine"', LOOP)).replace("uniform(0, 1)", "uniform(0, 2)"))
            self.assert_said(self.run_program("t.lua", code=1), "name: ", "holds a study with another space")
        self.write("memory.lua", STUDY % ("", LOOP))
        with in_environment(self.url):
            self.run_program("memory.lua")
        self.assertEqual(self.studies(), ["mine"])

    def test_options_that_contradict_each_other(self):
        for options, text in (
                (f'file = "s.db", storage = "{self.url}"', "storage: goes with a study in a database"),
                ('file = "s.db", name = "mine"', "name: goes with a study in a database"),
                (f'storage = "{self.url}"', "name: missing"),
                ('name = "mine"', "storage: missing"),
                (f'storage = "{self.url}", name = "a/b"', "name: expected at most 63 letters")):
            self.write("s.lua", STUDY % (options, LOOP))
            self.assert_said(self.run_program("s.lua", code=1), "s.lua:1", text)
        self.assertFalse((self.folder / "s.db").exists())


class Workers(DatabaseTest):
    def start_main(self, workers=(), **options):
        """The run, after workers that wait for it, and these workers."""
        self.write("r.lua", sweep(**{**SLOW, **options}))
        waiting = [self.start("worker", "--study", self.url, "r.lua", "--threads", "1", "--out", *words)
                   for words in workers]
        for worker in waiting:
            worker.until_said("waiting for one for 120 s")
        with in_environment(self.url):
            main = self.start("r.lua", "--threads", "1", "--out", "main")
        for worker in waiting:
            worker.until_said("helps with study s/001")
        return main, *waiting

    def test_a_worker_helps_in_a_run_of_its_own(self):
        for running in self.start_main([["w1"], ["w2"]]):
            self.end(running, 0)
        expected = self.file_study(**SLOW)
        for name in ("main", "w1", "w2"):
            self.assertEqual(trials(self.folder / name), expected)
            self.assertEqual(self.summary(self.folder / name)["best"], self.summary(self.folder / "file")["best"])
        own = {name: {path.parent.name for path in (self.folder / name).glob("trials/*/seed-1")}
               for name in ("main", "w1", "w2")}
        self.assertEqual(sorted(trial for each in own.values() for trial in each), [f"{t:04}" for t in range(12)])
        self.assertEqual(self.sql('SELECT COUNT(*) FROM "s/001".trials WHERE attempt > 1'), ["0"])
        self.run_program("report", "w1")

    def test_the_first_process_may_die(self):
        main, worker = self.start_main([["w"]])
        main.kill()
        self.end(worker, 0)
        with in_environment(self.url):
            self.run_program("resume", "main")
        expected = self.file_study(**SLOW)
        for name in ("main", "w"):
            self.assertEqual(trials(self.folder / name), expected)

    def ended(self):
        return int(self.sql('SELECT COUNT(*) FROM "s/001".trials WHERE state = \'complete\'')[0])

    def test_kills_and_a_restart(self):
        """The short form of tests/torture/run database."""
        options = {"trials": "trials = 24,"}
        names = ("main", "w1", "w2", "w3")
        running = dict(zip(names, self.start_main([[name] for name in names[1:]], **options)))
        for count, victim in ((2, "w1"), (4, "main"), (8, "w2")):
            running["w3"].until(lambda least=count: self.ended() >= least, f"{count} trials ended")
            running[victim].kill()
            if victim == "main":
                SERVER.restart("immediate")
            with in_environment(self.url):
                running[victim] = self.start("resume", victim)
        for process in running.values():
            self.end(process, 0)
        expected = self.file_study(**SLOW, **options)
        for name in running:
            self.assertEqual(trials(self.folder / name), expected)

    def test_a_worker_is_stopped_and_resumed(self):
        main, worker = self.start_main([["w", "--workers", "2"]])
        worker.send(signal.SIGINT)
        self.end(worker, 130)
        again = self.start("resume", "w")
        self.end(again, 0)
        self.end(main, 0)
        self.assertEqual(trials(self.folder / "w"), self.file_study(**SLOW))
        self.assertEqual(trials(self.folder / "main"), trials(self.folder / "file"))

    def test_only_the_same_recipe_is_helped(self):
        main, = self.start_main(trials="trials = 1000,")
        main.until(self.studies, "it made a study")
        worker = self.start("worker", "--study", self.url, "r.lua", "--seed", "7", "--out", "w")
        worker.until_said("waiting for one for 120 s")
        worker.send(signal.SIGINT)
        self.assert_said(self.end(worker, 130), 'no unfinished study of stage "s"', "s/001",
                         "--seed: recorded 1, now 7")
        main.kill()

    def test_a_worker_that_sees_the_folder(self):
        options = {**SLOW, **HALVING, "epochs": "18"}
        main, = self.start_main(**options)
        main.until(self.studies, "it made a study")
        with in_environment(self.url):
            worker = self.start("worker", "main")
        self.end(main, 0)
        self.end(worker, 0)
        self.assertEqual(trials(self.folder / "main"), self.file_study(**options))

    def test_stages_that_need_files(self):
        self.write("r.lua", sweep(**HALVING))
        result = self.run_program("worker", "--study", self.url, "r.lua", code=2)
        self.assert_said(result, 'found sweep "s": trials of scheduler.halving go on from the checkpoints of other '
                         "trials", "hint: ", "trainlab worker RUN")
        self.recipe("f.lua")
        result = self.run_program("worker", "--study", self.url, "f.lua", code=2)
        self.assert_said(result, 'found fit "f": one process trains it')
        for url, text in (("mysql://db/lab", "--study: expected a URL"),
                          ("postgresql://me:geheim@db/lab", "--study: expected a URL without a password")):
            result = self.run_program("worker", "--study", url, "r.lua", code=2)
            self.assert_said(result, text)
            self.assertNotIn("geheim", result.err)
        self.assert_said(self.run_program("worker", "r.lua", "--seed", "3", code=2), "--seed means nothing")


if __name__ == "__main__":
    unittest.main()
