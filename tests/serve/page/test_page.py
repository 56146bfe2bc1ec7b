"""The page of `irem serve` in a real browser, in front of recorded walks."""

import json
import re

import pytest
from page_visits import first_frame, lines, result
from stand_in import MODELS, WALKS

NAMES = [name for name, *_ in MODELS]
ONE_SECOND = 1000


def numbers(label):
    """The rows of numbers that a drawing says."""
    rows = label.split(": ", 1)[1].replace("\u2212", "-").split(";")
    return [[float(number) for number in row.split()] for row in rows]


def test_the_first_paint_takes_less_than_a_second_and_needs_no_network(visit, server):
    seen = visit("sudoku")
    paints = seen.page.evaluate("performance.getEntriesByType('paint').map(p => p.startTime)")
    assert paints
    assert max(paints) < ONE_SECOND
    assert seen.requests
    assert all(url.startswith(server.url) for url in seen.requests)
    assert seen.complaints == []


def test_models_are_listed_by_title_and_the_address_keeps_the_choice(visit):
    seen = visit("maze")
    options = seen.page.locator("#model option").all_inner_texts()
    assert options == [title for _, _, title in MODELS]
    seen.page.select_option("#model", "prefix-sums")
    seen.page.wait_for_selector("#editor textarea")
    assert seen.page.url.endswith("#model=prefix-sums")


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_is_solved_and_its_check_is_told_in_words(visit, server, name):
    seen = visit(name).solve()
    verdict = seen.text("#verdict")
    recorded = result(
        {"sudoku": "sudoku-9", "addition": "prefix-sums", "strange": "matrix-inverse"}.get(
            name, name
        )
    )
    word = {True: "✓ Verified", False: "✗ Not verified", None: "? Not checked"}[
        recorded["verified"]
    ]
    assert " ".join(verdict.split()).startswith(word)
    assert recorded["check"] in verdict
    assert ("residual" in verdict) == (recorded["residual"] is not None)
    assert seen.page.locator("#panels svg").count() >= 1
    assert server.asked[0]["landscape"] is True
    assert seen.complaints == []


def test_a_puzzle_is_shown_as_the_server_answered_it(visit, server):
    seen = visit("sudoku").solve()
    assert seen.shown().endswith(result("sudoku-9")["y"]["grid"])
    assert server.asked[0]["problem"] == json.loads((WALKS / "sudoku-9.json").read_text())


def test_the_inverse_and_its_product_with_the_matrix_form_step_by_step(visit):
    seen = visit("matrix-inverse").solve()
    end = result("matrix-inverse")
    assert numbers(seen.shown()) == [pytest.approx(row, rel=5e-3) for row in end["y"]]
    assert numbers(seen.shown(1)) == [pytest.approx(row, abs=0.02) for row in end["product"]]
    assert numbers(seen.shown(2)) == [pytest.approx(row, rel=5e-3) for row in end["truth"]]
    seen.slide_to(0)
    first = first_frame("matrix-inverse")
    assert numbers(seen.shown()) == [pytest.approx(row, rel=5e-3) for row in first]


def test_the_slider_moves_with_the_keyboard_and_says_where_it_is(visit):
    seen = visit("shortest-path").solve()
    slider = seen.page.locator("#player input")
    last = int(slider.get_attribute("max"))
    slider.focus()
    seen.page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext").startswith(f"step 0 of {last}, energy ")
    before = seen.shown()
    seen.page.keyboard.press("End")
    assert slider.get_attribute("aria-valuetext").startswith(f"step {last} of {last}")
    assert seen.shown() != before
    assert "D 8" in seen.shown()  # by hand: A-C-B-D is 1 + 2 + 5


def test_steps_play_by_themselves_and_pause(visit):
    seen = visit("maze", motion="no-preference").solve()
    slider = "#player input"
    assert seen.text("#player button") == "Pause"
    assert int(seen.page.input_value(slider)) < int(seen.page.get_attribute(slider, "max"))
    seen.page.click("#player button")
    held = seen.page.input_value(slider)
    seen.page.wait_for_timeout(300)
    assert seen.page.input_value(slider) == held
    assert seen.text("#player button") == "Play"


def test_reduced_motion_shows_the_last_step_at_once(visit):
    seen = visit("maze").solve()
    assert seen.text("#player button") == "Play"
    assert seen.page.input_value("#player input") == seen.page.get_attribute("#player input", "max")


def test_the_first_step_is_shown_within_a_second_of_pressing_solve(visit, server):
    server.behave(wait=0.1)
    seen = visit("sudoku", motion="no-preference")
    took = seen.page.evaluate("""() => new Promise(resolve => {
        const start = performance.now();
        new MutationObserver(() => {
            if (document.querySelector('#panels svg')) resolve(performance.now() - start);
        }).observe(document.getElementById('panels'), {childList: true, subtree: true});
        document.getElementById('solve').click();
    })""")
    assert took < ONE_SECOND
    assert seen.page.locator("#verdict strong").count() == 0  # the walk goes on


