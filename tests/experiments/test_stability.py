"""What keeps training stable, taken away part by part."""

import jax
import pytest

import irem
from irem import report
from irem.experiments import Budget, _stability, reproduce
from irem.experiments._structure import Form
from irem.learning import History, Run, train
from irem.methods import build_method


@pytest.fixture
def study(tiny_study, monkeypatch):
    """Addition alone, with both kinds of energies."""
    energy = {"name": "table", "width": 4, "look": 0, "products": 0}
    form = Form(energy, Budget(10, 4, clip_norm=0.1), clip=2.5, precision="float32")
    monkeypatch.setattr(_stability, "FORMS", {"addition": form})
    monkeypatch.setattr(_stability, "_STRUCTURE", ("addition", "shortest-path"))
    monkeypatch.setattr(_stability, "SEEDS", 1)
    return tiny_study()


def test_every_variant_is_trained_with_what_it_has_and_no_more(study, monkeypatch):
    asked = {}

    def trained(task, method, label, *, replay, budget, seeds, precision):
        assert precision == ("float32" if "structure" in label else "default")
        asked[f"models/{label}"] = (method["energy"]["name"], replay.clip, budget)
        model = build_method(task, method, key=jax.random.key(0))
        return Run(task, (model,) * seeds, budget.iterations, History.empty(seeds), {}), 1.0

    monkeypatch.setattr(study, "trained", trained)
    cells = reproduce(study, "stability")["cells"]
    assert [c["variant"] for c in cells[::2]] == 2 * list(_stability.VARIANTS)
    for cell in cells:
        name, clip, budget = asked[cell["run"]]
        structure = cell["energies"] == "structure"
        assert name == ("table" if structure else "mlp")
        assert clip == ((2.5 if structure else 3.0) if cell["replay"] else None)
        assert budget.clip_norm == ((0.1 if structure else 0.5) if cell["gradients"] else None)
        assert budget.decay == ("cosine" if cell["decay"] else "constant")
        assert cell["iterations"] == (2 if structure else study.scale.vectors.iterations)
        assert cell["skipped"] == 0
        assert cell["trivial"] > cell["best"] == 0
    parts = [tuple(c[p] for p in ("replay", "gradients", "decay")) for c in cells[::2]]
    assert [sum(p) for p in parts] == 2 * [3, 2, 2, 2, 0]
    assert len(set(parts)) == len(_stability.VARIANTS)


def test_training_that_diverges_is_a_row_that_says_so(study, monkeypatch):
    said = []
    study.say = said.append

    def diverges(*arguments, **options):
        if options["clip_norm"] is None:
            raise irem.DivergenceError("Training left the numbers.")
        return train(*arguments, **options)

    monkeypatch.setattr("irem.experiments._study.train", diverges)
    monkeypatch.setattr(_stability, "_STRUCTURE", ())
    result = reproduce(study, "stability")
    means = {c["variant"]: c["mean"] for c in result["cells"]}
    lost = {variant for variant, mean in means.items() if mean is None}
    assert lost == {"gradients-not-clipped", "none"}
    assert sum("Training left the numbers." in line for line in said) == 2
    rows = {row[2].text: row for row in report.result_table(result).rows}
    assert rows["none"][3].text == rows["none"][4].text == "not finite"
    assert rows["none"][5].text == ""
    assert rows["all"][5].text == "0"
