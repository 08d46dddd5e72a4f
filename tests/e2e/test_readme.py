"""What the README tells a newcomer to type works as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = [
    line.partition("  #")[0].strip()
    for line in re.findall(
        r"^    (alama .*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
]


@pytest.mark.xdist_group("readme")
def test_the_commands_of_the_readme_work_in_their_order(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    assert len(COMMANDS) >= 4
    for command in COMMANDS:
        finished = subprocess.run(
            command.split(),
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, f"{command}: {finished.stderr}"
        assert "Traceback" not in finished.stderr
    assert {"loans.parquet", "model.json", "report.html", "scores.parquet"} <= {
        entry.name for entry in tmp_path.iterdir()
    }