def test_starts_stand_side_by_side_and_one_can_be_chosen(visit, server):
    seen = visit("matrix-inverse").solve()
    starts = seen.page.locator("#starts button")
    best = result("matrix-inverse")["start"]
    assert starts.count() == 2
    assert starts.nth(best).get_attribute("aria-pressed") == "true"
    assert "best" in starts.nth(best).inner_text()
    ends = {line["start"]: line for line in lines("matrix-inverse") if line["type"] == "end"}
    starts.nth(1 - best).click()
    seen.slide_to(0)
    other = next(
        line
        for line in lines("matrix-inverse")
        if line["type"] == "steps" and line["start"] == 1 - best
    )
    assert numbers(seen.shown()) == [pytest.approx(row, rel=5e-3) for row in other["ys"][0]]
    assert set(ends) == {0, 1}


def test_energy_and_landscape_are_told_in_words(visit):
    seen = visit("matrix-inverse").solve()
    seen.settle()
    assert seen.page.get_attribute("#energy svg", "aria-label").startswith(
        "Energy against steps: start 1 from 1.76 to 1.4e\u221216"
    )
    assert "2 paths" in seen.page.get_attribute("#landscape svg", "aria-label")


def test_think_longer_asks_for_more_steps_and_tries(visit, server):
    seen = visit("shortest-path").solve().solve("#longer")
    seen.solve("#longer")
    budget = lines("shortest-path")[0]["budget"]
    assert [asked["steps"] for asked in server.asked] == [None, 2 * budget, 4 * budget]
    assert [asked["restarts"] for asked in server.asked] == [None, 4, 8]


def test_settings_of_the_walk_are_sent(visit, server):
    seen = visit("maze")
    seen.page.click("summary >> text=Settings")
    seen.page.select_option("#options select", "4")
    seen.page.get_by_label("Steps at most").fill("70")
    seen.page.get_by_label("Seed").fill("5")
    seen.solve()
    assert {key: server.asked[0][key] for key in ("starts", "steps", "restarts", "seed")} == {
        "starts": 4,
        "steps": 70,
        "restarts": None,
        "seed": 5,
    }
    seen.page.get_by_label("Seed").fill("1.5")
    seen.page.click("#solve")
    assert "'Seed' is a whole number" in seen.notice()
    assert len(server.asked) == 1


def test_changing_the_problem_takes_the_old_answer_away(visit):
    seen = visit("sudoku").solve()
    seen.page.get_by_label("Row 1, column 2").fill("9")
    assert seen.text("#verdict") == ""
    assert seen.page.locator("#panels svg").count() == 0
    assert seen.page.is_hidden("#longer")


@pytest.mark.parametrize(
    ("name", "field", "typed", "words"),
    [
        ("sudoku", "Row 1, column 2", "x", "Row 1, column 2 holds 'X'; type 1 to 9"),
        ("matrix-inverse", "Row 2, column 3", "abc", "Row 2, column 3 holds 'abc'; a number"),
        ("matrix-inverse", "Row 2, column 3", "", "a number is expected"),
        ("matrix-completion", "Row 1, column 1", "1.2.3", "or an empty cell for a hole"),
        (
            "shortest-path",
            "Length of A-B",
            "-4",
            "The length of A-B is '-4'; a length is a positive",
        ),
        ("prefix-sums", "Line of bits", "0102", "The line has '2' at place 4; every bit is 0 or 1"),
        ("strange", "Problem as JSON", "[1,", "The problem is not JSON"),
    ],
)
def test_wrong_input_gets_one_sentence_and_is_not_sent(visit, server, name, field, typed, words):
    seen = visit(name)
    seen.page.get_by_label(field, exact=True).fill(typed)
    seen.page.click("#solve")
    assert words in seen.notice()
    assert server.asked == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            (
                422,
                {
                    "error": {"code": "refused", "message": "Refused."},
                    "refused": ["The puzzle has more than one solution; give more cells."],
                },
            ),
            "more than one solution; give more cells.",
        ),
        (
            (413, {"error": {"code": "too_large", "message": "81 cells are too many; give 16."}}),
            "81 cells are too many",
        ),
        ((503, {}), "too much to do; wait a few seconds"),
        ((500, {}), "status 500; look at its log"),
    ],
)
def test_errors_of_the_server_are_told(visit, server, error, words):
    seen = visit("sudoku")
    server.behave(error=error)
    seen.page.click("#solve")
    assert words in seen.notice()
    assert seen.text("#verdict") == ""
    assert seen.page.get_attribute("#solve", "aria-disabled") == "false"
    server.behave()
    seen.solve()
    assert seen.page.locator("#notice p").count() == 0


