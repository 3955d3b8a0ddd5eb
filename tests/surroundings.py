"""What surrounds every test: a data folder of its own, and nothing of the developer's settings.

Loaded by `-p` before Django's settings, since these read the environment once.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile

OURS = ("M31A_", "OPENAI_", "ANTHROPIC_", "OLLAMA_")
KEPT = frozenset({"M31A_TEST_DATABASE_URL"})


def folder(prefix: str) -> str:
    """A temporary folder that goes when this process ends."""
    made = tempfile.mkdtemp(prefix=prefix)
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(made, ignore_errors=True)

    atexit.register(remove)
    return made


def _isolate() -> None:
    for name in [name for name in os.environ if name.startswith(OURS) and name not in KEPT]:
        del os.environ[name]
    # Short, because sockets are bound below it.
    data = folder("m31a-")
    os.environ["M31A_DATA_DIR"] = data
    # Collected files would be here; WhiteNoise warns where the folder is missing.
    os.mkdir(os.path.join(data, "static"))
    # A shell that runs us in the background has Ctrl-C ignored, and our children would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


_isolate()
