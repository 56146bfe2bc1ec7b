"""A run that is killed again and again ends in the very bits of one left alone."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "kill_resume.py"


def test_kill_9_and_resume(tmp_path):
    # Three while checkpoints are written, one at a random moment of the start; more on request.
    command = [sys.executable, SCRIPT, "--kills", "4", "--iterations", "6000"]
    # One run at a time: what one has compiled, the next need not.
    kept = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    options = {"capture_output": True, "text": True, "check": False}
    result = subprocess.run(command, env=os.environ | kept, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "after 4 kills the parameters are bit-identical" in result.stdout
