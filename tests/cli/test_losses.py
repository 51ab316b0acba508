"""Losses and metrics that a recipe writes in Lua, and reports of classes."""

import unittest

from program import CliTest, fit

CROSS_ENTROPY = "function(out, batch) return lab.ops.cross_entropy_loss(out, batch.y) end"


class Losses(CliTest):
    def loss(self, text, **options):
        """A recipe whose loss is this Lua expression, on line 6."""
        self.write("r.lua", fit(**options).replace('"cross_entropy"', text))

    def metrics(self):
        return self.train("--json").json()["metrics"]

    def test_a_loss_in_lua_trains_as_the_native_one(self):
        self.loss(CROSS_ENTROPY)
        own = self.metrics()
        self.recipe()
        native = self.metrics()
        self.assertAlmostEqual(own["val.loss"], native["val.loss"], places=4)

    def test_parts_of_a_sum(self):
        self.loss('lab.loss.sum { "cross_entropy", lab.loss.hinge { weight = 0.5 }, ' + CROSS_ENTROPY + " }")
        got = self.metrics()
        self.assertAlmostEqual(got["val.loss"], got["val.loss.cross_entropy"] + 0.5 * got["val.loss.hinge"]
                               + got["val.loss.function"], places=6)
        self.assertAlmostEqual(got["val.loss.cross_entropy"], got["val.loss.function"], places=5)

    def test_metrics_in_lua(self):
        self.recipe(more="""  metrics = { "accuracy", function(out, batch) return batch.size end,
    { name = "right", goal = "max",
      update = function(out, batch) return out:argmax(1):eq(batch.y):mean { dtype = "float32" } end },
    { name = "seen", init = function() return { n = 0 } end,
      update = function(state, _, batch) return { n = state.n + batch.size } end,
      compute = function(state) return state.n end } },
  monitor = "val.right",
""")
        got = self.metrics()
        self.assertEqual(got["val.metric_2"], 30)
        self.assertEqual(got["val.seen"], 30)
        self.assertAlmostEqual(got["val.right"], got["val.accuracy"], places=5)

    def test_what_is_no_loss(self):
        for text, said in (("function(out) return out end", ("expected a scalar tensor", "[16, 3]", ":mean()")),
                           ("function() return 1 end", ("found a number", ":item()")),
                           ("function() end", ("found nothing",)),
                           ("function() return lab.tensor { 1 } end", ("does not depend on the model's parameters",))):
            self.loss(text)
            self.assert_said(self.train(code=1), "r.lua:6: ", *said)

    def test_what_the_loss_refuses_names_the_line_of_the_fit(self):
        self.loss("lab.ops.cross_entropy_loss")
        self.assert_said(self.train(code=1), "r.lua:2: loss: lab.ops.cross_entropy_loss: argument 2 (target)",
                         "a function for a loss or a metric gets (out, batch)")
        self.recipe(data="lab.data.tensors(function() return lab.tensor.zeros({ 8, 6, 2 }), "
                         "lab.tensor.full({ 8, 3 }, 9, { dtype = 'int64' }) end)", loss="ctc", batch="8")
        self.assert_said(self.train(code=1),
                         "r.lua:2: loss: ctc: expected labels from 0 to 2, found one from 9 to 9")

    def test_an_error_in_a_loss_names_its_line_and_leaves_the_run_readable(self):
        self.loss("function(out, batch)\n    return out.missing:mean()\n  end")
        self.assert_said(self.train(code=1), "r.lua:7: ")
        self.assertEqual(self.summary(self.run_folder())["status"], "failed")

    def test_an_error_in_a_loss_late_in_a_run_leaves_what_was_trained(self):
        # The blobs' training part has 60 samples, four steps an epoch: the ninth fails.
        self.loss("""(function() local steps = 0; return function(out, batch)
    if out:requires_grad() then steps = steps + 1 end
    if steps == 9 then error("out of luck") end
    return lab.ops.cross_entropy_loss(out, batch.y)
  end end)()""", more='  checkpoint = "1 steps",\n')
        result = self.train(code=1)
        self.assert_said(result, "r.lua:8: ", "out of luck")
        run = self.run_folder()
        self.assert_status(run, "failed")
        self.assertEqual([row["epoch"] for row in self.rows(run)], [1, 2])
        self.assertTrue(list((run / "checkpoints").glob("last-000000008.safetensors")))
        self.assert_said(result, "the run is saved up to step 8, where it calls this function again")
        # A process of its own counts anew, and does not come to the ninth call.
        self.run_program("resume", run)
        self.assert_status(run, "done")
        self.assertEqual(self.summary(run)["steps"], 12)

    def test_labels_below_0_are_left_out_or_refused(self):
        data = ('lab.data.blobs { samples = 120 }:split { val = 0.25 }'
                ':map("y", function(y) return y - y:eq(0) * 100 end)')
        more = '  metrics = { "accuracy" },\n'
        self.loss("lab.loss.cross_entropy { ignore_index = -100 }", data=data, more=more)
        self.assertGreater(self.metrics()["val.accuracy"], 0)
        self.loss('"cross_entropy"', data=data, more=more)
        self.assert_said(self.train(code=1), "r.lua:", "loss: expected labels from 0, found -100 in the data",
                         "ignore_index = -100")

    def test_metrics_that_nothing_measures(self):
        self.recipe(data="lab.data.blobs { samples = 120 }", more='  metrics = { "accuracy" },\n')
        self.assert_said(self.train(), "warning: r.lua:", "metrics: are measured on the validation and the test part, "
                         "and the data has neither")

    def test_a_report_of_classes(self):
        self.recipe(more='  metrics = { "report" },\n')
        self.train()
        reports = self.summary(self.run_folder())["reports"]
        for name in ("val.report", "test.report"):
            self.assertEqual(sum(map(sum, reports[name]["matrix"])), 30)
        self.assertIn("test.report, predictions of each label", self.run_program("report", self.run_folder()).out)


if __name__ == "__main__":
    unittest.main()
