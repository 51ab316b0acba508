"""Pages in a browser, where there is one."""

import re
import shutil
import subprocess

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")


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
