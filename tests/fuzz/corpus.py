"""Makes the seed corpus of the fuzz targets, tests/fuzz/corpus, and the files that tests of npy and npz read.

    python3 tests/fuzz/corpus.py        needs NumPy; the same files whatever its version
"""

import gzip
import io
import json
import os
import struct
import tarfile
import zipfile
import zlib

import numpy as np

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def write(name, content):
    path = os.path.join(CORPUS, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def idx(type_code, sizes, values):
    return bytes([0, 0, type_code, len(sizes)]) + b"".join(struct.pack(">I", size) for size in sizes) + values


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


def archive(members, compression=zipfile.ZIP_STORED, comment=b""):
    """As numpy.savez writes it, but for the time in it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as out:
        out.comment = comment
        for name, content in members.items():
            out.writestr(zipfile.ZipInfo(name), content, compression)
    return file.getvalue()


def zip64(name, content):
    """A directory that keeps all its numbers in extra fields and in the zip64 record."""
    crc, everywhere = zlib.crc32(content), 0xFFFFFFFF
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0, crc, everywhere, everywhere, len(name), 20) + name
    local += struct.pack("<HHQQ", 1, 16, len(content), len(content)) + content
    extra = struct.pack("<HHQQQ", 1, 24, len(content), len(content), 0)
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 0, crc, everywhere, everywhere, len(name),
                        len(extra), 0, 0, 0, 0, everywhere) + name + extra
    record = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, len(entry), len(local))
    locator = struct.pack("<IIQI", 0x07064B50, 0, len(local) + len(entry), 1)
    return local + entry + record + locator + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, everywhere,
                                                          everywhere, 0)


def safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tar(names, form=tarfile.USTAR_FORMAT, kind=tarfile.REGTYPE):
    """Files of a few bytes."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as out:
        for name in names:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, 3, "elsewhere"
            out.addfile(member, io.BytesIO(b"abc"))
    return file.getvalue()[:4096]


# The first byte is the delimiter.
write("csv/plain", ",a,b\n1,2\n3,4\n")
write("csv/quoted", ',a,"b ""c"""\r\n"1\n2", x \r\n\r\n,\n')
write("csv/semicolon", b";\xef\xbb\xbfa;b\n;\n")
write("csv/open_quote", ',a\n"1')
write("csv/ragged", ",a,b\n1\n")
write("csv/zero", b",a\n\0\n")

# The first byte's bits choose options.
write("table/numbers", "@y,a,b\n1,2,NA\n0,4,x\n2,,y\n")
write("table/text", "\2y,w,name\nFrench,1,Zoé\nGerman,2,Jürgen\n")
write("table/more", "\x0dy,w\n1,1e30\n2,-3\n1,\n")
write("table/length", "\x12y,name\n1,abcdef\n2,a\n")

write("idx/bytes", idx(8, [2, 3], bytes(6)))
write("idx/floats", idx(13, [2], struct.pack(">ff", 1, 2)))
write("idx/doubles", idx(14, [1], bytes(8)))
write("idx/gzip", gzip.compress(idx(8, [4], b"abcd"), mtime=0))
write("idx/lying", idx(8, [0xFFFFFFFF, 0xFFFFFFFF], b"abc"))
write("idx/short16", idx(11, [2], bytes(4)))

write("json/value", '{"a":[1,-2.5,1e300,null,true,"\\u00e9\\ud834\\udd1e"],"b":{}}')
write("json/deep", "[" * 60 + "]" * 60)
write("json/number", "9223372036854775807")
write("json/twice", '{"a":1,"a":2}')

write("manifest/parameters", 'lr = 0.01\nname = "x"\nflag = true\nwhen = 2020-01-01\n[t]\na = [1, 2.5]\n')
write("manifest/run", """format = 1
trainlab = "0.1.0"
libtorch = "2.11.0"
started = "2026-01-01T00:00:00Z"
recipe = "digits.lua"
recipe_folder = "/r"
working_folder = "/w"
seed = 1
device = "cpu"
threads = 2
cores = 2
exact = true
set = ["optim.lr=0.1"]
continued = []

[sources]
"digits.lua" = "00"

[parameters]
lr = 0.01
""")
write("checkpoint/commit", '{"step":1,"file":"a.safetensors","hash":"0","best_weights":"best-1"}')
write("checkpoint/missing", '{"step":"x"}')
write("checkpoint/nan", '{"a":{"@number":"nan"},"file":"a.safetensors","hash":"x","step":3}')

write("npy/f4", npy(np.arange(6, dtype="<f4").reshape(2, 3)))
write("npy/fortran", npy(np.asfortranarray(np.arange(6, dtype="<i2").reshape(2, 3))))
write("npy/big", npy(np.arange(3, dtype=">f8")))
write("npy/bool", npy(np.array([True, False])))
write("npy/scalar", npy(np.array(3, dtype="u1")))
write("npy/complex", npy(np.array([1 + 2j], dtype="c8")))
write("npy/version2", npy(np.arange(2, dtype="u2"), version=(2, 0)))
write("npy/empty", npy(np.zeros((0, 3), dtype="f4")))
write("npy/object", npy(np.array([{}], dtype=object)))
write("npy/record", npy(np.zeros(1, dtype=[("a", "f4")])))
write("npy/huge", b"\x93NUMPY\x01\x00" + struct.pack("<H", 80) +
      b"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,), }".ljust(80))

write("npz/stored", archive({"x.npy": npy(np.arange(4, dtype="f4").reshape(2, 2)), "y.npy": npy(np.array([0, 1]))}))
write("npz/deflated", archive({"x.npy": npy(np.zeros((8, 4), dtype="u1")), "mask.npy": npy(np.ones(8, dtype=bool))},
                              zipfile.ZIP_DEFLATED))
write("npz/comment", archive({"a/data.pkl": b"\x80\x02."}, comment=b"a comment"))
write("npz/zip64", zip64(b"x.npy", npy(np.arange(2, dtype="u1"))))



def pack(size=2, offset=0, x_type=0, **more):
    """A header and the tensors behind it; types are ScalarType's numbers: 0 uint8, 4 int64, 6 float32."""
    x = {"name": "x", "as_int64": False, "values": {"type": x_type, "shape": [2, 3], "offset": offset},
         "scale": {"type": 6, "shape": [], "offset": 128}}
    y = {"name": "y", "as_int64": True, "values": {"type": 0, "shape": [2], "offset": 64}}
    part = {"size": size, "columns": [x, y], "classes": 2, "class_names": ["a", "b"], "feature_names": []}
    header = {"key": "k", "train": part, "state": {"x.mean": {"type": 6, "shape": [1], "offset": 128}}, **more}
    tensors = bytes(range(6)).ljust(64, b"\0") + b"\0\1".ljust(64, b"\0") + struct.pack("<f", 0.5).ljust(64, b"\0")
    return json.dumps(header).encode() + b"\n" + tensors


write("pack/whole", pack())
write("pack/val", pack(val={"size": 0, "columns": [], "classes": 0, "class_names": [], "feature_names": []}))
write("pack/size", pack(size=9))
write("pack/huge", pack(size=90000000))
write("pack/offset", pack(offset=-64))
write("pack/type", pack(x_type=99))
write("pack/other", pack(key="other"))
write("pack/kinds", b'{"key":"k","train":{"size":"2","columns":7},"state":[]}\n')

two = {"__metadata__": {"a": "b"}, "x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
       "y": {"dtype": "U8", "shape": [], "data_offsets": [8, 9]}}
overlap = {"x": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
           "y": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]}}
