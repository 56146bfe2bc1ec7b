"""How the page of `irem serve` looks: axe, light and dark, phones; screenshots are kept."""

from importlib.resources import files

import pytest
from page_visits import DESKTOP, PHONE, SCREENSHOTS
from stand_in import MODELS

NAMES = [name for name, *_ in MODELS]
AXE = files("axe_playwright_python").joinpath("axe.min.js")
# With the rules of axe that may find something new there: a phone has the same elements.
WAYS = {
    "light": ({"viewport": DESKTOP, "scheme": "light"}, None),
    "dark": ({"viewport": DESKTOP, "scheme": "dark"}, ["color-contrast"]),
    "phone": ({"viewport": PHONE, "scheme": "light"}, []),
}


def findings(page, rules=None):
    """What axe finds to be serious or critical, each with the elements that it is about."""
    page.evaluate(AXE.read_text())
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    return [
        (one["id"], [node["html"] for node in one["nodes"]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def keep(seen, name, way):
    """Keep a picture of the whole page."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    seen.settle()
    seen.page.screenshot(path=SCREENSHOTS / f"{name}-{way}.png", full_page=True)


def overflowing(page):
    """Whether the page is wider than its window, and which elements reach beyond it."""
    return page.evaluate("""() => {
        const wide = document.documentElement.scrollWidth > innerWidth;
        const inside = e => e.closest('.skip, .hidden-text, svg');
        const beyond = [...document.querySelectorAll('main *')].filter(e =>
            !inside(e) && e.getBoundingClientRect().right > innerWidth + 1);
        return [wide, beyond.map(e => e.outerHTML.slice(0, 80))];
    }""")


def cut_off(page):
    """Texts of buttons, choices and labels of drawings that do not fit where they stand."""
    return page.evaluate("""() => {
        const tight = [...document.querySelectorAll('button, .hint, figcaption, .field span')]
            .filter(e => getComputedStyle(e).display !== 'inline')
            .filter(e => e.scrollWidth > e.clientWidth + 1);
        const texts = [...document.querySelectorAll('svg text')].filter(e => {
            const own = e.getBoundingClientRect();
            const frame = e.ownerSVGElement.getBoundingClientRect();
            return own.width && (own.left < frame.left - 1 || own.right > frame.right + 1
                || own.top < frame.top - 2 || own.bottom > frame.bottom + 2);
        });
        return [...tight, ...texts].map(e => e.outerHTML.slice(0, 120));
    }""")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_an_answer_is_accessible_and_nothing_is_cut_off(visit, name, way):
    settings, rules = WAYS[way]
    seen = visit(name, **settings).solve()
    keep(seen, name, way)
    assert overflowing(seen.page) == [False, []]
    assert cut_off(seen.page) == []
    if rules != []:
        assert findings(seen.page, rules) == []


def test_the_page_before_and_after_an_error_is_accessible(visit, server):
    seen = visit("sudoku", viewport=PHONE, scheme="dark")
    assert findings(seen.page) == []
    server.behave(error=(503, {}))
    seen.page.click("#solve")
    seen.notice()
    keep(seen, "error", "phone-dark")
    assert findings(seen.page) == []


def test_every_drawing_has_words(visit):
    for name in ("sudoku", "matrix-inverse", "connected-components"):
        seen = visit(name).solve()
        labels = seen.page.eval_on_selector_all(
            "#panels svg, #energy svg, #landscape svg",
            "all => all.map(e => e.getAttribute('aria-label'))",
        )
        assert all(label and len(label.split()) > 3 for label in labels)


def ground(seen):
    """How light the page is, from 0 to 255."""
    colour = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    return max(int(part) for part in colour.strip("rgb()").split(",")[:3])


def test_dark_follows_the_system_and_the_switch_is_kept(visit):
    assert ground(visit("maze")) > 200
    seen = visit("maze", scheme="dark")
    assert ground(seen) < 60
    seen.page.select_option("#theme", "light")
    assert ground(seen) > 200
    seen.page.reload()
    assert ground(seen) > 200
    seen.page.select_option("#theme", "auto")
    assert ground(seen) < 60


def test_starts_are_told_apart_without_colour(visit):
    seen = visit("matrix-inverse").solve()
    seen.settle()
    dashes = seen.page.eval_on_selector_all(
        "#energy .d-curve", "all => all.map(e => e.getAttribute('stroke-dasharray'))"
    )
    assert len(set(dashes)) == len(dashes) == 2


def test_the_answer_comes_into_view_on_a_phone(visit):
    seen = visit("matrix-inverse", viewport=PHONE).solve()
    seen.settle()
    box = seen.page.locator("#verdict").bounding_box()
    assert 0 <= box["y"] < PHONE["height"] / 2