def test_an_answer_that_breaks_off_keeps_what_came_and_says_so(visit, server):
    seen = visit("maze")
    server.behave(lines=4)
    seen.page.click("#solve")
    assert "broke off" in seen.notice()
    assert seen.page.locator("#panels svg").count() >= 1
    assert seen.text("#verdict") == ""


def test_a_lost_connection_says_what_to_do(visit):
    seen = visit("maze")
    seen.page.context.set_offline(True)
    seen.page.click("#solve")
    assert "see that `irem serve` still runs" in seen.notice()


def test_an_error_within_a_stream_is_told(visit):
    seen = visit("maze")
    told = {"type": "error", "error": {"code": "late", "message": "The time is up; allow more."}}
    seen.page.route("**/walk", lambda route: route.fulfill(body=json.dumps(told) + "\n"))
    seen.page.click("#solve")
    assert seen.notice() == "The time is up; allow more."


def test_a_token_is_asked_for_and_used(visit, server, browser):
    server.behave(token="secret")
    page = browser.new_context().new_page()
    page.goto(server.url)
    page.get_by_label("Token").fill("secret")
    page.get_by_text("Use it").click()
    page.wait_for_selector(".cells")
    page.context.close()
    page = browser.new_context().new_page()
    page.goto(f"{server.url}#token=secret&model=maze")
    page.wait_for_selector(".board")
    assert "secret" not in page.url
    page.context.close()


def test_a_slow_walk_shows_its_first_steps_and_can_be_cancelled(visit, server):
    server.behave(wait=0.15)
    seen = visit("sudoku")
    seen.page.click("#solve")
    seen.page.wait_for_selector("#panels svg")
    assert seen.page.get_attribute("#solve", "aria-disabled") == "true"
    seen.page.evaluate("document.getElementById('solve').click()")  # asks for nothing
    seen.page.click("#cancel")
    seen.until("document.getElementById('status').textContent == 'Cancelled.'")
    assert len(server.asked) == 1
    seen.page.wait_for_timeout(400)
    assert server.left == 1  # the server saw it, and its slot is free
    assert seen.page.is_hidden("#cancel")


def test_a_server_that_says_nothing_for_long_is_spoken_of(visit, server):
    seen = visit("sudoku", viewport={"width": 800, "height": 600})  # whose clock is its own
    seen.page.clock.install()
    server.behave(wait=0.5)
    seen.page.click("#solve")
    seen.page.clock.run_for(4500)
    assert "Still waiting for the server" in seen.text("#status")
    seen.page.keyboard.press("Escape")


def test_a_hostile_answer_is_text_and_no_program(visit):
    seen = visit("sudoku")
    evil = "<img src=x onerror=window.evil=1>\"'"
    walk = [
        {"type": "begin", "starts": 1, "budget": 1, "floor": None},
        {"type": "steps", "start": 0, "first": 0, "energies": [1], "ys": [{"grid": evil * 9}]},
        {"type": "result", "start": 0, "y": {"grid": evil * 9}, "verified": False, "check": evil},
    ]
    body = "".join(json.dumps(line) + "\n" for line in walk)
    seen.page.route("**/walk", lambda route: route.fulfill(body=body))
    seen.solve()
    assert evil in seen.text("#verdict")
    assert seen.page.locator("#panels img, #verdict img").count() == 0
    assert seen.page.evaluate("window.evil") is None


def test_walks_with_many_tries_and_missing_numbers_are_drawn(visit):
    seen = visit("matrix-inverse")
    y = [[1.0, None], [None, 1.0]]
    walk = [{"type": "begin", "starts": 1, "budget": 3, "floor": None}]
    for start in range(12):
        walk.append(
            {
                "type": "steps",
                "start": start,
                "first": 0,
                "energies": [5e9, None, 0.0, -3.0],
                "ys": [y, y],
                "steps": [0, 3],
            }
        )
    walk.append(
        {"type": "result", "start": 11, "y": y, "verified": None, "check": "", "energy": None}
    )
    body = "".join(json.dumps(line) + "\n" for line in walk)
    seen.page.route("**/walk", lambda route: route.fulfill(body=body))
    seen.solve()
    seen.settle()
    assert seen.page.locator("#starts button").count() == 8
    assert "and 4 further tries" in seen.text("#starts")
    assert "NaN" not in seen.page.inner_html("#panels") + seen.page.inner_html("#energy")
    assert re.search(r"Not checked\. Nothing checks answers", seen.text("#verdict"))
