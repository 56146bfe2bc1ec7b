"""Tables and numbers as they are printed, letter by letter."""

import types

import pytest

from irem.evaluation.tables import Entry, Table, measured, number, printed, with_error, with_spread

HEADER = ("task", "method", "error")
TABLE = Table(
    HEADER,
    (
        (Entry("add"), Entry("IREM"), Entry("0.25", "a.json", strong=True)),
        (Entry("a<b", "words"), Entry("LSTM", strong=True), Entry("1")),
    ),
)


def test_labels_and_best_entries_of_a_page_are_marked():
    rows = (
        '<tr><td class="label">add</td><td class="label">IREM</td>'
        '<td class="best" title="a.json">0.25</td></tr>',
        '<tr><td class="label" title="words">a&lt;b</td><td class="best label">LSTM</td>'
        "<td>1</td></tr>",
    )
    head = '<tr><th class="label">task</th><th class="label">method</th><th>error</th></tr>'
    expected = f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    assert TABLE.as_html() == expected


def test_the_best_entries_of_markdown_are_bold():
    assert TABLE.as_markdown() == (
        "| task | method | error |\n"
        "| --- | --- | --- |\n"
        "| add | IREM | **0.25** |\n"
        "| a<b | **LSTM** | 1 |\n"
    )


def test_words_begin_and_numbers_end_at_the_same_column():
    assert TABLE.as_text() == (
        "task  method  error\n"
        "add   IREM     0.25\n"
        "a<b   LSTM        1"
    )  # fmt: skip


def test_a_row_with_more_entries_than_the_header_is_an_error():
    with pytest.raises(ValueError, match="is shorter than"):
        Table(("a",), ((Entry("1"), Entry("2")),)).as_text()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (999.0, "999"),
        (1000.0, "1,000"),
        (-1234.5, "-1,234"),
        (1.0, "1.00"),
        (-0.5, "-0.500"),
        (1e-5, "0.0000100"),
        (9.9e-6, "9.90e-6"),
    ],
)
def test_only_small_numbers_have_an_exponent(value, shown):
    assert number(value) == shown


def test_a_number_has_as_many_digits_as_asked():
    assert number(0.123456, 1) == "0.1"
    assert number(0.123456, 4) == "0.1235"


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (2.0, 1.0, "2.0 ± 1.0"),
        (1234.0, 56.0, "1,230 ± 60"),
        (1234.0, 5.6, "1,234 ± 6"),
        (2.34e-5, 2e-6, "0.000023 ± 0.000002"),
        (2.34e-6, 2e-7, "2.3e-6 ± 0.2e-6"),
        (float("inf"), 1.0, "not finite"),
        (None, 1.0, "not finite"),
    ],
)
def test_a_value_ends_where_its_error_does(value, error, shown):
    assert with_error(value, error) == shown


def cell(mean, std, *seeds):
    return types.SimpleNamespace(mean=mean, std=std, mse_by_seed=seeds)


@pytest.mark.parametrize(
    ("std", "shown"), [(0.002, "0.298 ± 0.002"), (0.0004, "0.298 ± 0.0004"), (0.02, "0.30 ± 0.02")]
)
def test_no_mean_over_seeds_has_more_than_three_digits(std, shown):
    assert with_spread(cell(0.29831, std)) == shown


def test_a_measured_entry_names_its_file_and_every_seed():
    entry = measured(cell(0.25, 0.05, 0.123456, None), "a.json", 7)
    assert entry == Entry("0.25 ± 0.05", "a.json: cells[7]; seeds: 0.1235, not finite", False)
    assert measured(cell(0.25, None), "a.json", 7, strong=True).strong


def test_numbers_of_the_paper_have_four_decimals():
    assert printed(0.5) == "0.5000"
    assert printed(None) == ""
