import pytest

import irem
from irem.locks import locked


def test_a_folder_is_held_by_one_at_a_time(tmp_path):
    refused = pytest.raises(irem.InputError, match=r"^Wait\.$")
    with locked(tmp_path, "Wait."), refused, locked(tmp_path, "Wait."):
        pytest.fail("held twice")
    with locked(tmp_path, "Wait."):
        pass


def test_an_error_of_the_holder_is_its_own_and_lets_go(tmp_path):
    with pytest.raises(BlockingIOError), locked(tmp_path, "Wait."):
        raise BlockingIOError
    with locked(tmp_path, "Wait."):
        pass
