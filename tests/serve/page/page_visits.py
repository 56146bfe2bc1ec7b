"""A page of the stand-in that is looked at, and what was recorded for it."""

import itertools
import json
from pathlib import Path

from stand_in import WALKS

SCREENSHOTS = Path(__file__).parents[3] / ".scratch/screenshots"  # which git ignores
DESKTOP = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}


class Visit:
    """One page in one window, and what went wrong in it."""

    fresh = itertools.count()

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.exceptions, self.complaints, self.requests = [], [], []
        self.listeners = {
            "pageerror": lambda error: self.exceptions.append(str(error)),
            "console": self._said,
            "request": lambda request: self.requests.append(request.url),
        }
        for event, listener in self.listeners.items():
            page.on(event, listener)
        page.set_default_timeout(5000)

    def _said(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def leave(self):
        """Leave the window as it was."""
        for event, listener in self.listeners.items():
            self.page.remove_listener(event, listener)
        self.page.unroute_all()
        self.page.context.set_offline(False)
        self.page.evaluate("localStorage.clear(); sessionStorage.clear()")

    def open(self, model, seconds=5):
        self.page.goto(f"{self.address}?{next(Visit.fresh)}#model={model}")
        shown = "document.getElementById('status').textContent.startsWith('Example')"
        return self.until(shown, seconds)

    def until(self, condition, seconds=5):
        """Wait for a condition; the page forbids `eval`, with which Playwright itself would ask."""
        self.page.evaluate(
            f"""new Promise((yes, no) => {{
                const ask = left => {condition} ? yes() : left ? setTimeout(ask, 10, left - 1)
                    : no(new Error(`never true: {condition}`));
                ask({100 * seconds});
            }})"""
        )
        return self

    def solve(self, button="#solve"):
        self.page.click(button)
        self.page.wait_for_selector("#verdict strong")
        return self

    def settle(self):
        """Wait until what was changed is drawn."""
        self.page.evaluate(
            "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
        )

    def text(self, selector):
        return self.page.inner_text(selector)

    def notice(self):
        self.page.wait_for_selector("#notice p")
        return self.text("#notice p")

    def shown(self, panel=0):
        """What a drawing of the answer says in words."""
        self.settle()
        return self.page.locator("#panels svg").nth(panel).get_attribute("aria-label")

    def slide_to(self, step):
        self.page.eval_on_selector(
            "#player input",
            "(s, step) => { s.value = step; s.dispatchEvent(new Event('input')); }",
            step,
        )
        self.settle()


def lines(name):
    """The lines of a recorded walk."""
    return [json.loads(line) for line in (WALKS / f"{name}.ndjson").read_text().splitlines()]


def result(name):
    return lines(name)[-1]


def first_frame(name):
    """The first guess of the start that a walk ends with."""
    steps = [line for line in lines(name) if line["type"] == "steps"]
    return next(line for line in steps if line["start"] == result(name)["start"])["ys"][0]
