"""One of each from outside the package: what a user adds is one class and one line."""

import dataclasses
import json
import sys
import types
from typing import Annotated, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import typer

import irem
from irem.cli.program import COMMANDS, Command, main
from irem.evaluation.tables import Entry, Table
from irem.keys import training_keys
from irem.settings import setting, weights
from irem.training import Recipe

KEY = jax.random.key(0)


class Bilinear(irem.energy.AbstractEnergy):
    """|| y - scale W x ||^2 / 2 with a learned W."""

    x_shape: tuple[int, ...] = eqx.field(static=True, kw_only=True)
    y_shape: tuple[int, ...] = eqx.field(static=True, kw_only=True)
    scale: float = setting(1.0)
    weight: jax.Array = weights()
    key: dataclasses.InitVar[jax.Array] = dataclasses.field(kw_only=True)

    def __post_init__(self, key):
        sizes = (int(np.prod(self.y_shape)), int(np.prod(self.x_shape)))
        self.weight = 0.1 * jax.random.normal(key, sizes)

    @classmethod
    def fit(cls, task):
        return {"x_shape": task.format.x_shape, "y_shape": task.format.y_shape}

    @property
    def format(self):
        return irem.formats.Vectors(self.x_shape, self.y_shape)

    def landscape(self, x):
        target = self.scale * self.weight @ jnp.ravel(x)
        return lambda y: jnp.sum((y - target) ** 2) / 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Doubling(irem.tasks.AbstractTask):
    """Twice a vector."""

    name: ClassVar[str] = "doubling"
    summary: ClassVar[str] = "double a vector"
    size: int = 3

    @property
    def format(self):
        return irem.formats.Vectors((self.size,), (self.size,))

    def sample(self, key, difficulty="same"):
        x = {"same": 1.0, "harder": 2.0}[difficulty] * jax.random.normal(key, (self.size,))
        return irem.Problem(x, self.oracle(x))

    def trivial(self, x):
        return jnp.zeros_like(x)

    def oracle(self, x):
        return 2 * x


class Constant(irem.methods.AbstractBaseline):
    """A baseline that answers the same, whatever it is asked."""

    level: jax.Array

    @classmethod
    def for_task(cls, task, *, key, **settings):
        del key, settings
        return cls(jnp.zeros(task.format.y_shape))

    @property
    def format(self):
        return irem.formats.Vectors(self.level.shape, self.level.shape)

    def loss(self, problem, y0, *, key):
        del key
        return jnp.sum((self.level - problem.y) ** 2), y0

    def predict(self, x, num_steps, *, key):
        del x, key
        return irem.Trajectory(jnp.stack([self.level] * (num_steps + 1)))

    def answer(self, x, *, key):
        del x, key
        return self.level, jnp.asarray(1)


@pytest.fixture(scope="module", autouse=True)
def registered():
    """The one line each; names stay taken, as in a program of one's own."""
    irem.energy.ENERGIES.register("bilinear", Bilinear)
    irem.tasks.TASKS.register("doubling", Doubling)
    irem.methods.METHODS.register("constant", Constant)
    sign = irem.descent.OptaxDirection(optax.scale_by_sign())
    irem.descent.STEPS.register("sign", lambda: irem.Step(sign, irem.Backtracking()))


RECIPE = {
    "iterations": 200,
    "batch_size": 16,
    "energy.name": "bilinear",
    "energy.scale": 2.0,
    "method.step_size": 0.5,
    "optimiser.learning_rate": 1e-2,
    "replay.capacity": 64,
}


def test_an_energy_and_a_task_train_by_name_and_are_loaded_again(tmp_path):
    recipe = Recipe.named("doubling").override(RECIPE)
    run = recipe.train(keys=training_keys(0, 1), out=irem.training.Checkpoints(tmp_path / "run"))
    assert isinstance(run.model.energy, Bilinear)
    loaded = irem.load(tmp_path / "run")  # needs neither `task=` nor `like=`
    assert loaded.model.energy.scale == 2.0
    result = irem.evaluate(loaded, loaded.task, "harder", problems=20, key=KEY)
    assert result.mse < 0.1 * result.trivial_mse


def test_a_step_rule_goes_by_its_name():
    energy = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2))
    x = jnp.array([[1.0, -2.0]])
    solution = irem.solve(energy, x, jnp.zeros((1, 2)), step="sign")
    np.testing.assert_allclose(solution.y, x, atol=1e-3)


def test_a_baseline_trains_by_name_and_answers_like_any_other(tmp_path):
    recipe = Recipe.named("doubling").override({"method.name": "constant", "iterations": 2})
    run = recipe.train(keys=training_keys(0, 1), out=irem.training.Checkpoints(tmp_path / "run"))
    assert run.settings["method"]["name"] == "constant"
    loaded = irem.load(tmp_path / "run")
    assert irem.solve(loaded.model, np.ones((4, 3)), key=KEY).y.shape == (4, 3)
    assert irem.evaluate(loaded, loaded.task, problems=5, key=KEY).converged is None


def test_an_experiment_is_reproduced_shown_and_reported(tmp_path):
    from irem import paper
    from irem.paper.cells import spread as spread_of

    def run(study):
        about = {"task": "doubling", "method": "irem", "paper": None, **study.origin()}
        floors = {"trivial": 1.0, "best": 0.0}
        spread = dataclasses.asdict(spread_of([0.5, 0.7]))
        return [paper.ErrorCell(**about, **floors, **spread)]

    own = paper.Experiment(
        name="own",
        title="An experiment of one's own",
        explanation="It measures nothing.",
        run=run,
        kinds=(paper.ErrorCell,),
        table=lambda cells, _: Table(("mean",), tuple((Entry(str(c.mean)),) for c in cells)),
    )
    paper.EXPERIMENTS.register("own", own)
    study = paper.Study(tmp_path / "study", paper.QUICK)
    result = paper.reproduce(study, "own")
    assert paper.as_json(result)["cells"][0]["mean"] == pytest.approx(0.6)
    assert "An experiment of one's own" in paper.as_text(paper.read_result(study.folder, "own"))
    assert "An experiment of one's own" in paper.reproduction_page(study.folder).replace(
        "&#x27;", "'"
    )


def test_a_command_is_one_module(monkeypatch, capsys):
    module = types.ModuleType("greeting")

    def command(name: Annotated[str, typer.Argument()], json: bool = False) -> None:
        typer.echo(f'{{"hello": "{name}"}}' if json else f"hello {name}")

    module.command, module.EXAMPLE = command, "Example: irem greet you"
    monkeypatch.setitem(sys.modules, "greeting", module)
    monkeypatch.setitem(COMMANDS, "greet", Command("Say hello.", "greeting"))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["irem", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return capsys.readouterr().out

    assert "greet      Say hello." in run("--help")
    assert "irem greet you" in run("greet", "--help")
    assert json.loads(run("greet", "you", "--json")) == {"hello": "you"}
