import pytest

from irem.evaluation.tables import Entry, Table, number


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.00042678, "0.000427"),
        (12.3456, "12.3"),
        (85023.4, "85,023"),
        (None, ""),
        (0.0, "0"),
        (0.31045, "0.310"),
        (0.17983, "0.180"),
        (123.4, "123"),
    ],
)
def test_numbers_are_short_and_without_exponents(value, shown):
    assert number(value) == shown


def test_words_of_a_table_are_escaped():
    table = Table(("a<b",), ((Entry("<i>", 'say "x"'),),), labels=0)
    assert '<td title="say &quot;x&quot;">&lt;i&gt;</td>' in table.as_html()


def test_text_columns_line_up():
    table = Table(("name", "error"), ((Entry("a"), Entry("0.25")), (Entry("long"), Entry("1"))), 1)
    assert table.as_text() == "name  error\na      0.25\nlong      1"
