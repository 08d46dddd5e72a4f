"""What deploy/ says, for tests, read by the tools that judge it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
TOOLS = ROOT / ".venv-deploy" / "bin"

_TO_JSON = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))"

# Without what jsonschema spends seconds on when it is imported: grammars of international
# addresses, which no schema of ours asks for.
_BY_SCHEMA = """
import runpy, sys
sys.modules["rfc3987_syntax"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def judge(tool: str, *arguments: str | Path) -> str:
    """What a tool prints; an error if it finds anything."""
    return _printed(TOOLS / tool, *arguments)


def judge_by_schema(tool: str, *arguments: str | Path) -> str:
    """The same of a tool in Python that holds files against a schema."""
    return _printed(TOOLS / "python", "-c", _BY_SCHEMA, TOOLS / tool, *arguments)


def _printed(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def documents(path: Path) -> list[dict[str, Any]]:
    """The documents in a YAML file."""
    done = subprocess.run(
        [TOOLS / "python", "-c", _TO_JSON],
        input=path.read_text("utf-8"),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found
