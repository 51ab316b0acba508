"""Images in files, augmentation, the packed cache and functions over batches through the real program: any number of
loader threads and a resumed run give the same bytes; errors name file and line."""

import struct
import unittest
import zlib

from program import CliTest

RECIPE = """local nn, a = lab.nn, lab.augment
return lab.fit {
  name = "f",
  data = lab.data.images("set"):pack("set.pack"):split { val = 0.25, seed = 1 }:normalize()
    :augment { a.crop(1), a.flip(), a.rand_augment(), a.mixup(0.4), a.cutmix() }
    :transform(function(batch, rng)
      %s
      return batch
    end),
  model = nn.Sequential { nn.Flatten(), nn.Linear(8), nn.ReLU(), nn.Linear(2) },
  loss = "cross_entropy", metrics = { "accuracy" }, optim = lab.optim.AdamW { lr = 0.01 },
  batch = 6, epochs = %d, loader = { threads = %d },
}
"""
DRAWS = ("batch.x = batch.x * (0.5 + math.random()) * rng:uniform(0.9, 1.1) + rng:normal(0, 0.1) * rng:integer(-1, 1)"
         " + 0.1 * lab.tensor.randn(batch.x.shape, { seed = rng:seed() }) + 0.1 * lab.tensor.rand(batch.x.shape)")


def png(width, height, value):
    """An RGB image of one colour but for a corner."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes([value, 255 - value, 7 * row % 256]) * width for row in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Images(CliTest):
    def setUp(self):
        super().setUp()
        for number in range(32):
            folder = self.folder / "set" / ("dark" if number % 2 else "light")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.png").write_bytes(png(6, 5, (3 if number % 2 else 5) * number))

    def weights(self, out):
        return next((self.folder / out / "checkpoints").glob("last-*.safetensors")).read_bytes()

    def weights_after(self, out, epochs=4, threads=1, text=DRAWS):
        recipe = self.write("images.lua", RECIPE % (text, epochs, threads))
        self.run_program(recipe, "--threads", "1", "--out", out, "--quiet")
        return self.weights(out)

    def test_threads_and_a_continued_run_change_nothing(self):
        whole = self.weights_after("whole")
        self.assertEqual(self.weights_after("threads", threads=3), whole)
        self.weights_after("continued", epochs=2)
        self.run_program("extend", "continued", "--epochs", "4", "--quiet")
        self.assertEqual(self.weights("continued"), whole)
        self.assertNotEqual(self.weights_after("plain", text=""), whole)

    def test_a_packed_file_is_tried_by_profile(self):
        for number in range(32):
            folder = self.folder / "large" / ("dark" if number % 2 else "light")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.png").write_bytes(png(160, 160, 7 * number))
        self.write("r.lua", """local nn = lab.nn
