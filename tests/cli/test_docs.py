"""The documentation is what the program is: the generated reference is current, links lead somewhere, recipes run."""

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

    def test_every_recipe_describes_itself(self):
        for recipe in sorted((SOURCE / "recipes").glob("*.lua")):
            help_text = self.run_program(recipe, "--help").out
            self.assertIn("Parameters:", help_text)

    def test_recipes_of_the_guide_are_checked(self):
        """Each fenced Lua block of the guide that returns a stage and leaves nothing out."""
        blocks = re.findall(r"```lua\n(.*?)```", (SOURCE / "docs" / "guide.md").read_text(), re.S)
        whole = [block for block in blocks if "return lab." in block and "…" not in block]
        self.assertTrue(whole)
        for number, block in enumerate(whole):
            recipe = self.write(f"guide{number}.lua", block)
            self.run_program("check", recipe, "--step")

    def test_the_page_on_searching_runs(self):
        """Its snippets, one after the other in one recipe, as a reader would try them."""
        blocks = re.findall(r"```lua\n(.*?)```", (SOURCE / "docs" / "search.md").read_text(), re.S)
        self.assertGreater(len(blocks), 4)
        names, *rest = blocks
        recipe = self.write("search.lua", names + "".join(f"do\n{block}end\n" for block in rest))
        self.run_program(recipe)


if __name__ == "__main__":
    unittest.main()
