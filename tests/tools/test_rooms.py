"""docs/architecture.md tells the rooms and arrows that the build has; rooms are small, declare their libraries, and no
two of them have a type of one name."""

import os
import pathlib
import re
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])
ROOMS = pathlib.Path(os.environ["BUILD_DIR"]) / "rooms.txt"

MOST_FILES = 36  # .cpp and .h files that lie on one level of a room

# The library, as DEPENDS lists name it, from which a header comes.
LIBRARIES = {
    "ATen/": "torch", "c10/": "torch", "torch/": "torch", "boost/": "boost", "cuda_runtime_api.h": "cudart",
    "eigen3/": "eigen", "fmt/": "fmt", "jerror.h": "jpeg", "jpeglib.h": "jpeg", "lua.hpp": "luajit",
    "mimalloc.h": "allocator", "nlohmann/": "json", "png.h": "png", "soci/": "soci", "sodium.h": "sodium",
    "sqlite3.h": "sqlite", "toml++/": "tomlplusplus", "zlib.h": "zlib",
}


class Room:
    def __init__(self, folder, public, private):
        self.folder, self.public, self.private = folder, public, private


def read_rooms(text):
    """name -> Room, from the file that the build writes (trainlab_room in tools/cmake/modules.cmake)."""
    rooms = {}
    for line in text.splitlines():
        name, folder, public, private = line.split("\t")
        rooms[name] = Room(folder, public.split(), private.split())
    return rooms


def read_page(text):
    """name -> names of the rooms that it uses, from rows of the page's tables: | `train` | objective objects | … |"""
    return {name: uses.split() for name, uses in re.findall(r"^\| `([\w-]+)` \|([^|]*)\|", text, re.M)}


def reached(arrows, name):
    """All rooms to which arrows lead from this one, over others too."""
    found, waiting = set(), list(arrows.get(name, []))
    while waiting:
        room = waiting.pop()
        if room not in found:
            found.add(room)
            waiting.extend(arrows.get(room, []))
    return found


# A question whether a tensor, a plan or a device is the CPU's.
CPU = re.compile(r"is_cpu\(\)|[!=]= at::kCPU")
# The rooms that make devices.
ENGINE_WITHOUT_DEVICES = ("engine/tensor/", "engine/cuda/")


def files_that_ask_for_the_cpu(root):
    """Sources of the engine, without engine/, that treat the CPU in a way of its own."""
    for path in sorted((root / "engine").rglob("*")):
        name = str(path.relative_to(root))
        if path.suffix in (".cpp", ".h") and not name.startswith(ENGINE_WITHOUT_DEVICES):
            if CPU.search(path.read_text(encoding="utf-8")):
                yield name.removeprefix("engine/")


def faults_of_page(page, rooms):
    built = {name: [used for used in room.public + room.private if used in rooms] for name, room in rooms.items()}
    faults = []
    for name in page.keys() - built.keys():
        faults.append(f"{name} stands in the page, but no module or program has this name")
    for name in built.keys() - page.keys():
        faults.append(f"{name} is a module or program, but does not stand in the page")
    for name in page.keys() & built.keys():
        if name in reached(page, name):
            faults.append(f"the page leads from {name} back to {name}")
        for used in set(built[name]) - reached(page, name):
            faults.append(f"{name} depends on {used}, which the page does not allow")
        for used in set(page[name]) - reached(built, name):
            faults.append(f"the page says that {name} uses {used}, but {name} does not depend on it")
    return sorted(faults)


def sources_of(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in (".cpp", ".h"))


def faults_of_sizes(root, rooms):
    faults = []
    for name, room in rooms.items():
        count = {}
        for path in sources_of(root / room.folder):
            count[path.parent] = count.get(path.parent, 0) + 1
        faults += [f"{name} has {n} files in {folder.relative_to(root)}; more than {MOST_FILES} are too many"
                   for folder, n in count.items() if n > MOST_FILES]
    return faults


def faults_of_libraries(root, rooms):
    public = {name: room.public for name, room in rooms.items()}
    faults = []
    for name, room in rooms.items():
        direct = room.public + room.private
        declared = set(direct).union(*(reached(public, used) for used in direct))
        for path in sources_of(root / room.folder):
            for header in re.findall(r"^#include <([^>]+)>", path.read_text(), re.M):
                library = next((lib for start, lib in LIBRARIES.items() if header.startswith(start)), None)
                if library is not None and library not in declared:
                    faults.append(f"{path.relative_to(root)} includes <{header}>, "
                                  f"but {name} does not depend on {library}")
    return faults


NAMESPACE = re.compile(r"^(?:inline )?namespace ?([\w:]*) \{$")
TYPE = re.compile(r"^(?:struct|class|union|enum class|enum) (?:\[\[\w+\]\] )?(\w+)\b(?!::)[^;]*$")


