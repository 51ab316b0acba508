"""`trainlab profile`: the form of what it prints. Which verdict a fit deserves is a question for
tools/bench/verdicts.py."""

import html.parser
import json
import os
import pathlib
import re
import signal
import tempfile
import unittest

from browser import BROWSER, NODE, shown_by_scripts, told_in_browser
from program import SLOW_INPUT, SLOW_TRANSFORM, SOURCE, CliTest, fit, small_sweep
from verdict_words import SHARES, VERDICTS


class Nesting(html.parser.HTMLParser):
    """Raises where elements do not close in the order in which they opened."""

    ALONE = {"meta"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(text)
        self.close()
        if self.open:
            raise AssertionError(f"never closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes something else")


def data_of(page):
    """The object that a page shows."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


class Profile(CliTest):


    @classmethod
    def setUpClass(cls):
        cls.keep_machine()
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="shared-", dir=os.getcwd()))
        cls.made = {}

    def profile(self, *arguments, seconds="0.5", **options):
        """With so few seconds nearly all of them are for the steps, and no remedies are tried."""
        return self.run_program("profile", *arguments, "--seconds", seconds, "--threads", "1", "--json",
                                **options).json()

    def once(self, make):
        """Calls the method once for all tests, in the folder that they share, and returns its result to each."""
        if make.__name__ not in self.made:
            own, self.folder = self.folder, self.shared
            self.made[make.__name__] = make()
            self.folder = own
        return self.made[make.__name__]

    def of_a_small_fit(self):
        """With a page and a trace."""
        self.recipe(more="  loader = { threads = 1 },\n")
        return self.profile("r.lua", "--html", "p.html", "--trace", "t.json")

    def of_a_task(self):
        """The task has more epochs than are measured, because at its end it tests its model outside of a step."""
        return self.profile(SOURCE / "recipes" / "by_hand.lua", "--html", "task.html", "--trace", "task.json",
                            "--epochs", "1000")

    def of_remedies(self):
        """The net is so small that nearly all of a step is calls of operators: larger batches are remedies."""
        self.recipe("small.lua", more='  metrics = { "accuracy" }, monitor = "val.accuracy",\n')
        return self.profile("small.lua", "--quality", "1 s", "--html", "small.html", seconds="15")

    def text_by_layer(self):
        """The trace of an earlier profile is there already."""
        self.once(self.of_a_small_fit)
        return self.run_program("profile", "r.lua", "--seconds", "0.3", "--threads", "1", "--by", "layer", "--trace",
                                "t.json").out

    def check_categories(self, memory):
        """The tensors add up to the peak, and all categories to what the process holds."""
        categories = memory["categories"]
        self.assertGreater(categories["lua"], 0)
        self.assertEqual(sum(categories.values()), memory["resident"])
        self.assertEqual(memory["resident"] - categories["lua"] - categories["program"], memory["peak"])

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
        """A fit has layers and memory. The machine is measured when there is no other work on it, or was before."""
        layers, steps = profile["layers"], profile["layer_steps"]
        self.assertAlmostEqual(sum(row["forward"] + row["backward"] for row in layers) / steps["step_seconds"], 1,
                               delta=0.01)
        for name in ("loss", "backward", "optimizer"):
            self.assertIn(name, [row["path"] for row in layers])
        self.assertTrue(any("Linear" in row["path"] and row["flops"] > 0 for row in layers), layers)
        memory = profile["memory"]
        self.assertGreater(profile["predicted"]["peak"], 0)
        self.assertGreater(memory["categories"]["weights"], 0)
        self.check_categories(memory)
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

    def test_text_begins_with_the_verdict_and_changes_are_applied(self):
        self.recipe()
        text = self.run_program("profile", "r.lua", "--seconds", "0.3", "--threads", "1").out
        self.assertIn(text.split(":")[0], VERDICTS)
        for word in ("confidence", "samples/s", "launch_gap", "operators", "at its peak, in ", "8 of 11 rows"):
            self.assertIn(word, text)
        self.assertRegex(text, "backward (µs|ms) ")
        recipe = self.changes_of()
        self.write("faster.toml", recipe + '\nstage = "f"\nset = [ "batch=8", "epochs=2" ]\nthreads = 1\n')
        summary = self.run_program("run", "r.lua", "--apply", "faster.toml", "--json").json()
        self.assertEqual(summary["steps"], 2 * 60 // 8 + 1)
        summary = self.run_program("run", "r.lua", "--apply", "faster.toml", "--set", "epochs=1", "--json").json()
        self.assertEqual(summary["steps"], 60 // 8 + 1)
        self.write("faster.toml", recipe + '\nstage = "f"\nset = []\n')
        for quiet in ((), ("--quiet",)):
            self.assert_said(self.run_program("run", "r.lua", "--apply", "faster.toml", *quiet),
                             "warning: --apply ", "faster.toml: the file has no changes, so that it changes nothing")
        self.write("faster.toml", recipe + '\nstage = "g"\nset = [ "batch=8" ]\n')
        self.run_program("run", "r.lua", "--apply", "faster.toml", code=2)
        self.write("faster.toml", recipe + '\nstage = "f"\n')
        self.assert_said(self.run_program("run", "r.lua", "--apply", "faster.toml", code=2),
                         "expected a list under set")
        self.write("faster.toml", recipe + '\nstage = "f"\nset = [ "batch=8" ]\n')
        self.recipe(epochs="4")
        self.assert_said(self.run_program("run", "r.lua", "--apply", "faster.toml", code=2),
                         "the changes were tried with another text of the recipe",
                         "; or make them as they are: --set f:batch=8")

    def test_changes_that_no_time_was_left_to_try_replace_no_earlier_ones(self):
        self.recipe(**SLOW_INPUT)
        earlier = self.changes_of() + '\nstage = "f"\nset = [ "batch=8" ]\n'
        self.write("c.toml", earlier)
        told = self.run_program("profile", "r.lua", "--seconds", "0.3", "--threads", "1", "--apply", "c.toml", code=3)
        self.assert_said(told, "--apply: not written, because no time was left for the remedies")
        self.assertIn("not tried: no time left (--seconds ", told.out)
        self.assertEqual((self.folder / "c.toml").read_text(), earlier)

    def test_all_rows_of_a_table(self):
        self.recipe()
        arguments = ["profile", "r.lua", "--seconds", "0.3", "--threads", "1", "--by"]
        text = self.once(self.text_by_layer)
        for path in ("model[1].Linear", "model[2].ReLU", "model[3].Dropout", "model[4].Linear", "fetch", "optimizer"):
            self.assertRegex(text, rf"(?m)^{re.escape(path)} +[\d.]+ +[\d.]+ ")
        text = self.run_program(*arguments, "operator").out
        self.assertRegex(text, r"(?m)^aten::addmm +[\d.]+ ")
        self.assertRegex(text, r"\nmodel\[1\]\.Linear +[\d.]+ +[\d.]+\n(  .*\n)*  aten::addmm +[\d.]+ ")
        self.assert_said(self.run_program(*arguments, "phase", code=2), "--by")

    def check_nesting(self, spans):
        """Spans of a thread lie within each other or apart, to the nanosecond. Returns the outermost spans around a
        layer."""
        extents, around = {}, set()
        for event in spans:
            begin = round(1000 * event["ts"])
            extents.setdefault(event["tid"], []).append((begin, begin + round(1000 * event["dur"]), event["name"]))
        for of_thread in extents.values():
            open_spans = []
            for begin, end, name in sorted(of_thread, key=lambda one: (one[0], -one[1])):
                while open_spans and open_spans[-1][0] <= begin:
                    open_spans.pop()
                if open_spans:
                    self.assertLessEqual(end, open_spans[-1][0], f"{name} in {open_spans[-1][1]}")
                if "Linear" in name:
                    around.add(open_spans[0][1])
                open_spans.append((end, name))
        return around

    def test_a_trace_of_a_task(self):
        self.once(self.of_a_task)
        events = json.loads((self.shared / "task.json").read_text())["traceEvents"]
        spans = [event for event in events if event["ph"] == "X"]
        self.assertLessEqual({"step", "fetch", "lab.build.model[2].Linear", "aten::addmm", "AddmmBackward0"},
                             {event["name"] for event in spans})
        self.assertGreaterEqual(sum(event["name"] == "step" for event in spans), 3)
        self.assertEqual(self.check_nesting(spans), {"step"})
        self.assertEqual({event["name"] for event in events if event["ph"] == "C"}, {"tensor memory"})

    def test_a_trace(self):
        self.once(self.text_by_layer)
        with open(self.shared / "t.json") as file:
            events = json.load(file)["traceEvents"]
        threads = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
        self.assertEqual(threads[0], "training")
        spans = [event for event in events if event["ph"] == "X"]
        names = {event["name"] for event in spans}
        for name in ("step", "forward", "model[1].Linear", "aten::addmm", "AddmmBackward0", "optimizer", "gather"):
            self.assertIn(name, names)
        steps = [event for event in spans if event["name"] == "step"]
        self.assertGreaterEqual(len(steps), 3)
        around = self.check_nesting(spans)
        self.assertLessEqual(around, {"step", "validate"})
        self.assertIn("step", around)
        counters = {event["name"] for event in events if event["ph"] == "C"}
        self.assertEqual(counters, {"tensor memory", "batches ready", "samples per second"})

    def test_a_trace_that_cannot_be(self):
        self.recipe()
        away = self.run_program("profile", "r.lua", "--seconds", "0.3", "--trace", "no/folder/t.json", code=2)
        self.assert_said(away, "no/folder/t.json")
        recipe = (self.folder / "r.lua").read_text()
        mine = self.run_program("profile", "r.lua", "--seconds", "0.3", "--trace", "r.lua", code=2)
        self.assert_said(mine, "--trace: ", "r.lua is there already, and is no trace of trainlab", "hint: ")
        self.assertEqual((self.folder / "r.lua").read_text(), recipe)
        self.assertEqual(os.listdir(self.folder), ["r.lua"])

    def test_a_page(self):
        profile, text = self.once(self.of_a_small_fit), (self.shared / "p.html").read_text()
        tags = Nesting(text).tags
        # Nothing is fetched: no address in an element, and a browser is told to refuse what a script might ask for.
        self.assertFalse([tag for tag, attributes in tags if "src" in attributes or "href" in attributes])
        self.assertIn("default-src 'none'", text)
        self.assertLess(len(text), 600_000)
        data = data_of(text)
        timeline = data.pop("timeline")
        self.assertEqual(data, profile)
        # The last steps: each span lies within one that is a level higher on its thread, or on the first level.
        self.assertEqual(timeline["threads"][0], "training")
        self.assertEqual(timeline["steps"], 3)
        names = timeline["names"]
        by_level = {}
        for thread, depth, kind, name, begin, seconds in timeline["spans"]:
            self.assertTrue(begin >= 0 and seconds >= 0 and name < len(names))
            self.assertIn(kind, ("phase", "layer", "recipe", "operator", "input"))
            by_level.setdefault((thread, depth), []).append((begin, begin + seconds))
        for (thread, depth), spans in by_level.items():
            for begin, end in spans if depth > 0 else ():
                self.assertTrue(any(a <= begin and end <= b for a, b in by_level[thread, depth - 1]))
        steps = [span for span in timeline["spans"] if names[span[3]] == "step"]
        self.assertEqual([(span[0], span[1]) for span in steps], [(0, 0)] * 3)
        self.assertTrue({"forward", "model[1].Linear", "aten::addmm"} <= {names[span[3]] for span in timeline["spans"]})

    @unittest.skipUnless(NODE, "there is no node")
    def test_what_the_scripts_of_a_page_show(self):
        profile, text = self.once(self.of_a_small_fit), (self.shared / "p.html").read_text()
        shown = shown_by_scripts(self, self.shared / "p.html", "forward ms")
        self.assertEqual(shown["title"], f"r.lua: {profile['verdict']}")
        for sentence in profile["evidence"]:
            self.assertIn(sentence, shown["texts"])
        charts = {chart["title"]: chart for chart in shown["charts"]}
        self.assertTrue({"A step", "Memory over a step", "Memory at the peak", "Timeline"} <= set(charts))
        self.assertEqual("Input" in charts, profile["pipeline"] is not None)
        parts = {one["label"].split()[0]: one["data"][0] for one in charts["A step"]["sets"]}
        self.assertEqual(parts, {name: share for name, share in profile["shares"].items() if share >= 0.0005})
        curve = charts["Memory over a step"]["sets"][0]["data"]
        self.assertEqual(max(point["y"] for point in curve), profile["memory"]["peak"])
        at_peak = charts["Memory at the peak"]
        self.assertEqual(dict(zip(at_peak["labels"], at_peak["sets"][0]["data"])),
                         {name: count for name, count in profile["memory"]["categories"].items() if count > 0})
        spans = sum(len(one["data"]) for one in charts["Timeline"]["sets"])
        timeline = data_of(text)["timeline"]
        self.assertEqual(spans, len(timeline["spans"]))
        first = charts["Timeline"]["sets"][0]["data"][0]["x"]
        self.assertEqual(shown["zooms"], [first, [0, timeline["seconds"] * 1e3]])
        # Two clicks on a head sort its column, the largest first.
        layers = next(table for table in shown["tables"] if table["heads"][0] == "layer")
        rows = sorted(profile["layers"], key=lambda row: -row["forward"])
        self.assertEqual(len(layers["rows"]), len(rows))
        self.assertEqual(layers["rows"][0][0], rows[0]["path"])
        self.assertEqual(float(layers["rows"][0][1]), float(f"{rows[0]['forward'] * 1e3:.4g}"))
        remedies = [table for table in shown["tables"] if table["heads"][0] == "change"]
        self.assertEqual(len(remedies), 1 if profile["remedies"] else 0)
        for row, remedy in zip(remedies[0]["rows"] if remedies else [], profile["remedies"]):
            self.assertEqual(row[0], remedy["name"])
            self.assertEqual(row[-1], remedy["result"] or f"not tried: {remedy['reason']}")

    @unittest.skipUnless(BROWSER, "there is no chromium")
    def test_a_page_in_a_browser(self):
        """Each chart is drawn, rows of the timeline lie below each other, a click on a head sorts, and clicks on the
        timeline zoom in and out."""
        profile, text = self.once(self.of_a_small_fit), (self.shared / "p.html").read_text()
        told = told_in_browser(self, text, """
          const button = [...document.querySelectorAll("th button")].find(one => one.textContent === "forward ms");
          button.click(); button.click();
          const first = button.closest("table").tBodies[0].rows[0].cells[0].innerText;
          const canvases = [...document.querySelectorAll("canvas")];
          const missing = canvases.filter(one => !Chart.getChart(one) || one.width === 0).length;
          const timeline = canvases.map(one => Chart.getChart(one)).find(one => one.options.onClick);
          const shown = () => (timeline.scales.x.max - timeline.scales.x.min).toFixed(6);
          const act = timeline.options.onClick;
          const clicked = (x, y) => new Promise(done => {  // Chart.js takes events when it draws
            timeline.options.onClick = (...event) => { act(...event); done(shown()); };
            const place = timeline.canvas.getBoundingClientRect();
            const at = {clientX: place.left + x, clientY: place.top + y, bubbles: true};
            timeline.canvas.dispatchEvent(new MouseEvent("click", at));
          });
          const whole = shown();
          const bar = timeline.getDatasetMeta(0).data[0];
          const near = await clicked((bar.base + bar.x) / 2, bar.y);
          const far = await clicked(timeline.chartArea.left + 9, timeline.scales.y.getPixelForValue(-0.65));
          const y = timeline.scales.y, overlaps = y.getPixelForValue(1) - y.getPixelForValue(0) < bar.height;
          const zooms = [Number(near) < Number(whole), far === whole].join(" ");
          told(`${missing} missing, overlaps ${overlaps}, first ${first}, ${zooms}`);
        """)
        first = max(profile["layers"], key=lambda row: row["forward"])["path"]
        self.assertEqual(told, f"0 missing, overlaps false, first {first}, true true")

    def test_text_of_a_recipe_cannot_break_a_page(self):
        evil = "</script><script>alert(1)</script><!--"
        # The functions between steps are called while steps are timed, not in the trainings whose layers or memory are
        # measured: the second of these fails, and the page says why, in the recipe's words.
        start = f'if stale and not told then told = true; error("{evil}") end; stale = true'
        functions = f"start = function() {start} end, step = function() stale = false end"
        self.recipe("<script>&<!--.lua", more=f"  on = {{ {functions} }},\n")
        recipe = self.folder / "<script>&<!--.lua"
        recipe.write_text("local stale, told\n" + recipe.read_text())
        profile = self.profile("<script>&<!--.lua", "--html", "p.html")
        text = (self.folder / "p.html").read_text()
        self.assertTrue(any(evil in one for one in profile["missing"]), profile["missing"])
        Nesting(text)
        self.assertNotIn(evil, text)
        self.assertNotIn("<script>&", text)
        self.assertNotIn("<!--", text)
        data = data_of(text)
        data.pop("timeline")
        self.assertEqual(data, profile)
        if NODE:
            shown = shown_by_scripts(self, self.folder / "p.html")
            self.assertIn("<script>&<!--.lua: ", shown["title"])
            self.assertTrue(any(evil in one for one in shown["texts"]))

    def test_a_page_of_a_task(self):
        profile = self.once(self.of_a_task)
        data = data_of((self.shared / "task.html").read_text())
        timeline = data.pop("timeline")
        self.assertEqual(data, profile)
        self.assertEqual((timeline["threads"], timeline["steps"]), (["training"], 3))
        if NODE:
            shown = shown_by_scripts(self, self.shared / "task.html")
            self.assertEqual([chart["title"] for chart in shown["charts"]],
                             ["A step", "Memory over a step", "Memory at the peak", "Timeline"])
            self.assertTrue(any(text.startswith("At most ") and "predicted" not in text for text in shown["texts"]))

    def test_a_page_of_a_fit_without_a_timed_step(self):
        self.recipe(epochs="nil, steps = 1")
        profile = self.profile("r.lua", "--html", "p.html")
        self.assertEqual((profile["verdict"], profile["steps"]), ("unknown", 0))
        for unknown in ("step_seconds", "samples_per_second", "share", "wall_seconds", "shares"):
            self.assertIsNone(profile[unknown])
        if NODE:
            shown = shown_by_scripts(self, self.folder / "p.html")
            self.assertNotIn("A step", [chart["title"] for chart in shown["charts"]])
            self.assertIn("fit f of r.lua; confidence none", shown["texts"])

    def test_a_page_that_cannot_be_written(self):
        self.recipe()
        away = self.run_program("profile", "r.lua", "--html", "no/folder/p.html", code=2)
        self.assert_said(away, "--html: cannot create ", "no/folder/p.html: No such file or directory")
        self.assertNotIn("measuring", away.err)
        self.write("folder/x", "")
        full = self.run_program("profile", "r.lua", "--seconds", "0.3", "--threads", "1", "--html", "p.html", code=3,
                                before=["bash", "-c", 'ulimit -f 4 && exec "$@"', "bash"])
        self.assert_said(full, "p.html")
        self.assertEqual(sorted(os.listdir(self.folder)), ["folder", "r.lua"])

    def beside(self, *arguments):
        return self.run_program("profile", *arguments, "--seconds", "2", "--threads", "1", "--json").json()

    def check_beside(self, stages):
        self.assertEqual((stages["kind"], stages["status"], stages["pairs"]), ("profiles", "done", 8))
        self.assertIn(stages["verdict"], ("faster", "slower", "equal", "unclear"))
        for interval in (stages["ratio"], stages["a"]["step_seconds"], stages["b"]["step_seconds"]):
            self.assertTrue(0 < interval["low"] <= interval["median"] <= interval["high"], stages)
        self.assertEqual([part["name"] for part in stages["parts"]],
                         [name for name in SHARES if name != "launch_gap"])
        for part in stages["parts"]:
            self.assertTrue(part["difference"]["low"] <= part["difference"]["median"] <= part["difference"]["high"])

    def test_two_recipes_beside_each_other(self):
        """A function of the second recipe counts for several steps' time after each step."""
        self.recipe("a.lua")
        self.recipe("b.lua", model="nn.Sequential { nn.Linear(8), nn.Tanh(), nn.Linear(3) }", batch="32",
                    more="  on = { step = function() for i = 1, 1000000 do end end },\n")
        stages = self.beside("a.lua", "b.lua")
        self.check_beside(stages)
        self.assertEqual((stages["a"]["recipe"], stages["b"]["recipe"]), ("a.lua", "b.lua"))
        self.assertEqual((stages["a"]["samples"], stages["b"]["samples"]), (15, 30))
        self.assertGreater(stages["speed_ratio"]["median"], 0)
        self.assertEqual(stages["missing"], [])
        rows = {row["path"]: row for row in stages["layers"]}
        both, only_a, only_b = rows["model[1].Linear"], rows["model[3].Dropout"], rows["model[2].Tanh"]
        self.assertTrue(both["a"] > 0 and both["b"] > 0 and both["difference"])
        self.assertEqual((only_a["b"], only_a["difference"]), (None, None))
        self.assertEqual((only_b["a"], only_b["difference"]), (None, None))
        text = self.run_program("profile", "a.lua", "b.lua", "--seconds", "1", "--threads", "1").out
        self.assertRegex(text, r"^(faster|slower|equal|unclear): a step of B takes [\d.]+ \([\d.]+ to [\d.]+\) times")
        for word in ("fit f of a.lua", "fit f of b.lua", "samples/s", "forward", "only in A", "8 pairs of short runs",
                     "The largest difference lies in recipe: B takes "):
            self.assertIn(word, text)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.lua", "b.lua"])
        # Much more work is slower, and lies where it is.
        self.assertEqual(stages["verdict"], "slower")
        self.assertGreater(stages["ratio"]["low"], 1)
        parts = {part["name"]: part["difference"] for part in stages["parts"]}
        self.assertGreater(parts["recipe"]["low"], 0)
        self.assertEqual(max(parts, key=lambda name: parts[name]["median"]), "recipe")

    def test_a_recipe_beside_itself_with_other_options(self):
        self.recipe()
        stages = self.beside("r.lua", "--with", "batch=32", "--with", "model[1].out_features=4", "--set", "batch=8")
        self.check_beside(stages)
        self.assertEqual((stages["a"]["samples"], stages["b"]["samples"]), (7.5, 30))
        self.assertEqual(stages["a"]["note"], None)
        self.assertEqual(stages["b"]["note"], "with batch=32, model[1].out_features=4")
        self.assertEqual([row["path"] for row in stages["layers"] if row["difference"] is None], [])

    def test_tasks_and_stages_beside_each_other(self):
        self.write("a.lua", "lab.run((function()\n" + fit() + "end)())\nreturn nil\n")
        stages = self.beside("a.lua", SOURCE / "recipes" / "by_hand.lua")
        self.check_beside(stages)
        self.assertEqual((stages["a"]["stage_kind"], stages["b"]["stage_kind"]), ("fit", "task"))
        self.assertIsNone(stages["speed_ratio"])
        paths = {row["path"]: row["difference"] for row in stages["layers"]}
        self.assertIsNone(paths["lab.build.model[2].Linear"])
        self.assertIsNotNone(paths["optimizer"])

    def test_what_cannot_be_compared(self):
        self.recipe("a.lua")
        self.recipe("b.lua", optim="lab.optim.AdamW { lr = -1 }")
        told = self.run_program("profile", "a.lua", "b.lua", code=1)
        self.assert_said(told, "b.lua:7: ", "lr")
        self.assert_said(self.run_program("profile", "a.lua", "c.lua", code=2), "there is no recipe c.lua")
        self.assert_said(self.run_program("profile", "a.lua", "a.lua", "a.lua", code=2), "one recipe or two")
        self.assert_said(self.run_program("profile", "a.lua", "--with", "batc=3", code=2),
                         "--with batc=3: ", "batch")
        self.assert_said(self.run_program("profile", "a.lua", "--with", "g:batch=3", code=2),
                         '--with g:batch=3: the recipe has no stage "g"')
        for flag in ("html", "trace", "apply"):
            told = self.run_program("profile", "a.lua", "a.lua", f"--{flag}", "x", code=2)
            self.assert_said(told, f"--{flag} belongs to the profile of one recipe")
        self.write("s.lua", "local function build(hp)\n" + fit(optim="lab.optim.SGD { lr = hp.lr }") + """end
            return lab.sweep { name = "search", metric = "val.loss", trials = 4, build = build,
                               space = { lr = lab.space.log(0.01, 0.1) } }
        """.replace("            ", ""))
        self.assert_said(self.run_program("profile", "s.lua", "--with", "batch=8", code=2),
                         "--with batch=8: ", "there is no option 'batch'")
        self.recipe("fails.lua", more="  on = { step = function(run) if run.step == 3 then error('mine') end end },\n")
        told = self.run_program("profile", "a.lua", "fails.lua", "--seconds", "1", code=1)
        self.assert_said(told, "fails.lua:10", "mine")
        self.recipe("slow.lua", more="  on = { step = function() for i = 1, 50000000 do end end },\n")
        told = self.run_program("profile", "a.lua", "slow.lua", "--seconds", "0.1", code=2)
        self.assert_said(told, "a step takes ", "--seconds 0.1 leave 0.1 s for each of 16 short runs", "--seconds ")

    def test_a_table_of_a_file(self):
        profile = self.profile(SOURCE / "recipes" / "tabular.lua")
        self.check_form(profile)
        self.check_details(profile)

    def test_slow_input_by_its_stages(self):
        self.recipe(**SLOW_INPUT)
        profile = self.profile("r.lua")
        self.check_details(profile)
        self.assertEqual(profile["otherwise"], "input")
        pipeline = profile["pipeline"]
        self.assertEqual((pipeline["limits"], pipeline["batch"]), ("augment", 16))
        self.assertGreater(pipeline["augment"]["seconds"], pipeline["gather"]["seconds"])
        if profile["verdict"] == "input":
            self.assertIn("The slowest stage of the input is augment.", profile["evidence"])
        text = self.run_program("profile", "r.lua", "--seconds", "1", "--threads", "1").out
        self.assertIn('"augment" takes longest', text)

    def test_a_run_that_waits_for_its_input_says_which_command_tells_more(self):
        self.write("folder/slow.lua", fit(**SLOW_INPUT, epochs="1000000"))
        running = self.start("run", "folder/slow.lua", "--threads", "1", "--out", "here")
        running.until_said(" of the training time; what limits the input is said by: trainlab profile folder/slow.lua")
        running.send(signal.SIGTERM)
        self.end(running, 143)

    def test_buffers_of_a_validation_are_no_part_of_the_memory_of_a_step(self):
        self.recipe(data="lab.data.digits():split { train = 0.5, val = 0.5 }",
                    model="nn.Sequential { nn.Flatten(), nn.Linear(10) }")
        profile = self.profile("r.lua", "--set", 'validate="1 steps"')
        self.assertLess(profile["memory"]["peak"], 1.05 * profile["predicted"]["peak"])

    def test_a_transform_is_work_of_the_host(self):
        self.recipe(data=SLOW_TRANSFORM)
        profile = self.profile("r.lua")
        self.assertEqual(profile["otherwise"], "host")
        self.assertGreater(profile["shares"]["recipe"], profile["shares"]["input"])
        if profile["verdict"] == "host":
            self.assertTrue(any(one.startswith("The function that takes longest, transform, takes ")
                                for one in profile["evidence"]), profile)
        self.assertEqual(profile["pipeline"]["limits"], "transform")
        rows = {row["path"]: row["forward"] for row in profile["layers"]}
        self.assertGreater(rows["transform"], rows["fetch"])
        remedies = [one["name"] for one in profile["remedies"]]
        self.assertIn("augment and map instead of transform", remedies)
        self.assertNotIn("more loader threads", remedies)

    def test_rarer_validations_where_the_function_at_validations_takes_the_time(self):
        """A quarter of the calls takes a quarter of the time, and no step is faster: the gain is no more than 4."""
        self.recipe(more="  on = { validate = function() local s = 0; for i = 1, 2e7 do s = s + i % 7 end end },\n")
        profile = self.profile("r.lua", seconds="20")
        self.assertEqual(profile["otherwise"], "host", profile["evidence"])
        rarer = profile["remedies"][0]
        self.assertEqual(rarer["name"], "validations a quarter as often")
        if str(rarer["reason"]).startswith("no time left"):
            self.skipTest("this machine is too busy for the remedies of the verdict")
        self.assertIn("when on.validate is called", rarer["result"])
        self.assertGreater(rarer["ratio"]["median"], 1)
        self.assertLess(rarer["ratio"]["low"], 4)

    def test_the_machine_is_measured_once(self):
        self.recipe()
        first, second = (self.profile("r.lua")["machine"] for _ in range(2))
        if first and "not_stored" not in first:
            self.assertEqual(second, first)

    def test_a_short_stage_is_measured_for_a_short_time_and_prints_once(self):
        self.write("short.lua", """return lab.task { name = "t", run = function(ctx)
  print("it begins")
  for step in ctx:steps(40) do ctx:log("step", lab.tensor.ones({ 8, 8 }):sum()) end
end }
""")
        result = self.run_program("profile", "short.lua", "--threads", "1", "--json")
        self.assertEqual(result.err.count("it begins"), 1, result)
        self.assertNotIn("warning", result.err, result)
        self.assertLess(result.json()["allowed_seconds"], 30)
        result = self.run_program("profile", "short.lua", "--threads", "1", "--json", "--seconds", "0.5")
        self.assertAlmostEqual(result.json()["allowed_seconds"], 0.5)
        result = self.run_program("profile", "short.lua", "short.lua", "--seconds", "1")
        self.assertEqual(result.err.count("it begins"), 2, result)

    def test_of_a_sweep_the_first_trial(self):
        self.write("r.lua", "local function build(hp)\n" + fit(optim="lab.optim.SGD { lr = hp.lr }") + """end
            return lab.sweep { name = "search", metric = "val.loss", trials = 4, build = build,
                               space = { lr = lab.space.log(0.01, 0.1) } }
        """.replace("            ", ""))
        profile = self.profile("r.lua")
        self.check_form(profile)
        self.assertEqual(profile["stage"], "f")
        self.assertRegex(profile["note"], r"^trial 0 of sweep search \(lr = 0\.0[\d]+\)$")

    def test_a_task_and_what_its_recipe_reads(self):
        profile = self.once(self.of_a_task)
        self.check_form(profile)
        self.assertEqual(profile["stage_kind"], "task")
        for name in ("predicted", "pipeline"):
            self.assertIsNone(profile[name])
        memory = profile["memory"]
        self.check_categories(memory)
        self.assertEqual(memory["counted_peak"], memory["peak"])
        weights, moments = memory["categories"]["weights"], memory["categories"]["optimizer"]
        parameters = 4 * (64 * 64 + 64 + 64 * 10 + 10)
        self.assertTrue(parameters <= weights <= 1.3 * parameters, "blocks are larger than the numbers in them")
        self.assertAlmostEqual(moments, 2 * weights, delta=0.01 * weights)
        rows = {row["path"]: row for row in profile["layers"]}
        self.assertLessEqual({"lab.build.model[2].Linear", "lab.build.model[3].ReLU", "own step", "optimizer"},
                             set(rows))
        # Which of the layers hold something at the peak depends on when Lua collects.
        for row in memory["layers"]:
            self.assertRegex(row["path"], r"^lab\.build\.(model\[[1-5]\]\.\w+|output)$")
        self.assertEqual(memory["categories"]["activations"], sum(row["activations"] for row in memory["layers"]))
        steps = profile["layer_steps"]
        self.assertAlmostEqual(sum(row["forward"] + row["backward"] for row in rows.values()), steps["step_seconds"],
                               delta=0.05 * steps["step_seconds"])
        self.assertGreater(profile["phase_seconds"]["backward"], 0)

    def test_what_earlier_passes_of_a_task_left_is_the_scripts(self):
        """Lua collects what a pass has made some passes later, when it likes. A layer keeps no more than one pass
        needs: the numbers of its output for a batch of 64, in a block that is larger by a part."""
        self.write("t.lua", """return lab.task { name = "t", run = function(ctx)
              local model = lab.build(lab.nn.Sequential { lab.nn.Linear(64), lab.nn.ReLU(), lab.nn.Linear(10) },
                                      { input = { 64 }, seed = 1 })
              local opt = lab.optimizer(lab.optim.SGD { lr = 0.01 }, model:parameters())
              local x, y = lab.tensor.ones { 64, 64 }, lab.tensor.ones { 64, 10 }
              for step in ctx:steps(1000000) do
                local loss = lab.ops.mse_loss(model:forward(x), y)
                opt:zero_grad()
                loss:backward()
                opt:step()
              end
            end }""")
        memory = self.profile("t.lua")["memory"]
        kept = {row["path"].removeprefix("lab.build."): row["activations"] for row in memory["layers"]}
        # The peak comes after the ReLU, by a pass's own tensors, which are more than what a pass leaves; where Lua
        # collects early in the pass, before the last layer.
        self.assertIn("model[2].ReLU", kept, memory)
        outputs = {"model[1].Linear": 64, "model[2].ReLU": 64, "model[3].Linear": 10, "output": 10}
        self.assertLessEqual(set(kept), set(outputs))
        for path, count in kept.items():
            self.assertLessEqual(count, 1.5 * 4 * 64 * outputs[path], path)
        categories = memory["categories"]
        self.assertEqual(categories["activations"], sum(kept.values()))
        # The step after hundreds of others holds what they have left, which is the script's, and nothing else's.
        self.assertGreater(categories["script"], 4 * 64 * 64)
        self.assertLess(categories["script"], 64 << 20)
        self.assertLess(categories["other"], 1 << 20, categories)

    def test_reads_of_an_own_step_are_synchronisation(self):
        self.recipe(more="  loader = { threads = 0 },\n  step = function(run, batch)\n"
                         "    local out = run.model:forward(batch.x)\n"
                         "    local loss = lab.ops.cross_entropy_loss(out, batch.y)\n    run.optim:zero_grad()\n"
                         "    loss:backward()\n    run.optim:step()\n    loss:item()\n"
                         "    return { loss = loss }\n  end,\n")
        profile = self.profile("r.lua")
        self.check_form(profile)
        for phase in ("read", "backward", "optimizer", "callback"):
            self.assertGreater(profile["phase_seconds"][phase], 0)
        self.assertGreater(profile["shares"]["synchronisation"], 0)
        self.assertIn("own step", [row["path"] for row in profile["layers"]])
        self.assertEqual(profile["predicted"]["estimated_because"], "the step is a function of the recipe")
        self.assertGreater(profile["memory"]["peak"], profile["predicted"]["peak"])
        # What earlier runs have left for Lua to collect is no part of the measured steps.
        memory = profile["memory"]["categories"]
        self.assertLess(max(memory["script"], memory["weights"]), 1024, memory)
        self.assertLess(memory["optimizer"], 2048, memory)
        self.assertRegex(self.run_program("check", "r.lua").out,
                         r"memory \(at least\) +a step at least \S+ \S+: weights .*; more is not known, because the "
                         r"step is a function of the recipe\n +the training at least ")

    def test_stages(self):
        self.write("r.lua", "lab.run((function()\n" + fit() + "end)())\n" + fit().replace('"f"', '"g"'))
        self.assertEqual(self.profile("r.lua")["stage"], "f")
        self.recipe()
        result = self.run_program("profile", "r.lua", "--stage", "g", code=2)
        self.assert_said(result, '--stage g: r.lua has no such stage, only "f"')
        self.assertEqual(self.profile("r.lua", "--stage", "f", "--set", "batch=8")["stage"], "f")
        self.write("r.lua", "return nil\n")
        self.assert_said(self.run_program("profile", "r.lua", code=2), "no stage was measured")

    def test_remedies(self):
        for remedy in self.once(self.of_remedies)["remedies"]:
            self.assertEqual(set(remedy), {"bytes", "ended_by", "name", "pairs", "quality", "ratio", "reason", "result",
                                           "set", "tried"})
            self.assertEqual(remedy["tried"], remedy["reason"] is None, remedy)
            self.assertEqual(remedy["tried"], remedy["ratio"] is not None, remedy)
            self.assertEqual(remedy["tried"], remedy["pairs"] is not None, remedy)
            self.assertIsInstance(remedy["set"], list)

    def test_a_smaller_model_is_tried(self):
        wide = "nn.Sequential { nn.Linear(512), nn.GELU(), nn.Linear(512), nn.GELU(), nn.Linear(3) }"
        self.recipe(model=wide, batch="64", data="lab.data.blobs { samples = 1024 }:split { val = 0.25 }")
        profile = self.profile("r.lua", seconds="60")
        halves = [one for one in profile["remedies"] if one["name"] == "half the features of hidden layers"]
        self.assertEqual([one["set"] for one in halves],
                         [["model[1].out_features=256", "model[3].out_features=256"]], profile["verdict"])
        self.assertEqual((halves[0]["reason"], halves[0]["result"]), (None, "changes the result"))
        self.assertGreater(halves[0]["ratio"]["median"], 1.2)
        self.assertGreater(halves[0]["bytes"], 0)

    def test_the_seconds_are_those_of_the_remedies_too(self):
        """A change that is not tried for want of time says so, with the seconds that would be enough."""
        profile = self.once(self.of_a_small_fit)
        self.assertAlmostEqual(profile["allowed_seconds"], 0.5)
        options = [remedy for remedy in profile["remedies"] if remedy["set"]]
        self.assertTrue(options or profile["verdict"] in ("contention", "none", "unknown"), profile["verdict"])
        for remedy in options:
            self.assertRegex(remedy["reason"], r"^no time left \(--seconds \d+ tries all\)$")
            self.assertIsNone(remedy["quality"])

    def test_the_quality_of_remedies(self):
        profile = self.once(self.of_remedies)
        for remedy in profile["remedies"]:
            quality = remedy["quality"]
            changes = str(remedy["result"]).startswith(("changes the result", "may change the result"))
            self.assertEqual(quality is not None, changes, remedy)
            if not quality:
                continue
            self.assertEqual((quality["metric"], quality["goal"], quality["pairs"]), ("val.accuracy", "max", 5))
            self.assertAlmostEqual(quality["seconds"], 0.1)
            self.assertIsNone(quality["reason"])
            difference = quality["difference"]
            self.assertAlmostEqual(difference["mean"], quality["with"] - quality["without"], delta=1e-9)
            self.assertTrue(difference["low"] <= difference["mean"] <= difference["high"], quality)
            self.assertIn(quality["verdict"], ("better", "worse", "unclear"))
            self.assertEqual(quality["failed"], {"without": 0, "with": 0})
        self.assertEqual(data_of((self.shared / "small.html").read_text())["remedies"], profile["remedies"])
        if NODE:
            shown = shown_by_scripts(self, self.shared / "small.html")
            tables = [table for table in shown["tables"] if table["heads"][0] == "change"]
            for row, remedy in zip(tables[0]["rows"] if tables else [], profile["remedies"]):
                if remedy["quality"]:
                    self.assertRegex(row[-1], f"^{remedy['result']}; val.accuracy .* instead of .*: ")

    def test_quality_where_no_change_was_tried(self):
        """If the seconds were over, the line says which would have been enough, as the changes themselves do."""
        self.recipe(data="lab.data.blobs { samples = 120 }:split { val = 0.5 }")
        profile = self.profile("r.lua", "--quality", "1 s")
        late = {one["reason"] for one in profile["remedies"] if str(one["reason"]).startswith("no time left ")}
        why = "".join(", and for some changes " + one.replace("time left", "time was left") for one in late)
        self.assertIn("quality: no change that changes the result was tried" + why, profile["missing"])

    def test_a_step_counts_with_its_mean_number_of_samples(self):
        # Each epoch has a step of 60 samples and one of 40.
        self.recipe(data="lab.data.blobs { samples = 125 }:split { val = 0.2 }", batch="60", epochs="200")
        bench = self.run_program("bench", "r.lua", "--seconds", "0.5", "--threads", "1", "--json").json()
        self.assertAlmostEqual(bench["samples_per_second"]["median"] / bench["steps_per_second"]["median"], 50)
        profile = self.profile("r.lua")
        self.assertAlmostEqual(profile["samples_per_second"]["median"] * profile["step_seconds"]["median"], 50)

    def test_a_budget_that_nothing_fits(self):
        self.recipe(more='  memory = { budget = "1 KB" },\n')
        profile = self.profile("r.lua")
        self.assertEqual((profile["verdict"], profile["allowed_seconds"]), ("capacity", 0.5))

    def test_quality_that_cannot_be_judged(self):
        self.recipe(data="lab.data.blobs { samples = 120 }")
        result = self.run_program("profile", "r.lua", "--quality", "10 s", code=2)
        self.assert_said(result, '--quality: expected a fit with a validation part, found "f", which has none')
        self.recipe()
        self.assert_said(self.run_program("profile", "r.lua", "--quality", "0.5 s", code=2), "expected at least 1 s")
        self.assert_said(self.run_program("profile", "r.lua", "--quality", "60", code=2), "--quality: expected a time")
        self.assert_said(self.run_program("profile", "r.lua", "r.lua", "--quality", "60 s", code=2),
                         "--quality belongs to the profile of one recipe")
        self.assert_said(self.run_program("profile", SOURCE / "recipes" / "by_hand.lua", "--quality", "60 s", code=2),
                         "--quality: expected a fit, found the task")
        self.write("s.lua", small_sweep(2))
        self.assert_said(self.run_program("profile", "s.lua", "--quality", "60 s", code=2),
                         "--quality: expected a fit that the recipe names, found trial 0 of sweep s (lr = ")

    def test_callbacks_read_where_the_time_goes(self):
        self.recipe(more="""  on = {
    start = function(run) assert(run.profile.step_seconds == nil) end,
    validate = function(run)
      local speed = run.profile
      run:log("training", speed.shares.training)
      run:log("median", speed.step_seconds.median)
    end,
  },
""")
        self.train()
        rows = self.rows(self.run_folder())
        self.assertTrue(all(0 < row["training"] < 1 and row["median"] > 0 for row in rows), rows)
        self.recipe(more="  on = { validate = function(run) run.profile = 1 end },\n")
        self.assert_said(self.train(code=1), "the fields of run cannot be set")

    def test_seconds(self):
        self.recipe()
        self.assert_said(self.run_program("profile", "r.lua", "--seconds", "0", code=2), "--seconds: expected")
        for text, seconds in (("5 s", "5"), ("0.5 min", "30")):
            self.assert_said(self.run_program("profile", "r.lua", "--seconds", text, code=2),
                             f'--seconds: expected a number from 0.1 to 86400, found "{text}"\n',
                             f"hint: write a number of seconds, without a unit: --seconds {seconds}\n")


if __name__ == "__main__":
    unittest.main()
