"""A run that is killed again and again ends in the very bits of one left alone."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "kill_resume.py"


def test_kill_9_and_resume():
    # Three while checkpoints are written, one at a random moment of the start; more on request.
    command = [sys.executable, SCRIPT, "--kills", "4", "--iterations", "8000"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "after 4 kills the parameters are bit-identical" in result.stdout
