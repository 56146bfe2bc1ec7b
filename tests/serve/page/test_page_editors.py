"""Setting problems on the page of `irem serve`: with pointer, keyboard, clipboard and files."""

import base64
import io
import json

import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image
from scipy.sparse.csgraph import shortest_path

from irem.puzzles import Puzzle, known_of_grid, sudoku_families
from irem.tasks.exact import count_solutions

INKALA = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."


def paste(seen, selector, text):
    """Paste a text as people do."""
    seen.page.locator(selector).first.focus()
    seen.page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData('text', text);
            document.activeElement.dispatchEvent(new ClipboardEvent('paste',
                {clipboardData: data, bubbles: true, cancelable: true}));
        }""",
        text,
    )


def sent(seen, server):
    """The problem that is sent when Solve is pressed."""
    seen.solve()
    return server.asked[-1]["problem"]


def test_a_puzzle_is_typed_with_the_keyboard_alone(visit, server):
    seen = visit("sudoku")
    seen.page.click("text=Clear")
    press = seen.page.keyboard.press
    seen.page.focus("#examples button:last-child")
    press("Tab")  # into the grid, which is one stop
    for key in (
        "5",
        "ArrowRight",
        "3",
        "ArrowDown",
        "x",
        "7",
        "ArrowLeft",
        "ArrowUp",
        "Delete",
        "4",
    ):
        press(key)
    press("Tab")
    assert seen.page.evaluate("document.activeElement.tagName") == "SUMMARY"
    press("Control+Enter")
    seen.page.wait_for_selector("#verdict strong")
    grid = server.asked[0]["problem"]["grid"]
    assert grid[:11] == "43.......".ljust(9, ".") + ".7"
    assert set(grid[11:]) == {"."}


@pytest.mark.parametrize("text", [INKALA, "\n".join(INKALA[i : i + 9] for i in range(0, 81, 9))])
def test_a_whole_puzzle_is_pasted(visit, server, text):
    seen = visit("sudoku")
    paste(seen, ".cells input", text.replace(".", "0"))
    assert sent(seen, server) == {"grid": INKALA}


def test_a_paste_of_another_length_is_refused_with_its_length(visit):
    seen = visit("sudoku")
    paste(seen, ".cells input", "12345")
    assert "The text has 5 characters; a puzzle has 16, 81 or 256" in seen.notice()


def test_larger_puzzles_have_letters(visit, server):
    seen = visit("sudoku")
    paste(seen, ".cells input", "g" + "." * 255)
    assert seen.page.locator(".cells input").count() == 256
    seen.page.get_by_label("Row 1, column 2", exact=True).fill("a")
    seen.page.click("#solve")
    seen.until("document.querySelector('#notice p')")  # nothing is recorded for it
    assert server.asked[0]["problem"]["grid"] == "GA" + "." * 254


def cell_of(seen, row, column):
    """The middle of a cell of the maze, in pixels."""
    box = seen.page.locator(".board").bounding_box()
    size = len(seen.page.evaluate("document.querySelector('.board').innerHTML") and rows_of(seen))
    return box["x"] + (column + 0.5) * box["width"] / size, box["y"] + (row + 0.5) * box[
        "height"
    ] / size


def rows_of(seen):
    """The rows of the maze, as many as its drawing has."""
    label = seen.page.get_attribute(".board svg", "aria-label")
    return range(int(label.split()[2]))


def test_walls_are_drawn_with_the_pointer_and_ends_are_dragged(visit, server):
    seen = visit("maze")
    seen.page.click("text=Clear")
    mouse = seen.page.mouse
    mouse.move(*cell_of(seen, 2, 3))
    mouse.down()
    mouse.move(*cell_of(seen, 2, 6), steps=12)
    mouse.up()
    mouse.move(*cell_of(seen, 1, 1))
    mouse.down()
    mouse.move(*cell_of(seen, 4, 1), steps=12)
    mouse.up()
    mouse.click(*cell_of(seen, 0, 0))
    end = len(rows_of(seen)) - 2
    mouse.move(*cell_of(seen, end, end - 1))
    mouse.down()
    mouse.move(*cell_of(seen, end, end))  # walls are not drawn over the end
    mouse.up()
    rows = sent(seen, server)["maze"].split("\n")
    assert rows[2][3:7] == "####"
    assert rows[4][1] == "S"
    assert sum(row.count("S") + row.count("E") for row in rows) == 2
    assert rows[0][0] == " "
    assert rows[0][1:] == "#" * (len(rows) - 1)


def test_a_maze_is_drawn_with_the_keyboard(visit, server):
    seen = visit("maze")
    seen.page.click("text=Clear")
    seen.page.focus(".board")
    for key in ("ArrowDown", "ArrowRight", "Space", "ArrowRight", "s", "ArrowDown", "e"):
        seen.page.keyboard.press(key)
    assert seen.text("#status") == "Row 4, column 4: end."
    rows = sent(seen, server)["maze"].split("\n")
    assert (rows[2][2], rows[2][3], rows[3][3]) == ("#", "S", "E")


def node(seen, name):
    return seen.page.get_by_role("button", name=f"Node {name}", exact=True)


def test_nodes_are_dragged_joined_and_removed(visit, server):
    seen = visit("shortest-path")
    seen.page.click("text=Clear")
    before = node(seen, "A").bounding_box()
    mouse = seen.page.mouse
    mouse.move(before["x"] + 12, before["y"] + 12)
    mouse.down()
    mouse.move(before["x"] + 72, before["y"] + 62, steps=5)
    mouse.up()
    assert node(seen, "A").bounding_box()["x"] > before["x"] + 40
    node(seen, "A").click()
    node(seen, "C").click()
    seen.page.get_by_label("Length of A-C").fill("2.5")
    seen.page.click("text=Add node")
    seen.page.click("text=Remove G")
    node(seen, "B").click()
    seen.page.click("text=Remove B")
    assert sent(seen, server) == [
        [0 if i == j else 2.5 if {i, j} == {0, 1} else None for j in range(5)] for i in range(5)
    ]


def test_a_graph_is_changed_with_the_keyboard(visit, server):
    seen = visit("connected-components")
    seen.page.click("text=Clear")
    node(seen, "B").focus()
    before = node(seen, "B").bounding_box()["x"]
    for key in ("ArrowLeft", "ArrowLeft", "Enter", "Tab", "Tab", "Enter"):
        seen.page.keyboard.press(key)
    assert node(seen, "B").bounding_box()["x"] < before - 10
    assert seen.text("#status") == "B and D are joined."
    problem = np.array(sent(seen, server))
    assert np.argwhere(problem).tolist() == [[1, 3], [3, 1]]


def test_a_matrix_stays_symmetric(visit, server):
    seen = visit("matrix-inverse")
    seen.page.get_by_label("Row 1, column 3", exact=True).fill("0,25")
    problem = np.array(sent(seen, server))
    assert problem[0, 2] == problem[2, 0] == 0.25


def test_a_table_is_pasted_from_a_spreadsheet_with_its_holes(visit, server):
    seen = visit("matrix-completion")
    paste(seen, ".numbers input", "1\t2\t\n\t5\t6.5\n")
    assert sent(seen, server) == [[1, 2, None], [None, 5, 6.5]]


def test_rows_and_columns_of_a_table_are_chosen(visit, server):
    seen = visit("matrix-completion")
    seen.page.get_by_label("Rows").fill("2")
    seen.page.get_by_label("Rows").press("Enter")
    seen.page.get_by_label("Columns").fill("12")
    seen.page.get_by_label("Columns").press("Enter")
    seen.page.wait_for_selector("#editor textarea")  # too wide for fields
    problem = sent(seen, server)
    assert [len(row) for row in problem] == [12, 12]
    assert problem[0][7:] == [None] * 5


def picture(path, side):
    Image.fromarray(np.full((side, side, 3), 128, np.uint8)).save(path)
    return path


def pixels(problem):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(problem["png"]))).convert("RGB"))


def test_a_picture_is_chosen_made_smaller_and_made_noisy(visit, server, tmp_path):
    seen = visit("denoise")
    seen.page.set_input_files("input[type=file]", picture(tmp_path / "plain.png", 300))
    assert "it was made smaller, to 256" in seen.notice()
    plain = pixels(sent(seen, server))
    assert plain.shape == (256, 256, 3)
    assert np.ptp(plain) == 0
    seen.page.click("text=Add noise")
    noisy = pixels(sent(seen, server))
    # Of a standard deviation of a tenth; 196,608 values fix it to a few thousandths.
    assert noisy.std() == pytest.approx(25.5, rel=0.02)


def test_a_picture_is_dropped_and_a_text_is_no_picture(visit, server, tmp_path):
    seen = visit("denoise")
    dropped = """([data, name]) => {
        const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
        const transfer = new DataTransfer();
        transfer.items.add(new File([bytes], name));
        document.querySelector('.drop').dispatchEvent(new DragEvent('drop',
            {dataTransfer: transfer, bubbles: true, cancelable: true}));
    }"""
    seen.page.evaluate(dropped, [base64.b64encode(b"no picture").decode(), "a.txt"])
    assert "'a.txt' cannot be read as a picture" in seen.notice()
    data = base64.b64encode(picture(tmp_path / "p.png", 20).read_bytes()).decode()
    seen.page.evaluate(dropped, [data, "p.png"])
    seen.until("document.querySelector('.drop img').naturalWidth == 20")
    assert pixels(sent(seen, server)).shape == (20, 20, 3)


def test_examples_are_asked_for_by_size_and_difficulty(visit):
    seen = visit("matrix-inverse")
    seen.page.select_option("#examples select", "8")
    seen.page.click("text=Ill-conditioned")
    seen.until("performance.getEntriesByType('resource').some(r => r.name.includes('hard=1'))")
    asked = [url.split("?")[1] for url in seen.requests if "/examples?" in url]
    assert asked == ["hard=0&size=5", "hard=0&size=8", "hard=1&size=8"]


@pytest.mark.parametrize("size", [4, 16])
def test_puzzles_of_other_sizes_are_shuffled_and_have_one_solution(visit, size):
    seen = visit("sudoku")
    texts = set()
    for _ in range(2):
        seen.page.select_option("#examples select", "9")
        seen.page.select_option("#examples select", str(size))
        seen.page.wait_for_selector(f".cells.of-{size}")
        inputs = "all => all.map(i => i.value || '.').join('')"
        texts.add(seen.page.eval_on_selector_all(".cells input", inputs))
    assert len(texts) == 2
    for text in texts:
        cells = ["123456789ABCDEFG".find(symbol) + 1 for symbol in text]
        known = known_of_grid(np.array(cells).reshape(1, size, size))[0]
        assert count_solutions(Puzzle(jnp.asarray(known), sudoku_families(size))) == 1


def test_solve_waits_for_an_example_that_is_on_its_way(visit, server):
    seen = visit("sudoku")
    hold = []
    seen.page.route("**/examples?*", lambda route: hold.append(route))
    seen.page.click("text=Hard one")
    seen.page.click("#solve")
    seen.until("document.getElementById('status').textContent == 'Loading an example.'")
    assert server.asked == []
    other = {"label": "other", "problem": {"grid": INKALA}}
    hold[0].fulfill(body=json.dumps({"problems": [other]}))
    seen.page.wait_for_selector("#verdict strong")
    assert server.asked[0]["problem"] == {"grid": INKALA}


def test_an_example_that_comes_late_does_not_take_away_what_was_typed(visit, server):
    seen = visit("sudoku")
    hold = []
    seen.page.route("**/examples?*", lambda route: hold.append(route))
    seen.page.click("text=Clear")
    seen.page.click("text=Hard one")
    seen.page.get_by_label("Row 1, column 1", exact=True).fill("7")
    hold[0].fulfill(body=json.dumps({"problems": [{"label": "a", "problem": {"grid": INKALA}}]}))
    assert sent(seen, server) == {"grid": "7" + "." * 80}


def test_a_graph_with_directions_is_replaced_by_one_that_can_be_drawn(visit, server):
    seen = visit("shortest-path")
    directed = {"label": "d", "problem": [[0, 1, 2], [3, 0, 4], [5, 6, 0]]}
    body = json.dumps({"problems": [directed]})
    seen.page.route("**/examples?*", lambda route: route.fulfill(body=body))
    seen.page.click("text=Random")
    lengths = np.array(sent(seen, server), float)
    assert lengths.shape == (6, 6)
    np.testing.assert_array_equal(lengths, lengths.T)
    joined = shortest_path(np.where(np.isnan(lengths), 0, lengths))
    assert np.isfinite(joined).all()
