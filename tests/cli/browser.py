"""Pages in a browser, where there is one, or their scripts in Node."""

import json
import os
import re
import shutil
import subprocess

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
NODE = shutil.which("node")
RUN_PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_page.js")


def shown_by_scripts(test, page, *head):
    """The page of this path, as run_page.js tells it."""
    done = subprocess.run([NODE, RUN_PAGE, page, *head], capture_output=True, text=True, timeout=100, check=False)
    test.assertEqual(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


def told_in_browser(test, text, script):
    """Opens the page of this text and runs an asynchronous script a second later, when charts are drawn. Returns what
    the script says by `told(TEXT)`. A message in the browser's console fails the test."""
    # The browser's clock is virtual, and frames are drawn by that clock too.
    frames = "<head><script>window.requestAnimationFrame = f => setTimeout(() => f(performance.now()), 16);</script>"
    probe = (f"<script>const told = text => {{ document.title = text; }};\nsetTimeout(async () => {{{script}}}, 1000);"
             "</script></body>")
    page = test.write("in_browser.html", text.replace("<head>", frames).replace("</body>", probe))
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={test.folder}/browser",
         "--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom", f"file://{page}"],
        capture_output=True, text=True, timeout=100, check=True)
    test.assertNotIn("CONSOLE", done.stderr)
    return re.search("<title>(.*?)</title>", done.stdout).group(1)