write("safetensors/two", safetensors(two, bytes(9)))
write("safetensors/overlap", safetensors(overlap, bytes(3)))
write("safetensors/header", struct.pack("<Q", 10**12) + b"{}")
write("safetensors/empty", safetensors({}, b""))
write("safetensors/bool", safetensors({"x": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}}, b"\7"))
write("safetensors/zero", safetensors({"x": {"dtype": "BF16", "shape": [0, 2**62], "data_offsets": [0, 0]}}, b""))

write("text/ascii", "hello\nworld\n")
write("text/utf8", "grün ☃ 𝄞")
write("text/surrogate", b"\xed\xa0\x80")
write("text/cut", b"a\xe2\x98")

# JPEG and PNG files are written by tests/golden/image_golden.py.
write("tar/parts", tar(["set/train/a/1.png", "set/train/b/2.jpg", "set/test/a/1.png", "set/test/b/1.png"]))
write("tar/gnu", tar(["a/" + 120 * "n" + "/1.png"], tarfile.GNU_FORMAT))
write("tar/pax", tar(["a/" + 120 * "ü" + ".png"], tarfile.PAX_FORMAT))
write("tar/link", tar(["a/1.png"], kind=tarfile.SYMTYPE))
write("tar/out", tar(["../1.png"]))
