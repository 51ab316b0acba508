"""Within a module, no function of a single file can take a call that is meant for another function.

The release compiles several files of a module as one (trainlab_compile_together in tools/cmake/modules.cmake), where
the functions in the anonymous namespaces of all of them are visible. If `bool is_name(const std::string&)` is one of
them, a call of another file that is meant for `bool is_name(std::string_view)` of a header goes to it, without a word
from the compiler. So two such functions need different names, or parameters that the compiler does not convert into
each other.
"""

import collections
import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])

NO_TYPES = {"return", "throw", "else", "case", "using", "namespace", "new", "delete", "goto", "co_return", "if"}
WORDS = {"const", "volatile", "std", "fs", "at", "c10", "filesystem", "struct"}
TEXTS = {"string", "string_view", "path", "char*"}
NUMBERS = {"bool", "char", "int", "long", "short", "float", "double", "size_t", "ptrdiff_t", "Scalar", "int8_t",
           "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "unsigned"}
LISTS = {"vector", "span", "array", "initializer_list", "IntArrayRef", "ArrayRef", "set"}
CALL = re.compile(r"(?<![:.>\w])(\w+)\(")
# A function at the beginning of a line: its type, its name and what follows its bracket.
FUNCTION = re.compile(r"^(template <[^\n]*>\s+)?(?=[A-Za-z_\[])([^\n;={}()]*[\s&*>\]])(\w+)\(", re.M)


def parameters(text):
    """The parameters in the text behind an opening bracket: (words, whether it has a default) for each."""
    found, depth, begin = [], 0, 0
    for at, char in enumerate(text):
        if char in "(<{[":
            depth += 1
        elif char in ")>}]" and not text.startswith("->", at - 1):
            depth -= 1
        if (char == "," and depth == 0) or depth < 0:
            found.append(text[begin:at].strip())
            begin = at + 1
        if depth < 0:
            break
    return [] if found == [""] else [(one.split("=")[0].strip(), "=" in one) for one in found]


def kind(parameter, generic):
    """What a parameter is for overload resolution, roughly: those of one kind convert into each other."""
    head, _, inner = parameter.partition("<")
    words = [word for word in re.findall(r"\w+", head) if word not in WORDS]
    name = words[0] if words else ""
    if name == "auto" or name in generic or "..." in parameter:
        return "any"
    if name in TEXTS or (name == "char" and "*" in head):
        return "text"
    if name in NUMBERS and "*" not in head:
        return "number"
    if name in LISTS:
        return "list of " + kind(inner, generic)
    return name + "*" * head.count("*")


def signatures(text, match):
    """The kinds of the parameters of a function, for each number of arguments that it takes."""
    generic = set(re.findall(r"(?:typename|class|\w+) (\w+)[,>]", match[1] or ""))
    declared = parameters(text[match.end():match.end() + 2000])
    kinds = tuple(kind(one, generic) for one, _ in declared)
    least = sum(not has_default for _, has_default in declared)
    return {kinds[:count] for count in range(least, len(kinds) + 1)}


def is_near(one, other):
    return len(one) == len(other) and all(a == b or "any" in (a, b) for a, b in zip(one, other))


def functions(text):
    """(name, signatures, text of the parameters) of the functions that begin a line of the text."""
    for match in FUNCTION.finditer(text):
        if not NO_TYPES & set(re.findall(r"\w+", match[2])) and "operator" not in match[2]:
            yield match[3], signatures(text, match), text[match.end():].partition(")")[0]


def own_parts(text):
    """The texts of the anonymous namespaces of a file."""
    return re.findall(r"^namespace \{$(.*?)^\}  // namespace$", text, re.M | re.S)


def without_comments(text):
    return re.sub(r"//(?! namespace$)[^\n]*", "", text, flags=re.M)


def module_of(path):
    return path.parts[0] if path.parts[0] == "bindings" else "/".join(path.parts[:2])


def read(root):
    """(headers, files): path → text. Benchmarks, which are compiled by themselves, are left out."""
    headers, files = {}, {}
    for folder in ("engine", "bindings", "tools"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cpp") and "bench" not in path.relative_to(root).parts:
                to = headers if path.suffix == ".h" else files
                to[path.relative_to(root)] = without_comments(path.read_text())
    return headers, files


def clashes(headers, files):
    """Lines for the pairs of a file's own function and another one of its module's files whose calls it can take."""
    shared = collections.defaultdict(list)
    for path, text in headers.items():
        for name, kinds, _ in functions(text):
            shared[name].append((path, kinds))
    own, callers = collections.defaultdict(list), collections.defaultdict(set)
    for path, text in files.items():
        for name in CALL.findall(text):
            callers[module_of(path), name].add(path)
        for part in own_parts(text):
            for name, kinds, declared in functions(part):
                own[module_of(path), name].append((path, kinds, declared))
    found = set()
    for (module, name), ones in own.items():
        is_called_elsewhere = bool(callers[module, name] - {path for path, _, _ in ones})
        for path, kinds, declared in ones:
            # The compiler itself refuses two of the very same parameters.
            others = [(other, more) for other, more, same in ones if str(other) < str(path) and same != declared]
            if is_called_elsewhere:
                others += shared[name]
            for other, more in others:
                if any(is_near(a, b) for a in kinds for b in more):
                    found.add(f"{path}: {name}, as in {other}")
    return sorted(found)


class Names(unittest.TestCase):
    def test_of_the_tree(self):
        headers, files = read(SOURCE)
        self.assertGreater(len(files), 500)
        self.assertEqual(clashes(headers, files), [])

    def check(self, expected, **files):
        texts = {pathlib.Path("engine/core", name.replace("_", ".")): without_comments(text)
                 for name, text in files.items()}
        parts = [{path: text for path, text in texts.items() if path.suffix == suffix} for suffix in (".h", ".cpp")]
        self.assertEqual([line.split(":")[0] for line in clashes(*parts)], expected)

    def test_that_clashes_are_found(self):
        own = "namespace {\nbool f(TAKEN) { return true; }\n}  // namespace\n"
        for taken, meant, expected in (("const std::string& x", "std::string_view x", ["engine/core/a.cpp"]),
                                       ("double x", "std::int64_t x, int y = 1", ["engine/core/a.cpp"]),
                                       ("const std::vector<int>& x", "std::span<const int> x", ["engine/core/a.cpp"]),
                                       ("const Row& x", "const Column& x", []), ("int x", "int x, int y", [])):
            with self.subTest(taken):
                self.check(expected, a_cpp=own.replace("TAKEN", taken), a_h=f"bool f({meant});\n", b_cpp="x = f(y);\n")
                self.check([], a_cpp=own.replace("TAKEN", taken), a_h=f"bool f({meant});\n", b_cpp="x = y.f(y);\n")
        same = own.replace("TAKEN", "std::string_view x")
        self.check(["engine/core/b.cpp"], a_cpp=same.replace("_view x", " x"), b_cpp=same)


if __name__ == "__main__":
    unittest.main()
