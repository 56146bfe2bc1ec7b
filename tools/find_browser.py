"""Find a Chromium for the tests of the page, and install Debian's where there is none.

    python tools/find_browser.py

It prints the path of the program. Where there is none and none can be installed (that takes root
and apt-get) it says what to install, and ends with code 1.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = (
    "The tests of the page need Chromium or Chrome on the PATH: install it, such as with "
    "`apt-get install chromium`."
)


def on_path() -> str | None:
    """Return the path of the first browser of those names."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def install() -> None:
    """Install Debian's Chromium, if this may be done here and the package can be had."""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        subprocess.run(["apt-get", *command], env=environment, timeout=600, **quiet)


def find_browser() -> str | None:
    """Return the path of a browser, installed first where that is needed; None without one."""
    found = on_path()
    if found is None:
        install()
        found = on_path()
    return found


if __name__ == "__main__":
    browser = find_browser()
    print(browser or MISSING, file=sys.stdout if browser else sys.stderr)
    sys.exit(0 if browser else 1)
