"""The documentation is what the program is: the generated reference is current, links lead somewhere."""

import os
import pathlib
import re
import subprocess
import unittest

from program import SOURCE, CliTest

ENGINE = pathlib.Path(os.environ["TRAINLAB"]).parent.parent / "libexec" / "trainlab-engine"
PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]


class Docs(CliTest):
    def test_the_reference_is_what_the_declarations_give(self):
        made = self.folder / "reference.md"
        subprocess.run([ENGINE, "--reference", made], check=True)
        self.assertEqual(
            made.read_text(),
            (SOURCE / "docs" / "reference.md").read_text(),
            "docs/reference.md is out of date: build/release/libexec/trainlab-engine --reference docs/reference.md",
        )

    def test_links_between_pages_lead_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page.name}: {target}")

    def test_the_readme_shows_the_recipe_as_it_is(self):
        shown = re.search(r"```lua\n-- recipes/digits.lua\n(.*?)```", (SOURCE / "README.md").read_text(), re.S).group(1)
        self.assertTrue((SOURCE / "recipes" / "digits.lua").read_text().endswith(shown))

    def test_the_page_on_lua_lists_what_is_there(self):
        section = (SOURCE / "docs" / "lua.md").read_text().partition("## What is there")[2].partition("\n## ")[0]
        listed = {library.strip("`"): sorted(names.split())
                  for library, names in re.findall(r"^\| (\S+) \| `([^`]+)` \|$", section, re.M)}
        libraries = [name for name in listed if name != "basic"]
        self.write("r.lua", """
            local function show(library, t)
              local names = {}
              for name in pairs(t) do names[#names + 1] = name end
              print(library .. " " .. table.concat(names, " "))
            end
            show("basic", _G)
        """ + "".join(f'show("{name}", {name})\n' for name in libraries))
        shown = {}
        for line in self.run_program("r.lua").err.splitlines()[:len(listed)]:
            library, *names = line.split()
            shown[library] = sorted(names)
        self.assertEqual(shown["basic"], sorted([*listed["basic"], *libraries, "lab"]))
        del shown["basic"], listed["basic"]
        self.assertEqual(shown, listed)

    def test_every_recipe_describes_itself(self):
        for recipe in sorted((SOURCE / "recipes").glob("*.lua")):
            help_text = self.run_program(recipe, "--help").out
            self.assertIn("Parameters:", help_text)


if __name__ == "__main__":
    unittest.main()
