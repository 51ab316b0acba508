"""Budgets of FLOPs and of money: recipes of several stages that share them, also when they are killed and resumed."""

import signal
import unittest

from browser import NODE, shown_by_scripts
from program import CliTest, fit, tensors
from test_budget import MEMBER, SEARCH
from test_schedulers import segments
from sweeping import until_rows


FINAL = "return build { lr = 0.1 }\n"
PRICES = """[mine]
price = "3600 EUR/h"
as_of = "2026-11-01"
"""


class Spending(CliTest):
    def flops_of_epoch(self):
        """Those of the fit `build`, whose epochs have 4 steps: 3 of 16 samples and one of 12."""
        self.write("r.lua", MEMBER.replace("epochs = 1000000", "epochs = 1").replace("500 epochs", "1 epochs") + FINAL)
        self.train("--out", "epoch")
        return self.summary(self.folder / "epoch")["flops"]

    def test_a_fit_ends_with_the_last_step_that_fits(self):
        epoch = self.flops_of_epoch()
        # 10 epochs, and 2.5 of the 3 steps of 16 samples.
        limit = epoch * (10 + 2.5 * 16 / 60)
        self.write("r.lua", f"lab.budget {{ flops = {limit} }}\n" + MEMBER.replace("500", "3") + FINAL)
        result = self.train("--out", "whole")
        self.assertIn("FLOPs", result.out)
        summary = self.summary(self.folder / "whole")
        self.assertEqual((summary["status"], summary["reason"]), ("stopped", "the budget of FLOPs is used"))
        self.assertEqual(summary["steps"], 42)
        self.assertEqual(summary["budget"]["flops"], {"limit": limit, "used": epoch * (10 + 32 / 60)})
        self.assertEqual(summary["flops"], summary["budget"]["flops"]["used"])
        self.assertNotIn("seconds", summary["budget"])

    @unittest.skipUnless(NODE, "needs node")
    def test_the_page_of_a_fit_that_was_stopped(self):
        """What was used of the budget, and where training on would have led, with its interval."""
        epoch = self.flops_of_epoch()
        self.write("r.lua", f"lab.budget {{ flops = {epoch * 10} }}\n"
                   + MEMBER.replace("epochs = 1000000", "epochs = 40").replace("500", "1") + FINAL)
        self.train("--out", "run")
        self.run_program("report", "run", "--html", "p.html")
        page, summary = shown_by_scripts(self, self.folder / "p.html"), self.summary(self.folder / "run")
        self.assertIn(f"{epoch * 10:.0f} of {epoch * 10:.0f}", page["texts"])
        forecast = summary["forecast"]
        self.assertEqual(forecast["at"], 160)
        loss = next(chart for chart in page["charts"] if chart["title"] == "loss")
        sets = {one["label"]: one["data"] for one in loss["sets"]}
        self.assertEqual(sets["forecast"], [sets["val.loss"][-1], {"x": 160, "y": forecast["value"]}])
        self.assertEqual(sets["80 % of trainings"], [{"x": 160, "y": forecast[end]} for end in ("low", "high")])

    def test_kills_change_nothing(self):
        """A step that a kill has lost, and that is taken again, counts once: the run ends in the same bytes."""
        epoch = self.flops_of_epoch()
        self.write("r.lua", f"lab.budget {{ flops = {epoch * 3000} }}\n" + MEMBER.replace("500", "100") + FINAL)
        self.train("--out", "whole")
        self.assertEqual(self.summary(self.folder / "whole")["steps"], 12000)
        for rows in (2, 6):
            running = self.start("r.lua", "--out", "cut")
            running.until_rows(self.folder / "cut", rows)
            running.send(signal.SIGKILL)
            running.end()
        self.run_program("resume", "cut", "--quiet")
        whole, cut = self.summary(self.folder / "whole"), self.summary(self.folder / "cut")
        self.assertEqual(cut["budget"]["flops"], whole["budget"]["flops"])
        for path in sorted((self.folder / "whole/checkpoints").glob("*.safetensors")):
            self.assertEqual(tensors(self.folder / "cut/checkpoints" / path.name), tensors(path), path.name)

    def test_stages_share(self):
        """A search has two thirds, in which no trial begins that would not fit, and the fit after it what is left."""
        epoch = self.flops_of_epoch()
        self.write("r.lua", f"lab.budget {{ flops = {epoch * 100} }}\n"
                   + MEMBER.replace("epochs = 1000000", "epochs = 10").replace("500 epochs", "5 epochs") + SEARCH
                   + "return build { lr = found.best.params.lr }\n".replace("build", "build_long")
                   .replace("return", "local build_long = function(hp) local f = build(hp); f.epochs = 1000000; "
                                      "return f end\nreturn"))
        for workers in ("1", "2"):
            self.train("--out", f"run{workers}", "--workers", workers)
            run = self.folder / f"run{workers}"
            search, summary = self.summary(run / "stages/search"), self.summary(run)
            self.assertEqual(search["reason"], "the budget of FLOPs is used")
            complete = search["trials"]["complete"]
            # 6 of 10 epochs fit into 66.7; beside the trial of another process only what is left then is known.
            self.assertIn(complete, (6,) if workers == "1" else (5, 6))
            self.assertAlmostEqual(search["flops"], complete * 10 * epoch, delta=1)
            self.assertAlmostEqual(summary["flops"], (100 - complete * 10) * epoch, delta=epoch)
            self.assertLessEqual(summary["budget"]["flops"]["used"], 100 * epoch)
            self.assertEqual(summary["reason"], "the budget of FLOPs is used")

    def test_a_scheduler_counts_what_it_trains(self):
        """A trial that continues another one has used what it has trained itself."""
        epoch = self.flops_of_epoch()
        self.write("r.lua", f"lab.budget {{ flops = {epoch * 1000} }}\n"
                   + MEMBER.replace("epochs = 1000000", "epochs = 4").replace("500 epochs", "1 epochs")
                   + SEARCH.replace("trials = 100000", "trials = 7, scheduler = lab.scheduler.halving { "
                                    "configurations = 4, reduction = 2 }") + "return nil\n")
        self.train("--out", "run")
        summary = self.summary(self.folder / "run")
        # 4 of 1, 2 that go on to 2, and one that goes on to 4.
        self.assertAlmostEqual(summary["flops"], (4 + 2 + 2) * epoch, delta=1)
        self.assertEqual(summary["status"], "done")

    def test_a_trial_of_a_scheduler_that_is_cut_short(self):
        """It is as long as it has trained, also where trials are compared."""
        epoch = self.flops_of_epoch()
        for left, until in ((1.5, 2), (2.5, 3)):
            self.write("r.lua", f"lab.budget {{ flops = {epoch * (4 + left)} }}\n"
                       + MEMBER.replace("epochs = 1000000", "epochs = 4").replace("500 epochs", "1 epochs")
                       + SEARCH.replace("trials = 100000", "trials = 5, scheduler = lab.scheduler.halving { "
                                        "configurations = 4, min = 1, reduction = 4 }")
                       .replace("local found = lab.run(", "return ("))
            result = self.train("--out", f"run{until}")
            self.assertIn("trial 4 was cut short", result.err)
            run = self.folder / f"run{until}"
            self.assertEqual([one for _, one, _ in segments(run)], [1, 1, 1, 1, until])
            self.assertEqual(self.summary(run)["best"]["trial"], 4)

    def of_lengths(self, limit, epochs, trials):
        """A search whose trials have these numbers of epochs, in this order."""
        numbers = ", ".join(map(str, epochs))
        self.write("r.lua", f"lab.budget {{ flops = {limit} }}\n"
                   + MEMBER.replace("epochs = 1000000", f"epochs = ({{ {numbers} }})[hp.trial + 1] or 1")
                   .replace("500 epochs", f"{max(1, max(epochs) // 40)} epochs")
                   + SEARCH.replace("trials = 100000", f"trials = {trials}")
                   .replace("local found = lab.run(", "return ("))

    def used_epochs(self, run, epoch):
        trials = [self.summary(path.parent) for path in sorted((run / "trials").glob("*/seed-1/summary.json"))]
        return [round(one["flops"] / epoch, 3) for one in trials]

    def test_trials_of_different_cost_are_whole(self):
        """No trial is cut short while there is enough for it, whatever the ones before it have used."""
        epoch = self.flops_of_epoch()
        self.of_lengths(epoch * 60, (1, 6, 20, 2, 6, 2), 6)
        for workers in ("1", "2"):
            self.train("--out", f"run{workers}", "--workers", workers)
            run = self.folder / f"run{workers}"
            self.assertEqual(self.used_epochs(run, epoch), [1, 6, 20, 2, 6, 2])
            self.assertEqual(self.summary(run)["status"], "done")
            self.assertNotIn("warnings", self.summary(run))

    def test_a_trial_that_is_cut_short_is_told(self):
        epoch = self.flops_of_epoch()
        self.of_lengths(epoch * 10, (1, 2, 20), 100)
        self.train("--out", "run")
        summary = self.summary(self.folder / "run")
        self.assertEqual(self.used_epochs(self.folder / "run", epoch), [1, 2, 7])
        self.assertEqual((summary["status"], summary["reason"]), ("stopped", "the budget of FLOPs is used"))
        self.assertEqual(summary["warnings"], [
            f"trial 2 was cut short: {epoch * 7:.0f} of its {epoch * 20:.0f} FLOPs were left of the budget"])

    def test_kills_change_no_trial(self):
        """Trials of different cost, of which the last is cut short, have the same lengths after kills, also of two
        workers at once: what a trial has used counts once, in the budget too."""
        epoch = self.flops_of_epoch()
        limit = epoch * 10200
        self.of_lengths(limit, (100, 600, 600, 600, 2000, 3000, 4000), 100)
        self.train("--out", "whole")
        whole = self.summary(self.folder / "whole")
        lengths = self.used_epochs(self.folder / "whole", epoch)
        self.assertEqual(lengths, [100, 600, 600, 600, 2000, 3000, 3300])
        for workers in ("1", "2"):
            run = self.folder / f"cut{workers}"
            for trial in (2, 4, 5):
                running = self.start("r.lua", "--out", run, "--threads", "1", "--workers", workers)
                until_rows(running, run, trial, 3)
                running.kill()
            self.run_program("resume", run, "--quiet", "--workers", workers)
            cut = self.summary(run)
            self.assertEqual(self.used_epochs(run, epoch), lengths)
            self.assertEqual(cut["budget"]["flops"], {"limit": limit, "used": sum(lengths) * epoch})
            for key in ("best", "trials", "warnings", "reason", "flops"):
                self.assertEqual(cut[key], whole[key], key)

    def test_no_extension_without_flops(self):
        epoch = self.flops_of_epoch()
        self.write("r.lua", f"lab.budget {{ flops = {epoch * 2.1} }}\n"
                   + MEMBER.replace("epochs = 1000000", "epochs = 4").replace("500 epochs", "1 epochs") + FINAL)
        self.train("--out", "run")
        before = self.summary(self.folder / "run")
        self.assertEqual(before["reason"], "the budget of FLOPs is used")
        result = self.run_program("extend", "run", "--epochs", "8", code=2)
        self.assertIn(f"the run has used {epoch * 2:.0f} FLOPs of its budget of {epoch * 2.1:.0f}: nothing is left for "
                      "stage member", result.err.replace(f"{epoch * 2.1:.1f}", f"{epoch * 2.1:.0f}"), result)
        self.assertEqual(self.summary(self.folder / "run"), before)

    def confirmed(self, epoch):
        """The summary of a search in `run` after which there is enough for one fresh training of each trial."""
        self.write("r.lua", f"lab.budget {{ flops = {epoch * 96} }}\n"
                   + MEMBER.replace("epochs = 1000000", "epochs = 10").replace("500 epochs", "5 epochs")
                   + SEARCH.replace("trials = 100000", "trials = 100000, confirm = { top = 2, seeds = 2 }")
                   + "return nil\n")
        self.train("--out", "run")
        return self.summary(self.folder / "run")

    def test_confirmed_trials_share(self):
        epoch = self.flops_of_epoch()
        summary = self.confirmed(epoch)
        # The sweep has 64 of the 96 epochs, the search 42.7 of these; two fresh trainings fit into the other 24.
        self.assertEqual(summary["trials"]["complete"], 4)
        self.assertEqual([len(one["seed_values"]) for one in summary["confirmed"]], [1, 1])
        self.assertAlmostEqual(summary["flops"], 60 * epoch, delta=1)

    @unittest.skipUnless(NODE, "needs node")
    def test_the_page_of_trials_with_one_fresh_value(self):
        """One value has no interval."""
        best = self.confirmed(self.flops_of_epoch())["best"]
        self.assertIsNone(best["interval"])
        self.run_program("report", "run", "--html", "p.html")
        texts = shown_by_scripts(self, self.folder / "p.html")["texts"]
        self.assertRegex(texts[texts.index(f"best, trial {best['trial']}") + 1], r"^[\d.e-]+ on fresh seeds$")

    def test_a_search_for_a_rate_counts_what_it_trains(self):
        """It has half of the budget, and the fit after it what is left."""
        epoch = self.flops_of_epoch()
        member = MEMBER.replace("epochs = 1000000", "epochs = 100").replace("500 epochs", "100 epochs")
        search = "local found = lab.run(lab.find.lr { fit = build { lr = 0.1 } })\n"
        for share, status, reason in ((1e5, "done", ""), (200, "stopped", "the budget of FLOPs is used")):
            self.write("r.lua", f"lab.budget {{ flops = {epoch * share} }}\n" + member + search
                       + "return build { lr = found.lr.suggestion }\n")
            self.train("--out", status)
            found = self.summary(self.folder / status / "stages/find_lr")
            summary = self.summary(self.folder / status)
            self.assertEqual((found["status"], found["reason"]), (status, reason))
            self.assertGreater(found["flops"], 99 * epoch)
            self.assertLessEqual(found["flops"], epoch * share / 2)
            self.assertEqual(summary["flops"], 100 * epoch)
            self.assertEqual(summary["budget"]["flops"]["used"], found["flops"] + summary["flops"])

    def test_what_nobody_can_count_is_refused(self):
        task = 'return lab.task { name = "t", run = function(ctx) ctx:log("x", 1) end }\n'
        own = MEMBER.replace('loss = "cross_entropy"', 'step = function() end, monitor = "val.loss", '
                             'loss = "cross_entropy"') + FINAL
        for recipe, message in (
                (task, "r.lua:2: nobody knows the FLOPs of a lab.task, and lab.budget has flops"),
                (own, "nobody knows the FLOPs of this fit, and lab.budget has flops"),
                ('return lab.sweep { name = "s", space = { x = lab.space.uniform(0, 1) }, metric = "x", goal = "min", '
                 "trials = 2, build = function(hp) " + task + "end }\n",
                 "build: nobody knows the FLOPs of a task")):
            self.write("r.lua", "lab.budget { flops = 1e9 }\n" + recipe)
            result = self.train(code=1)
            self.assertIn(message, result.err, result)
            self.assertFalse((self.folder / "runs").exists(), result)

    def test_negative_flops_of_a_fit(self):
        self.write("r.lua", fit(more="  flops = -1,\n"))
        result = self.train(code=1)
        self.assertIn("r.lua:2: fit.flops: expected a number ≥ 1, found -1", result.err, result)
        self.assertFalse((self.folder / "runs").exists(), result)

    def test_nothing_left_for_a_stage(self):
        epoch = self.flops_of_epoch()
        self.write("r.lua", f"lab.budget {{ flops = {epoch} }}\n" + MEMBER + "lab.run(lab.ensemble { "
                   'name = "e", params = { lr = 0.1 }, seeds = 1, metric = "val.loss", build = build })\n'
                   "local f = build { lr = 0.1 }\nf.name = 'two'\nlab.run(f)\n" + FINAL)
        self.train("--out", "run")
        self.assertLessEqual(self.summary(self.folder / "run")["budget"]["flops"]["used"], epoch)
        # One step is the least that a stage takes, and then nothing is left.
        self.write("r.lua", "lab.budget { flops = 1 }\n" + (self.folder / "r.lua").read_text().split("\n", 1)[1])
        result = self.train("--out", "less", code=2)
        self.assertIn("FLOPs of its budget of 1: nothing is left for stage two", result.err, result)
        self.assertEqual(self.summary(self.folder / "less/stages/e/trials/0000/seed-1")["steps"], 1)

    def test_a_step_that_does_not_fit(self):
        """What a step needs is known before it is taken. Stages before it keep their results."""
        step = self.flops_of_epoch() * 16 / 60
        self.write("r.lua", "lab.budget { flops = 1 }\n" + MEMBER + FINAL)
        result = self.train("--out", "none", code=2)
        self.assertIn(f"a step needs {step:.0f} FLOPs, and of its budget stage ", result.err, result)
        self.assertFalse((self.folder / "none/metrics.jsonl").exists())
        self.assertFalse((self.folder / "none/checkpoints").exists())
        self.write("r.lua", f"lab.budget {{ flops = {step * 2.5} }}\n" + MEMBER
                   + "local f = build { lr = 0.1 }\nf.name = 'one'\nlab.run(f)\n"
                   + FINAL.replace("build {", "build { more = true,"))
        self.train("--out", "two")
        self.assertEqual([self.summary(self.folder / "two" / one)["steps"] for one in ("stages/one", ".")], [1, 1])
        self.write("r.lua", (self.folder / "r.lua").read_text().replace(f"{step * 2.5}", f"{step * 1.9}", 1))
        result = self.train("--out", "less", code=2)
        self.assertIn(f"a step needs {step:.0f} FLOPs, and of its budget stage one has ", result.err, result)

    def interrupted(self, recipe):
        """Leaves a run in the folder cut, which was asked to stop after its first row."""
        running = self.start(recipe, "--threads", "1", "--out", "cut")
        running.until_rows(self.folder / "cut", 1)
        running.send(signal.SIGTERM)
        self.end(running, 143)

    def test_money(self):
        """3 EUR at one EUR for a second, and what was spent before a kill counts."""
        self.write("prices.toml", PRICES)
        self.write("r.lua", 'lab.budget { money = "4 EUR", prices = "prices.toml" }\n' + MEMBER + FINAL)
        self.interrupted("r.lua")
        spent = self.summary(self.folder / "cut")["budget"]["money"]["used"]
        self.assertGreaterEqual(spent, 1)
        result = self.run_program("resume", "cut")
        self.assertIn("of 4 EUR at the price of 2026-11-01", result.out)
        summary = self.summary(self.folder / "cut")
        self.assertEqual((summary["status"], summary["budget"]["seconds"]), ("stopped", 4))
        money = summary["budget"]["money"]
        self.assertEqual((money["limit"], money["currency"], money["seconds"]), (4, "EUR", 4))
        self.assertGreaterEqual(money["used"], spent)
        # No time is longer than the money pays for.
        self.assertIn("is finished", self.run_program("resume", "cut", "--within", "1 h", code=2).err)
        self.assertEqual(self.run_program("resume", "cut", "--json").json()["steps"], summary["steps"])

    def test_the_price_of_a_run_stays(self):
        """The file of prices lies beside the recipe, and the run keeps what it says."""
        self.write("sub/prices.toml", PRICES)
        self.write("sub/r.lua", 'lab.budget { money = "4 EUR", prices = "prices.toml" }\n' + MEMBER + FINAL)
        self.interrupted("sub/r.lua")
        (self.folder / "sub/prices.toml").write_text(PRICES.replace("3600", "360").replace("2026", "2027"))
        self.run_program("resume", "cut", "--json")
        budget = self.summary(self.folder / "cut")["budget"]
        self.assertEqual((budget["seconds"], budget["money"]["as_of"]), (4, "2026-11-01"))
        (self.folder / "sub/prices.toml").unlink()
        self.assertEqual(self.run_program("resume", "cut", "--json").json()["status"], "stopped")

    def test_the_first_limit_ends(self):
        self.write("prices.toml", PRICES)
        epoch = self.flops_of_epoch()
        self.write("r.lua", f'lab.budget {{ time = "1 h", money = "300 EUR", prices = "prices.toml", '
                   f"flops = {3 * epoch} }}\n" + MEMBER.replace("500", "1") + FINAL)
        self.train("--out", "run")
        summary = self.summary(self.folder / "run")
        self.assertEqual((summary["steps"], summary["reason"]), (12, "the budget of FLOPs is used"))
        self.assertEqual(summary["budget"]["seconds"], 300)
        self.assertEqual(summary["budget"]["reserve"], 9)

    def test_money_that_buys_nothing(self):
        self.write("prices.toml", PRICES + '[other]\nprice = "1 USD/h"\nas_of = "2026-11-01"\nminimum = "1 h"\n'
                   '[third]\nprice = "1 USD/h"\nas_of = "2026-11-01"\n')
        self.write("bad.toml", "[mine]\nprice = 3\n")
        for budget, message in (
                ('{ money = "5 EUR" }', "r.lua:1: lab.budget.money: expected prices beside it, found none"),
                ('{ time = "1 h", prices = "prices.toml" }', "lab.budget.prices: goes with money, and there is none"),
                ('{ money = "5 Euro", prices = "prices.toml" }',
                 'r.lua:1: lab.budget.money: expected an amount above 0 with its currency, as "500 EUR", found '
                 '"5 Euro"'),
                ('{ money = "5 GBP", prices = "prices.toml" }',
                 "lab.budget.prices: no price in GBP: prices are in EUR"),
                ('{ money = "5 USD", prices = "prices.toml" }',
                 "lab.budget.prices: several prices fit: the option machine says which of other, third"),
                ('{ money = "0.5 USD", prices = "prices.toml", machine = "other" }',
                 "lab.budget.money: nothing fits into 0.5 USD: the least that is billed for other costs more"),
                ('{ money = "5 EUR", prices = "none.toml" }', "none.toml"),
                ('{ money = "5 EUR", prices = "bad.toml" }', "bad.toml:1: mine.price: expected a price for an hour"),
                ("{ flops = -1 }", "r.lua:1: lab.budget.flops: expected"),
                ('{ flops = 1e9, reserve = "1 s" }', "r.lua:1: lab.budget.reserve: expected a time or money")):
            self.write("r.lua", f"lab.budget {budget}\n" + MEMBER + FINAL)
            result = self.train(code=1)
            self.assertIn(message, result.err, result)
            self.assertFalse((self.folder / "runs").exists(), result)


if __name__ == "__main__":
    unittest.main()
