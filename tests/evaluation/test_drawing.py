"""Figures show what was measured, also where that is not finite."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from irem.evaluation import drawing
from irem.evaluation.page import png

CURVE = np.outer([1.0, 3.0], [1.0, 0.1, 0.01, 0.01, 0.01, 0.01])


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_sizes_have_colours_and_methods_have_lines():
    sizes = {"10 nodes": CURVE, "15 nodes": 2 * CURVE}
    figure = drawing.error_by_size(
        {"IREM": sizes, "recurrent": sizes}, {"10 nodes": 0.5, "15 nodes": 0.6}
    )
    *curves, low, high = figure.axes[0].lines
    styles = [(to_hex(line.get_color()), line.get_linestyle()) for line in curves]
    assert [line for _, line in styles] == ["-", "-", "--", "--"]
    assert styles[0][0] == styles[2][0] == to_hex(low.get_color())
    assert styles[1][0] == styles[3][0] == to_hex(high.get_color()) != styles[0][0]
    np.testing.assert_allclose(curves[0].get_ydata(), CURVE.mean(0))
    assert (low.get_linestyle(), low.get_ydata()[0]) == (":", 0.5)
    assert labels(figure) == ["10 nodes", "15 nodes", "IREM", "recurrent", "trivial"]
    assert figure.axes[0].get_yscale() == "log"


def test_one_method_needs_no_name_and_the_axis_ends_where_curves_stop_changing():
    figure = drawing.error_by_size({"IREM": {"10 nodes": CURVE}}, {"10 nodes": 0.5})
    assert labels(figure) == ["10 nodes", "trivial"]
    # The curve is at its end from step 2 on.
    assert figure.axes[0].get_xlim() == (0, 3)


@pytest.mark.parametrize("paper", [None, 0.02])
def test_the_paper_is_in_the_legend_where_it_is_in_the_figure(paper):
    figure = drawing.error_by_step({"same": CURVE}, {"same": paper}, {"same": 0.5})
    assert ("paper" in labels(figure)) == (paper is not None)
    assert len(figure.axes[0].lines) == 2 + (paper is not None)


def test_errors_that_are_not_finite_can_be_drawn():
    diverged = CURVE.copy()
    diverged[:, 3:] = np.inf
    none = {"same": None, "harder": None}
    errors = {"same": diverged, "harder": np.full_like(CURVE, np.nan)}
    assert png(drawing.error_by_step(errors, none, {"same": 0.5, "harder": 0.6}))
    assert png(drawing.error_by_size({"IREM": errors}, {"same": 0.5, "harder": 0.6}))


@pytest.mark.parametrize("errors", [np.zeros((4, 2)), np.full((4, 2), 1e60), CURVE])
def test_entries_are_rows_and_steps_are_columns(errors):
    figure = drawing.element_error(errors)
    (mesh,) = figure.axes[0].collections
    np.testing.assert_array_equal(mesh.get_array(), errors)
    assert png(figure)


def test_means_of_steps_are_written_beside_their_dots():
    steps = {"5 nodes": np.array([10, 20]), "10 nodes": np.array([30, 31])}
    axes = drawing.steps_spent(steps, 100).axes[0]
    assert [text.get_text() for text in axes.texts] == ["15.0", "30.5"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["5 nodes", "10 nodes"]
    assert axes.get_ylim()[0] == 0


def test_a_budget_that_was_spent_is_drawn():
    axes = drawing.steps_spent({"5 nodes": np.array([10, 10])}, 10).axes[0]
    assert "budget" in [text.get_text() for text in axes.texts]


def test_candidates_below_the_minimum_are_counted_in_the_legend():
    distance = np.array([0.1, 0.2, 0.3, 0.4])
    heights = {"same": np.array([1.0, 2, 3, 4]), "harder": np.array([-1.0, 2, 3, 4])}
    figure = drawing.energy_by_error({name: (distance, h) for name, h in heights.items()})
    words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert words == ["same", "harder (25 % lie below, not shown)"]
