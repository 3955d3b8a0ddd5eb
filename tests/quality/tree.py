"""The files of the project, as the quality tests see them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sys.executable
SKIPPED = {".git", ".venv", "var", "vendor", "node_modules", "__pycache__"}


def files(*suffixes: str, under: str = ".") -> Iterator[Path]:
    """Files with one of these endings, without what is made or vendored."""
    for folder, names, found in os.walk(ROOT / under):
        names[:] = sorted(
            name for name in names if name not in SKIPPED and not name.endswith("_cache")
        )
        for name in sorted(found):
            if name.endswith(suffixes):
                yield Path(folder) / name


def tool(*argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of the environment on the project. Its output is one text."""
    return subprocess.run(
        [PYTHON, *argv],
        cwd=ROOT,
        env=os.environ | env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
