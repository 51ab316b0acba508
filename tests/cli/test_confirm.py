"""The best trials of a sweep on fresh seeds, and the luck of a winner."""

import signal
import unittest

from sweeping import SLOW, SweepTest, trials, until_rows


class Confirm(SweepTest):
    def test_the_best_trials_are_confirmed_on_fresh_seeds(self):
        self.sweep(more="confirm = { top = 3, seeds = 4 },")
        checked = self.run_program("check", "r.lua")
        self.assertIn("confirm        the best 3 trials again, each on 4 fresh seeds", checked.out)
        self.assertEqual(self.run_program("check", "r.lua", "--json").json()["stages"][0]["confirm"],
                         {"top": 3, "seeds": 4})
        result = self.run_program("r.lua", "--out", "run")
        summary = self.summary(self.folder / "run")
        best = summary["best"]
        self.assert_said(result, "confirmation of s: 12 of 12 trainings on fresh seeds")
        self.assertRegex(result.out, r"best   val\.loss \S+ on fresh seeds, trial \d+; the search has seen \S+")
        values = {number: float(values) for number, _, _, values, _ in trials(self.folder / "run")}
        confirmed = {one["trial"]: one for one in summary["confirmed"]}
        self.assertEqual(set(confirmed), set(sorted(values, key=values.get)[:3]))
        self.assertEqual(best["observed"], values[best["trial"]])
        self.assertEqual({key: confirmed[best["trial"]][key] for key in best}, best)
        for one in confirmed.values():
            self.assertEqual((len(one["seed_values"]), one["failed"]), (4, 0))
            self.assertNotIn(one["observed"], one["seed_values"])
            self.assertAlmostEqual(one["value"], sum(one["seed_values"]) / 4)
        report = self.run_program("report", "run").out
        self.assertRegex(report, rf"best   \S+ ± \S+ on fresh seeds \(95 % interval\), trial {best['trial']}\n")
        self.assertIn("confirmed on fresh seeds", report)
        self.assertEqual(self.run_program("report", "run", "--json").json()["paste"]["trial"], best["trial"])
        self.run_program("r.lua", "--out", "two", "--workers", "2", "--quiet")
        self.assertEqual(self.timeless(self.folder / "two"), self.timeless(self.folder / "run"))

    def test_the_luck_of_a_winner_is_told(self):
        """Equal configurations: the best of 40 looks good by chance, and fresh seeds show that."""
        self.write("r.lua", """return lab.sweep {
  name = "luck", metric = "score", goal = "max", trials = 40, space = { x = lab.space.int(1, 1000000) },
  sampler = lab.sampler.random(), confirm = { top = 4, seeds = 8 },
  build = function(hp)
    return lab.task { name = "coin", run = function(ctx)
      ctx:log("score", lab.tensor.rand({ 1 }, { seed = (hp.seed + 7919 * hp.x) % 1000003 }):item())
    end }
  end,
}
""")
        best = self.run_program("r.lua", "--json", "--quiet").json()["best"]
        self.assertGreater(best["observed"], 0.85)
        self.assertLess(abs(best["value"] - 0.5), 3 * 12 ** -0.5 / 8 ** 0.5)  # three standard errors of the mean
        self.write("r.lua", (self.folder / "r.lua").read_text().replace("confirm = { top = 4, seeds = 8 },", ""))
        self.run_program("r.lua", "--quiet", "--out", "unconfirmed")
        self.assertIn("as the best of 40 up to 2.161 standard deviations of a seed too good",
                      self.run_program("report", "unconfirmed").out)

    def test_killed_while_it_confirms_it_ends_alike(self):
        self.sweep(**SLOW, more="confirm = { top = 3, seeds = 3 },")
        self.run_program("r.lua", "--out", "whole", "--set", "stack=false")
        running = self.start("r.lua", "--out", "cut", "--workers", "2", "--set", "stack=false")
        until_rows(running, self.folder / "cut/confirm", 1, 2)
        running.process.kill()
        running.end()
        self.assertIn("the trainings on fresh seeds will tell", self.run_program("report", "cut").out)
        running = self.start("resume", "cut")
        until_rows(running, self.folder / "cut/confirm", 5, 2)
        running.send(signal.SIGINT)
        self.end(running, 130)
        self.assertEqual(self.summary(self.folder / "cut")["status"], "interrupted")
        self.run_program("resume", "cut")
        self.assertEqual(self.timeless(self.folder / "cut"), self.timeless(self.folder / "whole"))
        self.assertEqual(trials(self.folder / "cut/confirm"), trials(self.folder / "whole/confirm"))


if __name__ == "__main__":
    unittest.main()