def types_of(text):
    """Full names of the types that a source defines, without those that no other file can see."""
    inside = []
    for line in text.splitlines():
        if match := NAMESPACE.match(line):
            inside.append(match[1])
        elif line.startswith("}  // namespace"):
            inside.pop()
        elif (match := TYPE.match(line)) and inside and "" not in inside:
            yield "::".join(inside + [match[1]])


def faults_of_names(root, rooms):
    """Two types of one name in one program: the linker takes the functions of one for both."""
    defined = {}
    for room in rooms.values():
        for path in sources_of(root / room.folder):
            for name in types_of(path.read_text()):
                defined.setdefault(name, set()).add(str(path.relative_to(root)))
    return [f"{name} is defined in {' and '.join(sorted(paths))}"
            for name, paths in sorted(defined.items()) if len(paths) > 1]


class TheHouse(unittest.TestCase):
    def setUp(self):
        self.rooms = read_rooms(ROOMS.read_text())

    def test_the_page_tells_the_rooms_and_their_arrows(self):
        page = read_page((SOURCE / "docs" / "architecture.md").read_text())
        self.assertGreater(len(page), 10)
        self.assertEqual(faults_of_page(page, self.rooms), [])

    def test_the_page_names_the_files_in_which_the_cpu_is_special(self):
        page = (SOURCE / "docs" / "architecture.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (`[^|]*\.(?:cpp|h)`[^|]*)\|", page.split("\n## Devices\n")[1].split("\n## ")[0], re.M)
        named = [file for row in rows for file in re.findall(r"`([\w/]+\.(?:cpp|h))`", row)]
        self.assertEqual(sorted(set(named)), sorted(files_that_ask_for_the_cpu(SOURCE)))

    def test_no_level_of_a_room_has_too_many_files(self):
        self.assertEqual(faults_of_sizes(SOURCE, self.rooms), [])

    def test_each_room_declares_the_libraries_whose_headers_it_includes(self):
        self.assertEqual(faults_of_libraries(SOURCE, self.rooms), [])


    def test_no_two_types_have_one_name(self):
        self.assertEqual(faults_of_names(SOURCE, self.rooms), [])


class WrongHouses(unittest.TestCase):
    """The checks above find what they are there for."""

    ROOMS = read_rooms("core\tengine/core\t\tjson\nrun\tengine/run\tcore \t\nsweep\tengine/sweep\trun \tfmt\n")
    PAGE = {"core": [], "run": ["core"], "sweep": ["run"]}

    def test_a_right_page_has_no_faults(self):
        self.assertEqual(faults_of_page(self.PAGE, self.ROOMS), [])
        self.assertEqual(faults_of_page({**self.PAGE, "sweep": ["core", "run"]}, self.ROOMS), [])

    def test_wrong_pages(self):
        for change, fault in [
            ({"attic": []}, "attic stands in the page, but no module or program has this name"),
            ({"run": []}, "run depends on core, which the page does not allow"),
            ({"run": ["core", "sweep"]}, "the page leads from run back to run"),
            ({"core": ["run"]}, "the page says that core uses run, but core does not depend on it"),
        ]:
            self.assertIn(fault, faults_of_page({**self.PAGE, **change}, self.ROOMS))
        self.assertEqual(faults_of_page({"core": [], "run": ["core"]}, self.ROOMS),
                         ["sweep is a module or program, but does not stand in the page"])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "engine/sweep").mkdir(parents=True)
            for i in range(MOST_FILES):
                (root / f"engine/sweep/file_{i}.cpp").write_text("#include <fmt/format.h>\n")
            self.assertEqual(faults_of_sizes(root, self.ROOMS) + faults_of_libraries(root, self.ROOMS), [])
            (root / "engine/sweep/one_more.h").write_text("#include <soci/soci.h>\n#include <vector>\n")
            self.assertEqual(faults_of_sizes(root, self.ROOMS),
                             ["sweep has 37 files in engine/sweep; more than 36 are too many"])
            self.assertEqual(faults_of_libraries(root, self.ROOMS),
                             ["engine/sweep/one_more.h includes <soci/soci.h>, but sweep does not depend on soci"])

    def test_names(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for room in ("run", "sweep"):
                (root / "engine" / room).mkdir(parents=True)
            hidden = "namespace trainlab {\n\nstruct Later;\n\nnamespace {\nstruct Own {\n};\n}  // namespace\n\n"
            (root / "engine/run/one.cpp").write_text(hidden + "class One final {\n};\n\n}  // namespace trainlab\n")
            other = root / "engine/sweep/one.cpp"
            other.write_text(hidden + "}  // namespace trainlab\n"
                             "namespace other {\nstruct One {\n};\n}  // namespace other\n")
            self.assertEqual(faults_of_names(root, self.ROOMS), [])
            other.write_text("namespace trainlab {\nstruct One : Base {\n};\n}  // namespace trainlab\n")
            self.assertEqual(faults_of_names(root, self.ROOMS),
                             ["trainlab::One is defined in engine/run/one.cpp and engine/sweep/one.cpp"])


if __name__ == "__main__":
    unittest.main()
