"""A reproduction so small that it learns next to nothing, made once."""

import pytest

import irem
from irem.paper import Budget, Scale, Study, reproduce

TINY = Scale(
    name="tiny",
    seeds=2,
    problems=10,
    vectors=Budget(iterations=20, batch_size=8, learning_rate=1e-3),
    graphs=Budget(iterations=10, batch_size=4, learning_rate=1e-3),
    pace_iterations=2,
)
TASKS = {"addition": irem.tasks.get("addition", size=9)}


@pytest.fixture
def tiny_study(tmp_path):
    """Open a study of a small addition, by default in one and the same folder."""

    def study(folder="study", scale=TINY, **options):
        return Study(tmp_path / folder, scale, tasks=TASKS, **options)

    return study


@pytest.fixture(scope="session")
def kept_study(tmp_path_factory):
    """A study whose models are trained already, for tests that only read it."""
    study = Study(tmp_path_factory.mktemp("kept") / "study", TINY, tasks=TASKS)
    reproduce(study, "table1")
    return study
