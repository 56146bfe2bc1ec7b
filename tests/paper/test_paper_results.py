import json

import jax
import pytest

import irem
from irem.paper import EXPERIMENTS, FULL, as_json, committed_results, read_result, read_results
from irem.paper.results import reproduce

FOLDERS = (committed_results(), committed_results() / "quick")
COMMITTED = [
    (folder, name)
    for folder in FOLDERS
    for name in EXPERIMENTS
    if (folder / f"{name}.json").is_file()
]


def test_a_result_is_kept_with_where_it_comes_from(kept_study):
    made = reproduce(kept_study, "table1")
    kept = read_result(kept_study.folder, "table1")
    assert kept == made
    assert kept.versions["jax"] == jax.__version__
    assert kept.device == jax.devices()[0].device_kind
    assert kept.scale["name"] == "tiny"
    text = (kept_study.folder / "table1.json").read_text()
    assert as_json(made) == json.loads(text, parse_constant=pytest.fail)


@pytest.mark.parametrize(("folder", "name"), COMMITTED)
def test_every_committed_result_is_read_and_written_again_without_a_change(folder, name):
    given = json.loads((folder / f"{name}.json").read_text())
    assert as_json(read_result(folder, name)) == given


def assert_part_of(kept, scale):
    """Every setting that a result names is that of the scale; later versions may have more."""
    for name, value in kept.items():
        if isinstance(value, dict):
            assert_part_of(value, scale[name])
        else:
            assert value == scale[name], name


def test_every_committed_result_is_at_full_scale():
    results = read_results(committed_results())
    assert {"table1", "ablation", "step-size", "composition", "figures", "sat"} <= set(results)
    for result in results.values():
        assert_part_of(result.scale, FULL.as_dict())
        assert result.commit


def test_experiments_are_known_by_their_own_names():
    assert [experiment.name for experiment in EXPERIMENTS.values()] == list(EXPERIMENTS)
    for experiment in EXPERIMENTS.values():
        assert (experiment.table is None) == (not experiment.kinds)
        assert experiment.table is None or experiment.explanation


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(irem.InputError, match=r"no result of table1 .* table1 --quick`"):
        read_result(tmp_path, "table1")
    (tmp_path / "table1.json").write_text("[")
    with pytest.raises(irem.InputError, match="damaged"):
        read_result(tmp_path, "table1")
    (tmp_path / "table1.json").write_text("{}")
    with pytest.raises(irem.InputError, match="not a result of table1"):
        read_result(tmp_path, "table1")
    (tmp_path / "table1.json").write_text('{"experiment": "table1"}')
    with pytest.raises(irem.InputError, match=r"table1.json' lacks the field 'commit'\.$"):
        read_result(tmp_path, "table1")
    with pytest.raises(irem.InputError, match=r"Unknown experiment 'tabel1'.*mean 'table1'"):
        read_result(tmp_path, "tabel1")


def test_a_damaged_cell_is_named_with_its_file(tmp_path):
    given = json.loads((committed_results() / "step-size.json").read_text())
    del given["cells"][3]["trivial"]
    path = tmp_path / "step-size.json"
    path.write_text(json.dumps(given))
    with pytest.raises(irem.InputError) as raised:
        read_result(tmp_path, "step-size")
    assert str(raised.value) == f"'{path}': cells[3] lacks the field 'trivial'."