return lab.fit {
  name = "f", data = lab.data.images("large"):split { val = 0.25, seed = 1 }:normalize(),
  model = nn.Sequential { nn.AvgPool2d(80), nn.Flatten(), nn.Linear(2) }, loss = "cross_entropy",
  optim = lab.optim.SGD { lr = 0.01 }, batch = 8, epochs = 400, loader = { threads = 0 }, validate = "100 epochs",
}
""")
        profile = self.run_program("profile", "r.lua", "--seconds", "60", "--threads", "1", "--json").json()
        storage = profile["pipeline"]["storage"]
        self.assertEqual((storage["kept"], storage["cold_epochs"]), (1, False))  # the files were written just now
        self.assertIn(storage["cold"], (True, False))
        self.assertGreater(storage["bytes_per_second"], 0)
        self.assertGreater(storage["loader_bytes_per_second"], 0)
        sizes = [file.stat().st_size for file in (self.folder / "large").glob("*/*.png")]
        self.assertLessEqual(24 * min(sizes), storage["data_bytes"])
        self.assertLessEqual(storage["data_bytes"], 24 * max(sizes))
        packed = [one for one in profile["remedies"] if one["name"] == "decoded images in a packed file"]
        self.assertEqual([(one["set"], one["reason"], one["result"]) for one in packed], [([], None, "same bytes")],
                         profile["verdict"])
        self.assertGreater(packed[0]["ratio"]["median"], 1)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["large", "r.lua", "set"])

    def test_the_random_numbers_of_a_transform(self):
        # One epoch of 4 batches; what is drawn depends on the batch and keeps its bounds.
        draws = """for i = 1, 500 do
        local u, n = rng:uniform(-2, 3), rng:integer(5, 7)
        assert(u >= -2 and u < 3 and n >= 5 and n <= 7 and n % 1 == 0 and rng:integer(4, 4) == 4)
        assert(rng:normal(7, 0) == 7 and math.abs(rng:normal()) < 9 and rng:uniform() < 1 and rng:seed() >= 1)
      end
      print("drew " .. rng:uniform() .. " " .. rng:seed())"""
        recipe = self.write("images.lua", RECIPE % (draws, 1, 1))
        lines = [
            [
                line
                for line in self.run_program(recipe, "--threads", "1", "--out", out).err.splitlines()
                if "drew" in line
            ]
            for out in ("one", "two")
        ]
        self.assertEqual(len(set(lines[0])), 4)
        self.assertEqual(*lines)
        for call, message in (("rng:integer(3, 2)", "rng:integer: expected low ≤ high, found 3 and 2"),
                              ("rng:uniform(1, 0)", "rng:uniform: expected low ≤ high, found 1 and 0"),
                              ("rng:normal(0, -1)", "rng:normal.std: expected a number ≥ 0, found -1"),
                              ("rng:integer(0.5, 2)", "rng:integer.low: expected an integer"),
                              ("rng.uniform()", "expected a rng object"), ("rng:gamma()", "rng has no 'gamma'")):
            recipe = self.write("images.lua", RECIPE % (call, 1, 1))
            self.assert_said(self.run_program(recipe, "--quiet", code=1), "images.lua:7: ", message)

    def test_a_transform_that_fails_names_its_line(self):
        recipe = self.write("images.lua", RECIPE % ("batch.x = batch.z", 1, 1))
        result = self.run_program(recipe, "--quiet", code=1)
        self.assertIn("images.lua:7: this batch has no 'z'", result.err)
        recipe = self.write("images.lua", RECIPE % ("if batch then return 3 end", 1, 1))
        result = self.run_program(recipe, "--quiet", "--out", "second", code=1)
        self.assertIn("a transform gives back the batch", result.err)

    def test_a_damaged_image_is_told_by_name(self):
        path = self.folder / "set" / "dark" / "3.png"
        path.write_bytes(path.read_bytes()[:60])
        recipe = self.write("images.lua", RECIPE % ("", 1, 1))
        result = self.run_program(recipe, "--quiet", code=1)
        self.assertIn("set/dark/3.png: damaged PNG", result.err)
        self.assertFalse((self.folder / "set.pack").exists())

    def test_a_damaged_image_met_in_training_has_a_place_in_the_recipe(self):
        path = self.folder / "set" / "dark" / "3.png"
        path.write_bytes(path.read_bytes()[:60])
        for threads in (0, 2):
            recipe = self.write("images.lua", (RECIPE % ("", 1, threads)).replace(':pack("set.pack")', "")
                                .replace(":normalize()", ""))
            result = self.run_program(recipe, "--quiet", "--json", "--out", f"out-{threads}", code=1)
            error = result.json()["error"]
            self.assertEqual((error["file"], error["line"]), ("images.lua", 4))
            self.assertTrue(error["path"].startswith("data") and error["path"].endswith("path"), error)
            self.assertIn("set/dark/3.png: damaged PNG", error["message"])

    def test_a_link_that_leads_nowhere(self):
        (self.folder / "set" / "dark" / "0.png").symlink_to("gone.png")
        recipe = self.write("images.lua", RECIPE % ("", 1, 0))
        result = self.run_program(recipe, "--quiet", code=1)
        self.assert_said(result, f"no such file or folder: {self.folder}/set/dark/0.png\n  hint: it is a link that "
                         "leads nowhere: to gone.png")

    def test_an_image_that_was_damaged_costs_no_step(self):
        """The first validation meets the image; the steps until then are saved, and a resume reads the image again."""
        recipe = self.write("images.lua", (RECIPE % ("", 2, 0)).replace(':pack("set.pack")', "")
                            .replace(":normalize()", "").replace("batch = 6", "batch = 1"))
        self.run_program(recipe, "--quiet", "--threads", "1", "--out", "whole")
        path = self.folder / "set" / "dark" / "9.png"
        content = path.read_bytes()
        path.write_bytes(content[:60])
        result = self.run_program(recipe, "--quiet", "--threads", "1", "--out", "run", code=1)
        self.assertRegex(result.err, r"hint: .*the run is saved up to step 24: trainlab resume \S+/run\n", result)
        self.assertNotIn("function_failed_after", self.summary(self.folder / "run"))
        path.write_bytes(content)
        self.run_program("resume", "run", "--quiet")
        self.assertEqual(self.weights("run"), self.weights("whole"))


if __name__ == "__main__":
    unittest.main()
