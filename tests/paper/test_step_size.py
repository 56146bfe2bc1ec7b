from irem.paper import reproduce, step_size


def test_the_usual_step_size_has_the_models_of_table1(kept_study):
    cells = step_size.run(kept_study, {30: (0.1, 0.2), 100: (0.3, 0.4)})
    places = [(c.step_size, c.difficulty, c.paper) for c in cells]
    assert places == [
        (30, "same", 0.1),
        (30, "harder", 0.2),
        (100, "same", 0.3),
        (100, "harder", 0.4),
    ]
    usual = [c.run for c in cells if c.step_size == 100]
    assert usual == ["models/addition-irem"] * 2
    assert cells[0].mean != cells[2].mean
    table1 = [c for c in reproduce(kept_study, "table1").cells if c.method == "irem"]
    for cell, same in zip(cells[2:], table1, strict=True):
        for field in ("difficulty", "mse_by_seed", "trivial", "best", "steps_mean"):
            assert getattr(cell, field) == getattr(same, field)
