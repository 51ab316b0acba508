"""`trainlab find`: the form of what it prints, and what it refuses."""

import signal
import unittest

from program import SLOW_INPUT, CliTest, fit, small_sweep

LINEAR = """local function samples()
  local function normal(columns, seed) return lab.tensor.randn({ 1025, columns }, { seed = seed }) end
  local w = lab.tensor.randn({ 16, 1 }, { seed = 1 })
  local x = normal(16, 2)
  return x, x:matmul(w / w:norm()) + normal(1, 3)
end
local linear = lab.nn.Linear(1, { bias = false, init = lab.init.constant(0) })
return lab.fit { name = "linear", data = lab.data.tensors(samples), loss = "mse", model = linear, steps = 400,
                 optim = lab.optim.SGD { lr = 1e-12 }, batch = %s }
"""

# Weights of 0.8 MB.
LARGE = {
    "data": "lab.data.blobs { samples = 2000 }",
    "model": "nn.Sequential { " + "nn.Linear(256), nn.ReLU(), " * 4 + "nn.Linear(3) }",
    "optim": "lab.optim.SGD { lr = 0.01 }",
    "epochs": "2",
}


class Find(CliTest):
    def test_a_rate_is_found_by_range_tests_and_a_probe(self):
        self.recipe(epochs="20")
        found = self.run_program("find", "lr", "r.lua", "--threads", "1", "--json").json()
        self.assertEqual((found["kind"], found["status"], found["stage"]), ("finder", "done", "f"))
        self.assertTrue({"suggestion", "valley", "steepest"} <= found["lr"].keys())
        start = found["lr"]["start"]
        probed = [round(probe["lr"] / start, 6) for probe in found["probes"]]
        self.assertTrue({0.25, 1, 4} <= set(probed))
        self.assertEqual(probed, sorted(probed))
        self.assertLessEqual(found["lr"]["low"], found["lr"]["suggestion"])
        self.assertLessEqual(found["lr"]["suggestion"], found["lr"]["high"])
        rates = [point["lr"] for point in found["curve"]]
        self.assertEqual(rates, sorted(rates))
        self.assertEqual(list(self.folder.iterdir()), [self.folder / "r.lua"])  # no run folder

        text = self.run_program("find", "lr", "r.lua", "--threads", "1").out
        for words in ("lr = ", "range test over 5 seeds", "valley", "probe: "):
            self.assertIn(words, text)

    def test_help_on_a_search_without_a_recipe(self):
        help_text = self.run_program("find", "--help").out
        for search in ("lr", "batch", "loader", "optimizer"):
            self.assertEqual(self.run_program("find", search, "--help").out, help_text)

    def test_a_search_without_a_recipe(self):
        self.assertIn("`trainlab find lr` needs one recipe", self.run_program("find", "lr", code=2).err)
        self.assertIn("`trainlab find` needs lr, batch, loader or optimizer, and one recipe",
                      self.run_program("find", code=2).err)

    def test_the_rate_that_was_found_is_applied(self):
        self.recipe(optim="lab.optim.SGD { lr = 1e-6 }")
        found = self.run_program("find", "lr", "r.lua", "--threads", "1", "--apply", "rate.toml", "--json").json()
        self.train("--apply", "rate.toml", "--out", "run")
        rates = {row["lr"] for row in self.rows(self.folder / "run")}
        self.assertEqual(rates, {found["lr"]["suggestion"]})
        self.assert_said(self.run_program("check", "r.lua", "--apply", "rate.toml", code=2), "--apply")
        self.recipe(epochs="4")
        self.assert_said(self.run_program("run", "r.lua", "--apply", "rate.toml", code=2),
                         "another text of the recipe", "trainlab find")

    def test_of_a_sweep_the_first_trial_is_searched_for(self):
        self.write("s.lua", small_sweep(epochs=20))
        found = self.run_program("find", "lr", "s.lua", "--threads", "1", "--json").json()
        self.assertEqual(found["stage"], "m")
        self.assertRegex(found["note"], r"^trial 0 of sweep s \(lr = [\d.e-]+\)$")
        text = self.run_program("find", "lr", "s.lua", "--threads", "1").out
        self.assertTrue(text.endswith(f"{found['note']} was searched for\n"), text)
        result = self.run_program("find", "lr", "s.lua", "--apply", "rate.toml", code=2)
        self.assert_said(result, "--apply: expected a fit that the recipe names, found trial 0 of sweep s (lr = ")
        self.write("t.lua", 'return lab.task { name = "t", run = function() end }')
        self.assert_said(self.run_program("find", "lr", "t.lua", code=2),
                         "expected a lab.fit as the stage of the recipe, found lab.task", "a task's loop is code")

    def test_a_batch_is_found_by_noise_and_speed(self):
        self.recipe(epochs="40")
        found = self.run_program("find", "batch", "r.lua", "--threads", "1", "--json").json()
        self.assertEqual((found["kind"], found["status"], found["stage"]), ("finder", "done", "f"))
        self.assertEqual(len(found["noise"]), 3)
        for one in found["noise"]:
            self.assertLessEqual(one["low"], one["value"])
            self.assertGreaterEqual(one["high"] or one["value"], one["value"])
        sizes = [point["batch"] for point in found["curve"]]
        self.assertEqual(sizes, sorted(sizes))
        self.assertIn(found["batch"]["suggestion"], sizes)
        # A larger batch needs more samples.
        if found["batch"]["knee"]["high"] is not None:
            for smaller, larger in zip(found["curve"], found["curve"][1:]):
                self.assertLess(smaller["samples"], larger["samples"])
        self.assertEqual(found["batch"]["knee"]["low"], found["noise"][1]["low"] / 4)
        self.assertEqual(found["batch"]["knee"]["high"], found["noise"][1]["high"])
        self.assertLessEqual(found["batch"]["efficiency"]["low"], found["batch"]["efficiency"]["high"])
        self.assertEqual(list(self.folder.iterdir()), [self.folder / "r.lua"])

        text = self.run_program("find", "batch", "r.lua", "--threads", "1", "--apply", "batch.toml").out
        for words in ("batch = ", "noise scale", "knee", " of its samples (estimate)\n",
                      "\n  the test, with a parameter batch: trainlab compare RECIPE --target METRIC=VALUE --b batch=4",
                      "time to a loss"):
            self.assertIn(words, text)
        self.assertRegex(text, r"\n  a batch of 16 wastes \d+ ")
        self.train("--apply", "batch.toml", "--out", "run")

    def test_the_test_of_a_batch_that_memory_chooses(self):
        self.recipe(batch='"auto"', epochs="60", more="  effective = 16,\n")
        text = self.run_program("find", "batch", "r.lua", "--threads", "1", "--apply", "batch.toml").out
        self.assertIn(" --b effective=", text)
        self.assertIn("effective=", (self.folder / "batch.toml").read_text())

    def test_the_noise_scale_of_a_linear_model_whatever_the_last_step_of_an_epoch_has(self):
        """At the weights 0 the gradient of a sample is −2 y x. With x of 16 independent normal numbers and y = x·w +
        noise of the variance |w|², the covariance of these gradients has a trace of 16 + 1 + 16 times the square of
        their mean. Of 1,025 samples, one is left for the last step of an epoch. In the two steps of 512 samples of an
        epoch the gradients differ half as much as those of independent batches."""
        for batch in ("64", "4, accumulate = 16", "512"):
            self.write("r.lua", LINEAR % batch)
            found = self.run_program("find", "batch", "r.lua", "--threads", "1", "--json").json()
            with self.subTest(batch):
                for one in found["noise"]:
                    self.assertLess(abs(one["value"] - 33), 10, found["noise"])
                    self.assertLess(one["low"], one["value"])
        # Groups of gradients of 512 samples hold the two large steps of whole epochs, which have three.
        self.assertEqual(found["noise"][0]["step"] % 3, 0)

    def test_the_noise_of_steps_that_take_most_samples_is_not_known(self):
        for batch in ("1025", "513", "1000, accumulate = 2"):
            self.write("r.lua", LINEAR % batch)
            self.assert_said(self.run_program("find", "batch", "r.lua", code=1), "r.lua:", "batch: expected "
                             "steps of at most 512 of the 1025 samples of an epoch, found ")

    def test_a_size_that_does_not_fit_ends_the_sizes_and_loses_nothing(self):
        """Steps of 16 samples fit into the budget, steps of 1,024 do not, even with activations that are computed
        again."""
        self.recipe(**LARGE,
                    more='  loader = { threads = 0 },\n  memory = { recompute = "auto", budget = "4 MB" },\n')
        found = self.run_program("find", "batch", "r.lua", "--threads", "1", "--json").json()
        self.assertEqual(len(found["noise"]), 3)
        sizes = [point["batch"] for point in found["curve"]]
        self.assertIn(32, sizes)
        self.assertNotIn(1024, sizes)
        self.assertIn("\nno larger batch: the training needs ",
                      self.run_program("find", "batch", "r.lua", "--threads", "1").out)

    def test_a_size_of_which_one_sample_is_left_is_timed_too(self):
        """Of 145 samples batches of 16 leave one, of which the norm has no variance; batches of 64 leave 17."""
        self.recipe(data="lab.data.blobs { samples = 145 }", batch="64", epochs="100",
                    model="nn.Sequential { nn.Linear(8), nn.BatchNorm1d(), nn.ReLU(), nn.Linear(3) }")
        found = self.run_program("find", "batch", "r.lua", "--threads", "1", "--json").json()
        self.assertEqual([point["batch"] for point in found["curve"]][:3], [16, 32, 64])

    def test_sums_of_gradients_that_find_no_room(self):
        """The training fits into the limit, and eight times the weights do not fit beside it."""
        self.recipe(**LARGE)
        self.train("--memory", "6 MB", "--out", "run")
        self.assert_said(self.run_program("find", "batch", "r.lua", "--threads", "1", "--memory", "6 MB", code=1),
                         "r.lua:", "expected room for ", " are sums of gradients that tell their noise, found 5.7 MiB",
                         "hint: ")

    def test_a_loader_is_found_for_slow_input(self):
        self.recipe(**SLOW_INPUT)
        found = self.run_program("find", "loader", "r.lua", "--threads", "1", "--apply", "loader.toml", "--json").json()
        self.assertEqual((found["kind"], found["status"], found["stage"]), ("finder", "done", "f"))
        sizes = [(row["threads"], row["prefetch"]) for row in found["curve"]]
        self.assertEqual(sizes[0], (1, 4))
        self.assertTrue({(2, 4), (4, 4)} <= set(sizes), sizes)
        self.assertEqual(found["loader"]["now"], {"threads": 1, "prefetch": 4})
        suggestion = found["loader"]["suggestion"]
        self.assertIn((suggestion["threads"], suggestion["prefetch"]), sizes)
        for row in found["curve"][1:]:
            self.assertLessEqual(row["ratio"]["low"], row["ratio"]["high"])
            self.assertGreater(row["samples_per_second"]["low"], 0)
        self.train("--apply", "loader.toml", "--out", "run")
        self.train("--out", "plain")
        self.assert_same_end(self.folder / "run", self.folder / "plain")

    def test_a_loader_that_nothing_waits_for(self):
        """A sweep's first trial."""
        self.write("s.lua", "return lab.sweep { name = \"s\", space = { lr = lab.space.log(1e-3, 1) }, trials = 2,\n"
                            "  metric = \"val.loss\", build = function(hp)\n" + fit(
                                model="nn.Sequential { nn.Linear(512), nn.ReLU(), nn.Linear(512), nn.Linear(3) }",
                                optim="lab.optim.SGD { lr = hp.lr }") + "end }\n")
        found = self.run_program("find", "loader", "s.lua", "--threads", "1", "--json").json()
        self.assertEqual(found["loader"]["suggestion"], found["loader"]["now"])
        self.assert_said(self.run_program("find", "loader", "s.lua", "--threads", "1", "--apply", "x.toml", code=2),
                         "--apply: expected a fit that the recipe names, found trial 0 of sweep s (lr = ")

    def test_optimizers_are_compared(self):
        self.recipe(epochs="6")
        found = self.run_program("find", "optimizer", "r.lua", "--threads", "1", "--json").json()
        self.assertEqual((found["kind"], found["status"], found["stage"]), ("finder", "done", "f"))
        self.assertEqual([one["own"] for one in found["optimizers"]], [True, False, False, False])
        self.assertIn(found["optimizer"]["suggestion"], [one["name"] for one in found["optimizers"]])
        for one in found["optimizers"]:
            rates = [point["lr"] for point in one["curve"]]
            self.assertGreaterEqual(len(rates), 9)
            self.assertEqual(rates, sorted(rates))
            self.assertLessEqual(one["good"]["low"], one["good"]["high"])
        self.assertEqual(list(self.folder.iterdir()), [self.folder / "r.lua"])
        text = self.run_program("find", "optimizer", "r.lua", "--threads", "1").out
        for words in ("optimizer = ", "tuned lr", "octaves", "usual rate", "(the recipe's)"):
            self.assertIn(words, text)
        self.assert_said(self.run_program("find", "optimizer", "r.lua", "--apply", "x.toml", code=2),
                         "--apply: expected lr, batch or loader, found optimizer")
        self.recipe(epochs="nil, time = \"1 s\"")
        self.assert_said(self.run_program("find", "optimizer", "r.lua", code=1),
                         "expected a fit with epochs, steps or flops")

    def test_a_fit_whose_length_is_flops(self):
        self.recipe(epochs="40")
        self.train("--out", "run")
        whole = self.summary(self.folder / "run")["flops"]
        length = f"nil, flops = {whole}"
        self.recipe(epochs=length)
        found = self.run_program("find", "batch", "r.lua", "--threads", "1", "--json").json()
        self.assertEqual(len(found["noise"]), 3)
        self.assertIn(found["batch"]["suggestion"], [point["batch"] for point in found["curve"]])
        self.recipe(epochs=f"nil, flops = {whole / 5}")
        found = self.run_program("find", "optimizer", "r.lua", "--threads", "1", "--json").json()
        self.assertEqual(len(found["optimizers"]), 4)
        self.searching_recipe("find.batch { fit = build(0.1) }", epochs=length)
        self.write("b.lua", (self.folder / "r.lua").read_text().replace("found.lr.suggestion", "found.batch.lr"))
        self.train("--out", "b", recipe="b.lua")

    def searching_recipe(self, search="find.lr { fit = build(1e-6) }", **options):
        self.write("r.lua", "local function build(lr)\n" + fit(optim="lab.optim.SGD { lr = lr }", **options) + "end\n"
                            f"local found = lab.run(lab.{search})\nreturn build(found.lr.suggestion)\n")

    def test_a_recipe_goes_on_with_the_rate_that_it_has_found(self):
        self.searching_recipe()
        self.train("--out", "run")
        search = self.summary(self.folder / "run/stages/find_lr")
        self.assertEqual((search["name"], search["kind"], search["status"]), ("find_lr", "find.lr", "done"))
        self.assertEqual({row["lr"] for row in self.rows(self.folder / "run")}, {search["lr"]["suggestion"]})
        found = self.run_program("find", "lr", "r.lua", "--threads", "1", "--json").json()
        self.assertEqual(found["note"], "the fit of find.lr find_lr")
        self.assertIn("find_lr", self.run_program("report", "run").out)
        self.assertIn("  found  lr ", self.run_program("report", "run/stages/find_lr").out)
        self.run_program("report", "run", "--html", "p.html")
        self.run_program("check", "r.lua")
        self.assert_said(self.run_program("plan", "r.lua", code=2), "found lab.find.lr")

        running = self.start("r.lua", "--threads", "1", "--out", "cut")
        running.until_said("range test with seed 3")
        running.send(signal.SIGINT)
        self.assertIn("find_lr (find.lr): interrupted", self.end(running, 130).out)
        self.run_program("resume", "cut")
        self.assert_same_end(self.folder / "run", self.folder / "cut")

    def test_other_searches_of_a_recipe(self):
        self.searching_recipe("find.optimizer { fit = build(0.1), name = \"which\" }", epochs="6")
        self.write("o.lua", (self.folder / "r.lua").read_text().replace("found.lr.suggestion",
                                                                        "found.search.optimizers[1].lr"))
        self.train("--out", "o", recipe="o.lua")
        self.assertEqual(self.summary(self.folder / "o/stages/which")["kind"], "find.optimizer")
        self.searching_recipe("find.batch { fit = build(0.1) }", epochs="40")
        self.write("b.lua", (self.folder / "r.lua").read_text().replace("found.lr.suggestion", "found.batch.lr"))
        self.train("--out", "b", recipe="b.lua")
        self.searching_recipe("find.lr { fit = lab.task { name = \"t\", run = function() end } }")
        self.assert_said(self.train(code=1), "r.lua:13: fit: expected a lab.fit, found a lab.task")

    def test_a_search_whose_time_is_used_leaves_the_rest_to_the_training(self):
        self.searching_recipe("find.optimizer { fit = build(0.1) }", epochs="1000000")
        self.write("w.lua", (self.folder / "r.lua").read_text().replace("found.lr.suggestion", "found.optimizer.lr"))
        result = self.train("--within", "4 s", "--out", "w", recipe="w.lua")
        self.assert_said(result, "find_optimizer: the time budget is used; the result is what was known of "
                                 "`optimizer` by then")
        search = self.summary(self.folder / "w/stages/find_optimizer")
        self.assertEqual((search["status"], search["reason"]), ("stopped", "the time budget is used"))
        self.assertEqual(search["optimizer"]["lr"], 0.1)
        trained = self.summary(self.folder / "w")
        self.assertEqual((trained["kind"], trained["status"]), ("fit", "stopped"))
        self.assertGreater(trained["steps"], 0)

    def test_a_search_that_is_interrupted(self):
        self.recipe(epochs="20")
        running = self.start("find", "lr", "r.lua", "--threads", "1")
        running.until_said("range test with seed 2")
        running.send(signal.SIGINT)
        self.assertEqual(self.end(running, 130).out, "")

    def test_a_training_that_is_lost_has_nothing_to_find(self):
        lost = ("function(out, batch) return (lab.ops.cross_entropy_loss(out, batch.y)\n"
                "      + (out:sum():detach() * 0 - 1):log()) end")
        self.recipe(epochs="40", more="  ")
        text = (self.folder / "r.lua").read_text().replace('loss = "cross_entropy"', f"loss = {lost}")
        self.write("r.lua", text)
        self.assert_said(self.run_program("find", "batch", "r.lua", code=1), "r.lua:", "the loss is not finite")
        self.assert_said(self.run_program("find", "lr", "r.lua", code=1), "r.lua:", "the loss is not finite")

    def test_a_rate_that_needs_its_schedule(self):
        """Steps are timed without the schedule, and no loss survives the recipe's rate then."""
        self.recipe(epochs="40", optim="lab.optim.SGD { lr = 1e38 }",
                    more="  schedule = function(step, total) return 1e-40 end,\n")
        found = self.run_program("find", "batch", "r.lua", "--threads", "1", "--json").json()
        self.assertIn(4, [point["batch"] for point in found["curve"]])
        for point in found["curve"]:
            self.assertGreater(point["step_seconds"], 0)

    def test_steps_that_cannot_be_timed(self):
        """The loss of a batch of 32 samples is not finite, at whatever rate."""
        lost = ("function(out, batch)\n  local loss = lab.ops.cross_entropy_loss(out, batch.y)\n"
                "  return out:size(0) == 32 and loss + (loss:detach() * 0 - 1):log() or loss\nend")
        self.recipe(epochs="40")
        text = (self.folder / "r.lua").read_text().replace('loss = "cross_entropy"', f"loss = {lost}")
        self.write("r.lua", text)
        self.assert_said(self.run_program("find", "batch", "r.lua", "--threads", "1", code=1), "r.lua:",
                         "batch: steps of 32 samples cannot be timed: the training loss is not finite at step ",
                         "a batch can be found only for a training that learns")

    def test_a_file_of_something_else_is_not_replaced(self):
        text = self.recipe().read_text()
        for command in ("find lr", "profile"):
            for name, said in (("r.lua", "is there already, and is no file of changes"),
                               (".", "expected a file, found the folder ")):
                result = self.run_program(*command.split(), "r.lua", "--apply", name, code=2)
                self.assert_said(result, "--apply: ", said)
        self.assert_said(self.run_program("find", "lr", "r.lua", "--apply", "no/rate.toml", code=2), "--apply: cannot")
        self.assertEqual((self.folder / "r.lua").read_text(), text)

    def test_what_cannot_be_searched_is_refused(self):
        self.recipe()
        self.assert_said(self.run_program("find", "momentum", "r.lua", code=2),
                         "expected lr, batch, loader or optimizer", "momentum")
        self.run_program("find", "lr", code=2)
        self.write("task.lua", 'return lab.task { name = "t", run = function() end }\n')
        self.assert_said(self.run_program("find", "lr", "task.lua", code=2), "expected a lab.fit", "lab.task")
        self.recipe("large.lua", epochs="200", batch="4000")
        self.assert_said(self.run_program("find", "batch", "large.lua", code=1), "batch", "samples")
        self.recipe("own.lua", more="  step = function(run, batch) return {} end,\n")
        self.assert_said(self.run_program("find", "lr", "own.lua", code=1), "step of its own")


if __name__ == "__main__":
    unittest.main()
