import numpy as np

from irem.paper import reproduce


def test_the_smallest_error_is_not_above_the_last(kept_study):
    for cell in reproduce(kept_study, "protocol").cells:
        measured = np.asarray(cell.mse_by_iteration)
        np.testing.assert_array_equal(cell.mse_by_seed, measured.min(0))
        np.testing.assert_array_equal(cell.last.mse_by_seed, measured[-1])
        assert cell.iterations[-1] == 20
        assert len(cell.iterations) == 10
