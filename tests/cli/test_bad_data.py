"""Data that is missing, cut short or lies: exit code 1, one message with the recipe's line and the file's path."""

import gzip
import io
import json
import os
import resource
import signal
import struct
import tarfile
import unittest

from program import LINES, SLOW, CliTest, fit, npy

REGRESSION = {"model": "nn.Sequential { nn.Linear(8), nn.Linear(1) }", "loss": "mse"}
PICTURES = {"model": "nn.Sequential { nn.Flatten(), nn.Linear(8), nn.Linear(3) }"}


def idx(dimensions, data, kind=8):
    return struct.pack(">HBB", 0, kind, len(dimensions)) + struct.pack(f">{len(dimensions)}I", *dimensions) + data


IMAGES = idx((30, 4, 4), bytes(i * 7 % 256 for i in range(480)))
LABELS = idx((30,), bytes(i % 3 for i in range(30)))
TABLE = "a,y\n" + "".join(f"{i * 7919 % 1000},{i}\n" for i in range(900))


class BadData(CliTest):
    def refused(self, message):
        """The recipe is refused with FILE:LINE: and this message, which may name self.folder as {folder}."""
        result = self.train(code=1)
        self.assert_message(result, f"r.lua:{LINES['data']}: {message.format(folder=self.folder)}")
        return result

    def csv(self, content, message, target="y"):
        name = "t.csv.gz" if isinstance(content, bytes) else "t.csv"
        self.write(name, content)
        self.recipe(data=f'lab.data.csv {{ "{name}", target = "{target}" }}:split {{ val = 0.2 }}', **REGRESSION)
        return self.refused(message)

    def idx(self, images, labels, message):
        suffix = ".gz" if images[:2] == b"\x1f\x8b" else ""
        self.write("x.idx" + suffix, images)
        self.write("y.idx", labels)
        self.recipe(data=f'lab.data.idx {{ images = "x.idx{suffix}", labels = "y.idx" }}:split {{ val = 0.2 }}',
                    **PICTURES)
        return self.refused(message)

    def test_whole_files_train(self):
        self.write("x.idx.gz", gzip.compress(IMAGES))
        self.write("y.idx", LABELS)
        self.recipe(data='lab.data.idx { images = "x.idx.gz", labels = "y.idx" }:split { val = 0.2 }', **PICTURES)
        self.train()
        self.write("t.csv.gz", gzip.compress(TABLE.encode()))
        self.recipe(data='lab.data.csv { "t.csv.gz", target = "y" }:split { val = 0.2 }:normalize()', **REGRESSION)
        self.train()

    def test_pickles_of_pytorch(self):
        """Both forms of torch.save: the zip archive of today and the plain pickle of before."""
        for name, begin in (("model.pt", b"PK\x03\x04"), ("old.pth", b"\x80\x02\x8a\x0al")):
            self.write(name, begin + bytes(200))
            how = "safetensors.torch.save_file(torch.load("
            self.write("r.lua", fit(more=f'  init = {{ weights = "{name}" }},\n'))
            self.assert_said(self.run_program("check", "r.lua", code=1),
                             f'fit.init.weights: expected an init, found "{name}"',
                             'hint: init = lab.init.weights "FILE.safetensors"; trainlab reads safetensors', how)
            self.write("r.lua", fit(more=f'  init = lab.init.weights "{name}",\n'))
            self.assert_said(self.train(code=1), f"{name}: expected a safetensors file, found one that looks like a ",
                             "file of torch.save, PyTorch's pickle format", "hint: trainlab reads safetensors", how)
            self.write("r.lua", f'lab.tensor.load "{name}"\n')
            self.assert_said(self.train(code=1), f"expected a .npy or .safetensors file, found {name}",
                             "hint: trainlab reads safetensors", how)
        self.write("r.lua", fit(more='  init = { ["1.*"] = "runs/first/001" },\n'))
        self.assert_said(self.run_program("check", "r.lua", code=1),
                         'hint: stored weights are init = lab.init.weights "runs/first/001"')

    def test_missing_file(self):
        self.recipe(data='lab.data.csv { "nope.csv", target = "y" }', **REGRESSION)
        self.refused("data.path: no such file or folder: {folder}/nope.csv")
        self.recipe(data='lab.data.mnist { path = "nope" }', **PICTURES)
        result = self.refused("data.path: no such file or folder: {folder}/nope")
        self.assertNotIn("hint", result.err)  # nothing there is called alike
        self.write("housing.csv", "a,y\n1,2\n")
        self.recipe(data='lab.data.csv { "housin.csv", target = "y" }', **REGRESSION)
        self.assert_said(self.train(code=1), "hint: did you mean ", "/housing.csv?")

    def test_csv_nan_target(self):
        text = "a,y\n" + "".join(f"{i},{'nan' if i == 17 else i}\n" for i in range(60))
        self.csv(text, 'data.path: {folder}/t.csv:19: column "y": the target is missing')

    def test_csv_missing_field(self):
        self.csv("a,b,y\n1,2,3\n1,2\n", "data.path: {folder}/t.csv:3: expected 3 fields as in the header, found 2")

    def test_csv_open_quote(self):
        self.csv('a,y\n1,2\n"3,4\n5,6\n', "data.path: {folder}/t.csv:3: a quoted field begins here and is never closed")

    def test_csv_word_among_numbers(self):
        result = self.csv("a,y\n1,2\nx,3\n", 'data.path: {folder}/t.csv:3: column "a": expected a number, found "x"')
        self.assert_said(result, "hint: ", "categorical")

    def test_csv_with_bytes_of_another_encoding_among_numbers(self):
        self.csv(b"a,y\n" + b"".join(b"%d,%d\n" % (i, i) for i in range(30)) + b"12 \xe9,1\n",
                 'data.path: {folder}/t.csv.gz:32: column "a": expected a number, found "12 \ufffd"')

    def test_csv_whose_first_value_is_no_number(self):
        hint = "hint: an unknown value is an empty field or NA; a column of categories is named in `categorical`"
        for column, start in (("a", "a,y\n,1\n?,0\n"), ("y", "a,y\n\n0,?\n")):
            text = start + "".join(f"{i},{i}\n" for i in range(40))
            with self.subTest(column):
                self.assert_said(self.csv(text, f'data.path: {{folder}}/t.csv:3: column "{column}": expected a number, '
                                          'as nearly all values below are, found "?"'), hint)
        self.write("t.csv", "a,y\n?,0\n" + "".join(f"{i % 4},{i}\n" for i in range(40)))
        self.recipe(data='lab.data.csv { "t.csv", target = "y", categorical = { "a" } }', **REGRESSION)
        self.train("--quiet")
        self.write("t.csv", "g,a,y\nA1,0,0\n" + "".join(f"{i // 2},{i},{i}\n" for i in range(40)))
        self.recipe(data='lab.data.csv { "t.csv", target = "y", exclude = { "g" } }:split { val = 0.3, groups = "g" }',
                    **REGRESSION)
        self.train("--quiet")
        self.write("t.csv", "a,y\nA1,0\n" + "".join(f"{i % 4 if i % 8 else 'B'},{i}\n" for i in range(40)))
        self.recipe(data='lab.data.csv { "t.csv", target = "y" }', **REGRESSION)
        self.train("--quiet")

    def test_csv_with_a_category_for_nearly_each_row(self):
        self.write("t.csv", "id,a,y\n" + "".join(f"r{i},{i},{i}\n" for i in range(60)))
        said = (f"warning: r.lua:{LINES['data']}: data.path: {self.folder}/t.csv: column \"id\": 60 different values "
                "in 60 rows become 60 features; name it in `exclude`, or in `categorical` if this is meant\n")
        for options, warns in (("", True), (', categorical = { "id" }', False), (', exclude = { "id" }', False)):
            with self.subTest(options):
                self.recipe(data=f'lab.data.csv {{ "t.csv", target = "y"{options} }}', **REGRESSION)
                result = self.run_program("check", "r.lua")
                self.assertEqual(said in result.out + result.err, warns, result)
        self.write("t.csv", "id,a,y\n" + "".join(f"r{i % 30},{i},{i}\n" for i in range(60)))
        self.recipe(data='lab.data.csv { "t.csv", target = "y" }', **REGRESSION)
        result = self.run_program("check", "r.lua")
        self.assertNotIn("different values", result.out + result.err)

    def test_csv_in_other_encodings(self):
        hint = "hint: save the file as UTF-8"
        path = self.write("t.csv", b"a,y\nred,1\nros\xe9,2\n")
        self.recipe(data='lab.data.csv { "t.csv", target = "y" }', **REGRESSION)
        message = "data.path: {folder}/t.csv"
        for content, found in (
                (b"a,y\nred,1\nros\xe9,2\n", ':3: column "a": expected text in UTF-8, found "ros\ufffd"'),
                (b"a\xe9,y\n1,1\n2,2\n", ': column 1: expected a name in UTF-8, found "a\ufffd"'),
                ("a,y\n1,2\n".encode("utf-16"), ":1: expected text in UTF-8, found UTF-16"),
                ("a,y\n1,2\n".encode("utf-16-be"), ":1: expected text in UTF-8, found UTF-16")):
            with self.subTest(found):
                path.write_bytes(content)
                self.assert_said(self.refused(message + found), hint)
        path.write_bytes(b"a,b\xe9,y\n1,\xe9,1\n2,\xe9,2\n")
        self.recipe(data='lab.data.csv { "t.csv", target = "y", columns = "a" }', batch="2", **REGRESSION)
        self.train("--quiet")

    def test_csv_whose_lines_end_in_returns(self):
        self.write("t.csv", TABLE)
        self.recipe(data='lab.data.csv { "t.csv", target = "y" }', **REGRESSION)
        plain = self.train("--json").json()["metrics"]
        self.write("t.csv", TABLE.replace("\n", "\r"))
        self.assertEqual(self.train("--json").json()["metrics"], plain)
        self.csv('a,b,y\r1,"p\rq",2\rx,p,3\r', 'data.path: {folder}/t.csv:4: column "a": expected a number, found "x"')

    def test_labels_that_do_not_count_from_0(self):
        self.write("r.lua", fit(data="lab.data.table { x = { {1}, {2}, {3} }, y = { 1, 2, 3 }, task = 'classification'"
                                " }", model="nn.Linear(3)", batch="2"))
        self.assert_said(self.train(code=1), "hint: the data has 4 classes, because labels count from 0 (the lowest in "
                         "the training part is 1); end the model with nn.Linear(4)")

    def test_csv_with_decimal_commas(self):
        for text, delimiter, place, message, hint in (
            ("a;y\n0,5;1\n7;2\n", ";", 2, 'column "a": expected numbers without commas, found "0,5"',
             "this one is written as 0.5; a column of categories is named in `categorical`"),
            ("a;y\n1;2,5\n2;3,5\n", ";", 2, 'column "y": expected numbers without commas, found "2,5"',
             "this one is written as 2.5"),
            ('a,y\n"3,682",1\n"12,005",2\n', ",", 2, 'column "a": expected numbers without commas, found "3,682"',
             "this one is written as 3682, or as 3.682 if the comma is a decimal one; a column of"),
            ('a,y\n"-1,234,567.5",1\n', ",", 2, 'column "a": expected numbers without commas, found "-1,234,567.5"',
             "this one is written as -1234567.5; a column of"),
            ("a;y\n1;2\n1,5;3\n", ";", 3, 'column "a": expected a number, found "1,5"', "write it as 1.5"),
            ("a;y\n0,5;1,5\n", ",", 2, "expected 1 field as in the header, found 3",
             'is the delimiter another one? delimiter = ";"'),
            ("a\ty\n0,5\t1\n", ",", 2, "expected 1 field as in the header, found 2",
             'is the delimiter another one? delimiter = "\\t"'),
            ("a,y\n0,5,1,5\n", ",", 2, "expected 2 fields as in the header, found 4",
             'a field that holds a "," stands between double quotes, and a number has a decimal point'),
        ):
            with self.subTest(text):
                self.write("t.csv", text)
                self.recipe(data=f'lab.data.csv {{ "t.csv", target = "y", delimiter = "{delimiter}" }}', **REGRESSION)
                self.assert_said(self.refused(f"data.path: {{folder}}/t.csv:{place}: {message}"), "hint: " + hint)
        self.write("t.csv", "a;y\n0,5;1\n1,5;2\n0,5;3\n1,5;4\n")
        self.recipe(data='lab.data.csv { "t.csv", target = "y", delimiter = ";", categorical = { "a" } }', batch="2",
                    **REGRESSION)
        self.train("--quiet")

    def appended(self, content, message, hint, options=""):
        self.write("one.csv", "a,b,kind,y\n1,2,u,red\n2,3,v,blue\n3,4,u,red\n4,5,v,blue\n")
        self.write("two.csv", content)
        self.recipe(data=f'lab.data.csv {{ "one.csv", target = "y" }}:append(lab.data.csv {{ "two.csv", target = "y"'
                         f"{options} }})")
        result = self.refused(f"data.data: {{folder}}/two.csv{message}")
        self.assert_said(result, "hint: " + hint)
        self.assertNotIn("categorical = {", result.err)

    def test_a_table_that_is_appended_is_read_as_the_first_one_is(self):
        first = "the first table decides what its columns are used for"
        for content, message, hint, options in (
            ("a,b,kind,y\n1,2,u,red\nx,3,v,blue\n", ':3: column "a": expected a number, as in training, found "x"',
             "a value that is not known is an empty field", ""),
            ("a,b,kind,y\nx,2,u,red\n", ':2: column "a": expected a number, as in training, found "x"',
             "a value that is not known is an empty field", ""),
            ("a;b;kind;y\n1;2,5;u;red\n", ':2: column "b": expected a number, as in training, found "2,5"',
             "write it as 2.5", ', delimiter = ";"'),
            ("a,b,kind,y\n1,2,u,red\n1,2,u,bleu\n1,2,u,blue\n",
             ':3: column "y": its target has the class "bleu", which the data here lacks', 'did you mean "blue"?', ""),
            ("a,b,kind,y\n1,2,u,green\n",
             ':2: column "y": its target has the class "green", which the data here lacks',
             'the classes here are "blue", "red"', ""),
            ("a,b,kind,y\n1,2,u,red\n", ': `exclude` names "b", which is an input of the data here', first,
             ', exclude = { "b" }'),
            ("a,b,kind,y\n1,2,u,red\n", ': `columns` lacks "kind", which is an input of the data here', first,
             ', columns = { "a", "b" }'),
            ("a,b,kind,y\n1,2,u,red\n", ': `more` names "b", which `more` does not name there', first,
             ', more = { "b" }'),
        ):
            with self.subTest(message):
                self.appended(content, message, hint, options)
        with self.subTest("categorical"):
            self.write("two.csv", "a,b,kind,y\n1,2,u,red\n")
            self.recipe(data='lab.data.csv { "one.csv", target = "y" }:append(lab.data.csv { "two.csv", target = "y", '
                             'categorical = { "a" } })')
            self.refused('data.data: {folder}/two.csv: `categorical` names "a", which holds numbers in the data here')
        # What the first table does not use may be named, and what it says may be repeated.
        self.write("one.csv", "a,b,y\n1,2,red\n2,3,blue\n3,4,red\n")
        self.write("two.csv", "a,b,c,y\n1,2,9,red\n")
        self.recipe(data='lab.data.csv { "one.csv", target = "y", exclude = { "b" } }:append(lab.data.csv { "two.csv", '
                         'target = "y", exclude = { "b", "c" } })', model="nn.Linear(2)", batch="2")
        self.train("--quiet")

    def test_csv_without_rows(self):
        self.csv("a,y\n", "data.path: {folder}/t.csv: the file has a header but no rows")
        self.csv("", "data.path: {folder}/t.csv: the file is empty; a line with the columns' names was expected")

    def sparse(self, name, start, size):
        """A file of `size` bytes that takes no place on the disk: `start`, then zeros."""
        path = self.write(name, start)
        os.truncate(path, size)
        return path

    def test_a_giant_csv_is_judged_by_its_beginning(self):
        self.sparse("t.csv", b"", 1 << 40)
        self.recipe(data='lab.data.csv { "t.csv", target = "y" }', **REGRESSION)
        self.refused("data.path: {folder}/t.csv:1: a zero byte: this is not a text file")

    def test_giants_are_refused_before_they_are_read(self):
        tera = 1 << 40
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({tera // 400}, 100), }}".ljust(117) + "\n"
        start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
        array = self.sparse("x.npy", start, len(start) + tera // 400 * 400)
        names = json.dumps({"x": {"dtype": "F32", "shape": [tera // 4], "data_offsets": [0, tera]}}).encode()
        tensors = self.sparse("x.safetensors", struct.pack("<Q", len(names)) + names, 8 + len(names) + tera)
        idx_file = self.sparse("x.idx", idx((1 << 20, 1 << 20), b""), 12 + tera)
        self.write("y.idx", LABELS)
        text = self.sparse("t.txt", b"text\n", tera)
        for path, data in ((array, 'npy { x = "x.npy" }'), (tensors, 'safetensors { "x.safetensors" }'),
                           (idx_file, 'idx { images = "x.idx", labels = "y.idx" }'), (text, 'text { "t.txt" }')):
            with self.subTest(data):
                self.recipe(data="lab.data." + data, **REGRESSION)
                result = self.train(code=3)
                self.assertRegex(result.err, r"out of memory: expected at most the \S+ \S+ that are free, found "
                                             rf"(1\.0 TiB|1024\.0 GiB) for the content of {path}")
                self.assert_said(result, "hint: a file with fewer rows, or of a smaller type")

    def test_an_array_is_held_once(self):
        rows, mebibytes = 1_500_000, 600
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 100), }}".ljust(117) + "\n"
        start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
        self.sparse("x.npy", start, len(start) + rows * 400)
        self.write("y.npy", npy((rows,), [0.0] * rows))
        self.recipe(data='lab.data.npy { x = "x.npy", y = "y.npy" }', **REGRESSION)
        self.run_program("check", "r.lua", "--threads", "1")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        self.assertLess(peak, 2 * mebibytes, "the engine held the array twice")

    def test_gzip_cut_short_at_any_place(self):
        whole = gzip.compress(TABLE.encode())
        for size in (5, 12, len(whole) // 2, len(whole) - 4):
            with self.subTest(size=size):
                result = self.csv(whole[:size], "data.path: {folder}/t.csv.gz: the gzip data ends too early")
                self.assert_said(result, "hint: ")

    def test_gzip_with_a_flipped_byte(self):
        whole = bytearray(gzip.compress(TABLE.encode()))
        for place in (len(whole) - 6, len(whole) // 2):  # in the checksum, in the data
            with self.subTest(place=place):
                broken = bytearray(whole)
                broken[place] ^= 255
                self.write("t.csv.gz", bytes(broken))
                self.recipe(data='lab.data.csv { "t.csv.gz", target = "y" }', **REGRESSION)
                result = self.train(code=1)
                self.assert_said(result, f"r.lua:{LINES['data']}: data.path: {self.folder}/t.csv.gz: damaged gzip data")

    def test_idx_shorter_and_longer_than_its_header(self):
        self.idx(IMAGES[:-1], LABELS, "data.images: {folder}/x.idx: the header promises 30 x 4 x 4 values of uint8, "
                                      "but 479 bytes are the most that can follow it")
        self.idx(IMAGES + b"x", LABELS, "data.images: {folder}/x.idx: the header promises 30 x 4 x 4 values of uint8 "
                                        "(480 bytes), but more bytes follow than that")

    def test_idx_header_that_promises_the_moon(self):
        huge = idx((4000000000, 4000000000, 4000000000), bytes(10))
        self.idx(huge, LABELS, "data.images: {folder}/x.idx: the header promises 4000000000 x 4000000000 x 4000000000 "
                               "values of uint8, but 10 bytes are the most that can follow it")

    def test_idx_cut_within_gzip(self):
        self.idx(gzip.compress(IMAGES)[:-30], LABELS, "data.images: {folder}/x.idx.gz: the gzip data ends too early")

    def test_idx_cut_within_the_header(self):
        self.idx(IMAGES[:9], LABELS,
                 "data.images: {folder}/x.idx: the file ends within its header, which promises 3 dimensions")

    def test_no_idx_file(self):
        self.write("x.idx", b"\x89PNG" + bytes(100))
        self.write("y.idx", LABELS)
        self.recipe(data='lab.data.idx { images = "x.idx", labels = "y.idx" }', **PICTURES)
        result = self.train(code=1)
        self.assert_said(result, f"r.lua:{LINES['data']}: data.images: {self.folder}/x.idx: not an IDX file")

    def test_idx_counts_that_differ(self):
        self.idx(IMAGES, idx((29,), bytes(29)),
                 "data.labels: {folder}/x.idx holds 30 images, but {folder}/y.idx 29 labels")

    def test_idx_empty(self):
        self.idx(idx((0, 4, 4), b""), idx((0,), b""),
                 "data.images: {folder}/x.idx: the file holds no values (its header says 0 x 4 x 4)")

    def test_label_beyond_the_models_outputs(self):
        self.write("x.idx", IMAGES)
        self.write("y.idx", idx((30,), bytes([0] * 29 + [9])))
        self.recipe(data='lab.data.idx { images = "x.idx", labels = "y.idx" }', **PICTURES)
        result = self.train(code=1)
        self.assert_said(result, f"r.lua:{LINES['fit']}: loss: ", "an output of shape [10]", "an output of shape [3]",
                         "hint: the data has 10 classes; end the model with nn.Linear(10)")

    def test_labels_that_are_no_classes(self):
        """One error for such labels, wherever they come from."""
        def labels(last, kind):
            header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': (30,), }}".ljust(117) + "\n"
            return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                    + b"".join(n.to_bytes(8, "little", signed=n < 0) for n in [0, 1, 2] * 9 + [1, 2, last]))

        self.write("x.idx", IMAGES)
        self.write("x.npy", npy((30, 4), [0.5] * 120))
        for last in (-1, 1_000_000, 2**62):
            sources = [("y.npy", labels(last, "<i8"), 'npy { x = "x.npy", y = "y.npy" }')]
            if last < 2**31:
                values = struct.pack(">30i", *([0, 1, 2] * 9 + [1, 2, last]))
                sources.append(("y.idx", idx((30,), values, kind=12), 'idx { images = "x.idx", labels = "y.idx" }'))
            for name, content, data in sources:
                with self.subTest(name, label=last):
                    self.write(name, content)
                    self.recipe(data="lab.data." + data, **PICTURES)
                    result = self.train(code=1)
                    expected = "0" if last < 0 else "0 to 2"
                    self.assert_said(result, f"r.lua:{LINES['fit']}: loss: expected labels from {expected}, found "
                                             f"{last} in the data", f"hint: ignore_index = {last} leaves this label")
        self.write("y.npy", labels(2**64 - 1, "<u8"))
        self.recipe(data='lab.data.npy { x = "x.npy", y = "y.npy" }', **PICTURES)
        self.refused("data: {folder}/y.npy: expected whole numbers of at most 9223372036854775807, found "
                     "18446744073709551615")
        self.recipe(data='lab.data.npy { x = "y.npy", y = "y.npy" }', **PICTURES)
        self.refused("data: {folder}/y.npy: expected whole numbers of at most 9223372036854775807, found "
                     "18446744073709551615")

    def test_batch_larger_than_the_data(self):
        self.recipe(batch="1000")
        result = self.train(code=1)
        self.assert_message(result,
                            f"r.lua:{LINES['fit']}: batch: expected at most the 60 training samples, found 1000")
        self.assert_said(result, "hint: ")

    def test_the_default_batch_is_no_larger_than_the_data(self):
        self.recipe(batch="nil", data="lab.data.blobs { samples = 20 }")
        self.assertEqual(self.train("--json").json()["steps"], 3)
        self.recipe(batch="nil", data="lab.data.blobs { samples = 100 }")
        self.assertEqual(self.train("--json").json()["steps"], 6)

    def test_tensors_that_are_none(self):
        self.recipe(data="lab.data.tensors(function() return { { 1, 2 } }, { 0 } end)")
        result = self.train(code=1)
        self.assert_said(
            result,
            f"r.lua:{LINES['data']}: data.load: result 1 of the function at r.lua:{LINES['data']}: "
            "expected a tensor, found ",
            "hint: lab.tensor { … } makes one",
        )

    def test_a_transform_that_goes_wrong_during_training(self):
        self.recipe(data="lab.data.blobs { samples = 120 }:transform(function(batch) return nil end)")
        self.refused("a transform gives back the batch")

    def test_labels_that_a_function_has_changed(self):
        # Two classes are left, and the model may have two outputs.
        self.recipe(data='lab.data.digits():split { val = 0.2 }:map("y", function(y) return y:remainder(2) end)',
                    model="nn.Sequential { nn.Flatten(), nn.Linear(2) }", epochs="1")
        self.train()

    def test_split_that_leaves_nothing(self):
        self.recipe(data="lab.data.blobs { samples = 3 }:split { val = 0.9 }")
        self.refused("data.train: no sample is left for this part: the data has 3 samples")


class Pipes(CliTest):
    """A pipe is refused where a file is expected: nothing waits for it, and nothing takes its place."""

    def test_pipes(self):
        for name in ("t.tar", "t.db", "images/a/x.png"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.mkfifo(self.folder / name)
        for line in ('local _ = lab.data.images("t.tar").train.size',
                     'local _ = lab.data.images("images"):split { val = 0.2 }.train.size',
                     'lab.run(lab.task { name = "t", run = function() local _ = lab.study { file = "t.db", '
                     'space = { x = lab.space.uniform(0, 1) } } end })'):
            with self.subTest(line):
                self.write("l.lua", line + "\n")
                result = self.run_program("l.lua", code=1)
                self.assert_said(result, "l.lua:1: ", "expected a regular file, found a pipe")
        result = self.run_program("report", "t.db", code=1)
        self.assert_said(result, "expected a regular file, found a pipe")
        self.recipe()
        self.train("--quiet", "--out", "run")
        result = self.run_program("report", "run", "--html", ".", code=2)
        self.assert_said(result, "--html: expected a file, found the folder .")
        result = self.run_program("report", "run", "--html", "t.db", code=2)
        self.assert_said(result, "--html: cannot write t.db: expected a regular file or nothing, found a pipe")


class Reading(CliTest):
    """--read DIR: what lies elsewhere is closed to the recipe, and stays so when the run is continued."""

    DATA = 'lab.data.csv { "../data/t.csv", target = "y" }:split { val = 0.2 }'

    def setUp(self):
        super().setUp()
        self.write("data/t.csv", TABLE)
        self.write("other/none.csv", TABLE)
        self.write("lib/r.lua", fit(data=self.DATA, **REGRESSION))
        self.outside = (f"lib/r.lua:{LINES['data']}: data.path: cannot read {self.folder}/data/t.csv: expected a path "
                        "in the folders of --read, found one outside")

    def test_folders(self):
        self.train("--quiet", recipe="lib/r.lua")  # without the flag all is open
        self.train("--read", "data", "--quiet", recipe="lib/r.lua")
        self.train("--read", "other", "--read", "data", "--quiet", recipe="lib/r.lua")
        result = self.train("--read", "other", recipe="lib/r.lua", code=1)
        self.assert_message(result, self.outside)
        self.assert_said(result, f"hint: --read allows {self.folder}/other, beside the folder of the recipe")
        self.run_program("check", "lib/r.lua", "--read", "other", code=1)
        result = self.train("--read", "none", recipe="lib/r.lua", code=2)
        self.assert_message(result, f"trainlab: --read: there is no folder {self.folder}/none")

    def test_links_and_neighbours(self):
        (self.folder / "other/t.csv").symlink_to(self.folder / "data/t.csv")
        self.write("lib/r.lua", fit(data=self.DATA.replace("../data", "../other"), **REGRESSION))
        result = self.train("--read", "other", recipe="lib/r.lua", code=1)
        self.assert_said(result, f"cannot read {self.folder}/other/t.csv, which is {self.folder}/data/t.csv: expected")
        # A misspelt name outside does not tell what is there.
        self.write("lib/r.lua", fit(data=self.DATA.replace("t.csv", "misspelt.csv"), **REGRESSION))
        result = self.train("--read", "other", recipe="lib/r.lua", code=1)
        self.assertNotIn("t.csv\"", result.err, result)
        self.assert_said(result, "found one outside")

    def test_all_that_a_recipe_reads(self):
        self.train("--quiet", recipe="lib/r.lua")
        for line in ('local _ = lab.tensor.load("../data/x.npy")', 'local _ = lab.tensor.load("../data/x.safetensors")',
                     'local _ = lab.data.images("../data"):split { val = 0.2 }.train.size',
                     'local _ = lab.data.text("../data/t.csv"):split { val = 0.2 }.train.size',
                     'local _ = lab.data.mnist("../data"):split { val = 0.2 }.train.size',
                     'local _ = lab.load_run("../runs/r/001")'):
            with self.subTest(line):
                self.write("lib/l.lua", line + "\n")
                result = self.run_program("lib/l.lua", "--read", "other", code=1)
                self.assert_said(result, "lib/l.lua:1: ", "expected a path in the folders of --read, found one outside")

    def test_archives_images_and_packed_data(self):
        with tarfile.open(self.folder / "data/t.tar", "w") as archive:
            archive.addfile(tarfile.TarInfo("a/x.png"), io.BytesIO())
        self.write("other/images/a/.keep", "")
        (self.folder / "other/t.tar").symlink_to(self.folder / "data/t.tar")
        (self.folder / "data/x.png").write_bytes(b"x")
        (self.folder / "other/images/a/x.png").symlink_to(self.folder / "data/x.png")
        for path in ("../other/t.tar", "../other/images", "../data/t.tar"):
            with self.subTest(path):
                self.write("lib/l.lua", f'local _ = lab.data.images("{path}"):split {{ val = 0.2 }}.train.size\n')
                result = self.run_program("lib/l.lua", "--read", "other", code=1)
                self.assert_said(result, "found one outside")
        packed = self.DATA.replace("../data", "../other").replace("t.csv", "none.csv")
        self.write("lib/l.lua", f'local _ = {packed}:pack("../data/p.pack").train.size\n')
        result = self.run_program("lib/l.lua", "--read", "other", code=1)
        self.assert_said(result, "found one outside")
        self.assertFalse((self.folder / "data/p.pack").exists())

    def test_continued(self):
        slow = fit(data=self.DATA, **REGRESSION, **SLOW)
        self.write("lib/r.lua", slow)
        running = self.start("lib/r.lua", "--read", "data", "--out", "run", "--quiet")
        running.until_rows(self.folder / "run", 2)
        running.send(signal.SIGTERM)
        self.end(running, 143)
        self.assertIn(f"read = [ '{self.folder}/data' ]", (self.folder / "run/manifest.toml").read_text())
        result = self.train("--out", "run", recipe="lib/r.lua", code=2)
        self.assert_said(result, f"--read: recorded {self.folder}/data, now none")
        self.run_program("resume", "run", "--read", "other", code=2)
        # What lies under the name is elsewhere now.
        (self.folder / "data/t.csv").rename(self.folder / "other/t.csv")
        (self.folder / "data/t.csv").symlink_to(self.folder / "other/t.csv")
        result = self.run_program("resume", "run", code=1)
        self.assert_said(result, "found one outside")
        (self.folder / "data/t.csv").unlink()
        (self.folder / "other/t.csv").rename(self.folder / "data/t.csv")
        self.run_program("resume", "run", "--quiet")

    def test_mended_recipe_of_another_folder(self):
        wrong = "  on = { finish = function(run) run:log('at_end', nil + 1) end },\n"
        self.write("lib/r.lua", fit(data=self.DATA, **REGRESSION, more=wrong))
        self.train("--read", "data", "--out", "run", recipe="lib/r.lua", code=1)
        self.write("mended/r.lua", 'require "part"\n' + fit(data=self.DATA, **REGRESSION))
        self.write("mended/part.lua", "return {}\n")
        self.run_program("resume", "run", "--recipe", "mended/r.lua", "--quiet")
        self.assertEqual(self.summary(self.folder / "run")["status"], "done")

    def test_workers_of_a_sweep(self):
        body = fit(data=self.DATA, **REGRESSION).split("\n", 1)[1]
        self.write("lib/r.lua", "local nn = lab.nn\nreturn lab.sweep { name = 's', trials = 4, metric = 'val.loss', "
                   "workers = 2, space = { lr = lab.space.log(1e-4, 1e-1) }, build = function(hp)\n" + body + "end }\n")
        self.run_program("lib/r.lua", "--read", "data", "--out", "run", "--quiet")
        self.run_program("lib/r.lua", "--read", "other", code=1)


if __name__ == "__main__":
    unittest.main()
