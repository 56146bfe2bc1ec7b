import numpy as np
import pytest

import irem
from irem.keys import fresh_key
from irem.paper import PAPER_METHODS, printed_compositions, reproduce
from irem.paper.composition import SETTINGS


@pytest.fixture(scope="module")
def cells(kept_study):
    return reproduce(kept_study, "composition").cells


def test_composition_is_that_of_compose(cells, kept_study):
    operations = SETTINGS.operations
    assert len(cells) == len(PAPER_METHODS) * operations
    curve = [c.mean for c in cells if c.method == "recurrent"]
    run = irem.load(kept_study.folder / "models/addition-recurrent")
    options = {"problems": 10, "key": fresh_key(0, "compose")}
    again = [irem.compose(model, run.task, operations, **options) for model in run.models]
    np.testing.assert_allclose(curve, np.mean(again, axis=0), rtol=1e-5)


def test_answering_zero_errs_by_the_variance_of_the_sum(cells):
    operands = np.random.default_rng(0).uniform(-1, 1, (6, 200_000))
    five = next(c.trivial for c in cells if c.operations == 5)
    assert five == pytest.approx(np.mean(operands.sum(0) ** 2), rel=0.02)


def test_the_paper_composes_additions_of_its_own_size():
    assert printed_compositions("irem", irem.tasks.get("addition"))[10] == 0.0422
    assert printed_compositions("irem", irem.tasks.get("addition", size=9)) == {}
    assert printed_compositions("irem", irem.tasks.get("matrix-inverse")) == {}
    assert printed_compositions("mine", irem.tasks.get("addition")) == {}
