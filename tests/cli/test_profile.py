"""`trainlab profile` and `trainlab bench`: the form of what they print. Which verdict a fit deserves is a question for
tools/bench/verdicts.py."""

import json
import os
import re
import tempfile
import unittest

from program import SOURCE, CliTest, fit

VERDICTS = {"input", "host", "compute", "bandwidth", "transfer", "synchronisation", "launch", "optimizer", "evaluation",
            "checkpoint", "communication", "contention", "none", "unknown"}
SHARES = ["input", "transfer", "forward", "backward", "optimizer", "metrics", "recipe", "synchronisation", "launch_gap",
          "checkpoint", "evaluation", "other"]


class Profile(CliTest):
    @classmethod
    def setUpClass(cls):
        # The figures of the machine are kept here, for all tests.
        cache = tempfile.TemporaryDirectory(dir=os.getcwd())
        cls.addClassCleanup(cache.cleanup)
        os.environ["XDG_CACHE_HOME"] = cache.name

    def profile(self, *arguments):
        return self.run_program("profile", *arguments, "--seconds", "0.5", "--threads", "1", "--json").json()

    def check_form(self, profile):
        self.assertEqual((profile["kind"], profile["status"]), ("profile", "done"))
        self.assertIn(profile["verdict"], VERDICTS)
        self.assertIn(profile["confidence"], ("high", "medium", "low", "none"))
        self.assertTrue(profile["evidence"])
        self.assertEqual(sorted(profile["shares"]), sorted(SHARES))
        self.assertAlmostEqual(sum(profile["shares"].values()), 1, delta=0.01)
        self.assertTrue(all(0 <= share <= 1 for share in profile["shares"].values()), profile["shares"])
        step = profile["step_seconds"]
        self.assertTrue(0 < step["low"] <= step["median"] <= step["high"], step)

    def check_details(self, profile):
        """Of a fit: layers and memory. The machine is measured when there is no other work on it, or was before."""
        layers, steps = profile["layers"], profile["layer_steps"]
        self.assertAlmostEqual(sum(row["forward"] + row["backward"] for row in layers) / steps["step_seconds"], 1,
                               delta=0.01)
        for name in ("loss", "backward", "optimizer"):
            self.assertIn(name, [row["path"] for row in layers])
        self.assertTrue(any("Linear" in row["path"] and row["flops"] > 0 for row in layers), layers)
        memory = profile["memory"]
        self.assertGreater(memory["predicted"]["peak"], 0)
        self.assertGreater(memory["categories"]["weights"], 0)
        self.assertEqual(sum(memory["categories"].values()) - memory["categories"]["program"], memory["peak"])
        self.assertEqual(profile["pipeline"] is None, profile["shares"]["input"] < 0.05)
        machine, roofline = profile["machine"], profile["roofline"]
        if machine is None:
            self.assertIsNone(roofline)
            self.assertTrue(any(text.startswith("machine: the machine is busy now") for text in profile["missing"]))
        else:
            self.assertEqual(profile["missing"], [])
            self.assertEqual((roofline["type"], roofline["threads"]), ("float32", 1))
            self.assertEqual(roofline["flops_per_second"], profile["flops_per_second"])
            self.assertGreater(roofline["bytes_per_second"], 0)
            self.assertIn(roofline["flops_roof"], [one["flops_per_second"] for one in machine["gemm"]])

    def test_a_fit(self):
        profile = self.profile(SOURCE / "recipes" / "digits.lua")
        self.check_form(profile)
        self.check_details(profile)
        self.assertEqual((profile["stage"], profile["stage_kind"]), ("digits", "fit"))
        for phase in ("forward", "backward", "optimizer", "fetch"):
            self.assertGreater(profile["phase_seconds"][phase], 0)
        self.assertGreater(profile["validation"]["seconds"], 0)
        self.assertGreater(profile["checkpoint"]["seconds"], 0)
        self.assertGreater(profile["samples_per_second"]["median"], 0)
        self.assertEqual(os.listdir(self.folder), [], "a profile leaves nothing behind")

    def test_text_begins_with_the_verdict(self):
        self.recipe()
        text = self.run_program("profile", "r.lua", "--seconds", "0.3", "--threads", "1").out
        self.assertIn(text.split(":")[0], VERDICTS)
        for word in ("confidence", "samples/s", "launch_gap", "operators", "at the peak, in ", "backward ms",
                     "8 of 11 rows"):
            self.assertIn(word, text)

    def test_all_rows_of_a_table(self):
        self.recipe()
        arguments = ["profile", "r.lua", "--seconds", "0.3", "--threads", "1", "--by"]
        text = self.run_program(*arguments, "layer").out
        for path in ("model[1].Linear", "model[2].ReLU", "model[3].Dropout", "model[4].Linear", "fetch", "optimizer"):
            self.assertRegex(text, rf"(?m)^{re.escape(path)} +[\d.]+ +[\d.]+ ")
        text = self.run_program(*arguments, "operator").out
        self.assertRegex(text, r"(?m)^aten::addmm +[\d.]+ ")
        self.assertNotIn("model[1].Linear  ", text)
        self.assert_said(self.run_program(*arguments, "phase", code=2), "--by")

    def test_a_trace(self):
        self.recipe(more="  loader = { threads = 1 },\n")
        self.run_program("profile", "r.lua", "--seconds", "0.5", "--threads", "1", "--trace", "t.json")
        with open(os.path.join(self.folder, "t.json")) as file:
            events = json.load(file)["traceEvents"]
        threads = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
        self.assertEqual(threads[0], "training")
        spans = [event for event in events if event["ph"] == "X"]
        names = {event["name"] for event in spans}
        for name in ("step", "forward", "model[1].Linear", "aten::addmm", "AddmmBackward0", "optimizer", "gather"):
            self.assertIn(name, names)
        steps = [event for event in spans if event["name"] == "step"]
        self.assertGreaterEqual(len(steps), 3)
        layer = next(event for event in spans if event["name"] == "model[1].Linear")
        around = [one for one in steps if one["ts"] <= layer["ts"] and
                  layer["ts"] + layer["dur"] <= one["ts"] + one["dur"] + 0.002]
        self.assertEqual(len(around), 1)
        counters = {event["name"] for event in events if event["ph"] == "C"}
        self.assertEqual(counters, {"tensor memory", "batches ready", "samples per second"})

    def test_a_trace_that_cannot_be(self):
        task = self.run_program("profile", SOURCE / "recipes" / "by_hand.lua", "--trace", "t.json", code=2)
        self.assert_said(task, "--trace: expected a fit, found the task")
        self.recipe()
        away = self.run_program("profile", "r.lua", "--seconds", "0.3", "--trace", "no/folder/t.json", code=2)
        self.assert_said(away, "no/folder/t.json")
        self.assertEqual(os.listdir(self.folder), ["r.lua"])

    def test_a_table_of_a_file(self):
        profile = self.profile(SOURCE / "recipes" / "tabular.lua")
        self.check_form(profile)
        self.check_details(profile)

    def test_slow_input_by_its_stages(self):
        data = ("lab.data.blobs { samples = 240 }:split { train = 0.5, val = 0.5 }:transform(function(batch)\n"
                "    for i = 1, 300000 do end\n    return batch\n  end)")
        self.recipe(data=data)
        profile = self.profile("r.lua")
        self.check_details(profile)
        self.assertEqual(profile["otherwise"], "input")
        pipeline = profile["pipeline"]
        self.assertEqual((pipeline["limits"], pipeline["batch"]), ("transform", 16))
        self.assertGreater(pipeline["transform"]["seconds"], pipeline["gather"]["seconds"])
        if profile["verdict"] == "input":
            self.assertIn("The slowest stage of the input is transform.", profile["evidence"])
        text = self.run_program("profile", "r.lua", "--seconds", "0.3", "--threads", "1").out
        self.assertIn('"transform" takes longest', text)

    def test_the_machine_is_measured_once(self):
        self.recipe()
        first, second = (self.profile("r.lua")["machine"] for _ in range(2))
        if first and "not_stored" not in first:
            self.assertEqual(second, first)

    def test_of_a_sweep_the_first_trial(self):
        self.write("r.lua", "local function build(hp)\n" + fit(optim="lab.optim.SGD { lr = hp.lr }") + """end
            return lab.sweep { name = "search", metric = "val.loss", trials = 4, build = build,
                               space = { lr = lab.space.log(0.01, 0.1) } }
        """.replace("            ", ""))
        profile = self.profile("r.lua")
        self.check_form(profile)
        self.assertEqual((profile["stage"], profile["note"]), ("f", "the first trial of sweep search"))

    def test_a_task_and_what_its_recipe_reads(self):
        profile = self.profile(SOURCE / "recipes" / "by_hand.lua")
        self.check_form(profile)
        self.assertEqual(profile["stage_kind"], "task")
        for name in ("layers", "layer_steps", "memory", "pipeline", "machine", "roofline"):
            self.assertIsNone(profile[name])
        self.assertIn("a task's loop is code", profile["missing"][0])
        self.assertGreater(profile["phase_seconds"]["backward"], 0)

    def test_reads_of_an_own_step_are_synchronisation(self):
        self.recipe(more="  step = function(run, batch)\n    local out = run.model:forward(batch.x)\n"
                         "    local loss = lab.ops.cross_entropy_loss(out, batch.y)\n    run.optim:zero_grad()\n"
                         "    loss:backward()\n    run.optim:step()\n    loss:item()\n"
                         "    return { loss = loss }\n  end,\n")
        profile = self.profile("r.lua")
        self.check_form(profile)
        for phase in ("read", "backward", "optimizer", "callback"):
            self.assertGreater(profile["phase_seconds"][phase], 0)
        self.assertGreater(profile["shares"]["synchronisation"], 0)
        self.assertIn("own step", [row["path"] for row in profile["layers"]])
        self.assertIn("estimated_because", profile["memory"]["predicted"])

    def test_stages(self):
        self.write("r.lua", "lab.run((function()\n" + fit() + "end)())\n" + fit().replace('"f"', '"g"'))
        self.assertEqual(self.profile("r.lua")["stage"], "f")
        self.assertEqual(self.profile("r.lua", "--stage", "f")["stage"], "f")
        result = self.run_program("profile", "r.lua", "--stage", "g", code=2)
        self.assert_said(result, '--stage g: the recipe runs stage "f" first')
        self.recipe()
        result = self.run_program("profile", "r.lua", "--stage", "g", code=2)
        self.assert_said(result, '--stage g: the recipe has no such stage, only "f"')
        self.assertEqual(self.profile("r.lua", "--set", "batch=8")["stage"], "f")
        self.write("r.lua", "return nil\n")
        self.assert_said(self.run_program("profile", "r.lua", code=2), "the recipe returns no stage")

    def test_remedies(self):
        profile = self.profile(SOURCE / "recipes" / "digits.lua")
        for remedy in profile["remedies"]:
            self.assertEqual(sorted(remedy), ["name", "ratio", "reason", "result", "set", "tried"])
            self.assertEqual(remedy["tried"], remedy["reason"] is None, remedy)
            self.assertEqual(remedy["tried"], remedy["ratio"] is not None, remedy)

    def test_changes_that_were_tried_are_applied(self):
        self.recipe()
        self.run_program("profile", "r.lua", "--seconds", "0.2", "--threads", "1", "--apply", "faster.toml")
        text = (self.folder / "faster.toml").read_text()
        self.assertIn("stage = 'f'", text.replace('"', "'"))
        recipe = re.search(r"recipe = .*", text).group(0)
        self.write("faster.toml", recipe + '\nstage = "f"\nset = [ "batch=8", "epochs=2" ]\nthreads = 1\n')
        summary = self.run_program("run", "r.lua", "--apply", "faster.toml", "--json").json()
        self.assertEqual(summary["steps"], 2 * 60 // 8 + 1)
        summary = self.run_program("run", "r.lua", "--apply", "faster.toml", "--set", "epochs=1", "--json").json()
        self.assertEqual(summary["steps"], 60 // 8 + 1)
        self.write("faster.toml", recipe + '\nstage = "g"\nset = [ "batch=8" ]\n')
        self.run_program("run", "r.lua", "--apply", "faster.toml", code=2)
        self.write("faster.toml", recipe + '\nstage = "f"\n')
        self.assert_said(self.run_program("run", "r.lua", "--apply", "faster.toml", code=2),
                         "expected a list under set")
        self.write("faster.toml", recipe + '\nstage = "f"\nset = [ "batch=8" ]\n')
        self.recipe(epochs="4")
        self.assert_said(self.run_program("run", "r.lua", "--apply", "faster.toml", code=2),
                         "the changes were tried with another text of the recipe")

    def test_speed(self):
        self.recipe()
        arguments = ["bench", "r.lua", "--seconds", "0.3", "--threads", "1"]
        speed = self.run_program(*arguments, "--json").json()
        self.assertEqual((speed["kind"], speed["status"], speed["stage"]), ("bench", "done", "f"))
        for unit in ("samples_per_second", "steps_per_second"):
            self.assertTrue(0 < speed[unit]["low"] <= speed[unit]["median"] <= speed[unit]["high"], speed)
        self.assertIn("samples a second", self.run_program(*arguments).out)

        def against(factor, code, **more):
            before = {**speed, **more}
            for unit in ("samples_per_second", "steps_per_second"):
                before[unit] = {name: factor * value for name, value in speed[unit].items()}
            self.write("before.json", json.dumps(before))
            return self.run_program(*arguments, "--against", "before.json", "--json", code=code).json()["against"]

        self.assertTrue(against(1000, 1)["is_slower"])
        self.assertFalse(against(0.001, 0)["is_slower"])
        other = against(1000, 0, machine={**speed["machine"], "processor": "another"})
        self.assertFalse(other["is_slower"])
        self.assertIn("not judged: processor", other["text"])
        self.write("before.json", json.dumps({**speed, "stage": "g"}))
        self.assert_said(self.run_program(*arguments, "--against", "before.json", code=2), 'found that of "g"')
        self.write("before.json", "{}")
        self.assert_said(self.run_program(*arguments, "--against", "before.json", code=2),
                         "expected what `trainlab bench")
        self.assert_said(self.run_program(*arguments, "--tolerance", "3%", code=2), "means nothing without --against")
        self.assert_said(self.run_program(*arguments, "--against", "before.json", "--tolerance", "3", code=2),
                         "--tolerance: expected a percentage")

    def test_seconds(self):
        self.recipe()
        self.assert_said(self.run_program("profile", "r.lua", "--seconds", "0", code=2), "--seconds: expected")


if __name__ == "__main__":
    unittest.main()
