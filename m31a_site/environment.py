"""What the environment says: the settings of the site, with their defaults and bounds.

The cage and the providers read their own (`M31A_BWRAP`, `M31A_UID_RANGE`, `M31A_OPENAI_MODE`)
where they are used; docs/operating.md lists all. Read once.

Creates nothing; `m31a_site.data` makes the data folder where a command may.
"""

from __future__ import annotations

from pathlib import Path

from environs import Env, validate

ROOT = Path(__file__).resolve().parent.parent

env = Env()

DATA_DIR = Path(env.str("M31A_DATA_DIR", str(ROOT / "var"))).expanduser().absolute()
DATABASE_URL = env.str("M31A_DATABASE_URL", "")
HTTPS = env.bool("M31A_HTTPS", False)
"""Off means: served on loopback only, without TLS. A check refuses it on any other address."""
HOST = env.str("M31A_HOST", "127.0.0.1")
PORT = env.int("M31A_PORT", 8031, validate=validate.Range(min=0, max=65535))
ALLOWED_HOSTS: list[str] = env.list("M31A_ALLOWED_HOSTS", [])
WORKERS = env.int("M31A_WORKERS", 2, validate=validate.Range(min=1, max=64))
LEASE_SECONDS = env.int("M31A_LEASE_SECONDS", 30, validate=validate.Range(min=3, max=3600))
SLICE_SECONDS = env.int("M31A_SLICE_SECONDS", 300, validate=validate.Range(min=1, max=570))
APPROVAL_HOURS = env.int("M31A_APPROVAL_HOURS", 24, validate=validate.Range(min=1, max=24 * 90))
WORKTREE_DAYS = env.int("M31A_WORKTREE_DAYS", 14, validate=validate.Range(min=0, max=3650))
PROVIDER = env.str("M31A_PROVIDER", "")
MODEL_SECONDS = env.int("M31A_MODEL_SECONDS", 300, validate=validate.Range(min=1, max=600))
MODEL_BYTES = env.int("M31A_MODEL_BYTES", 4 << 20, validate=validate.Range(min=1024, max=64 << 20))
CONTEXT_CHARACTERS = env.int(
    "M31A_CONTEXT_CHARACTERS", 200_000, validate=validate.Range(min=4000, max=4_000_000)
)
ROLE = env.str("M31A_ROLE", "command")
"""Which part of the product this process is: `web`, `worker`, `reconciler` or `command`."""
