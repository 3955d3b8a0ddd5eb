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
LEASE_SECONDS = env.int("M31A_LEASE_SECONDS", 30, validate=validate.Range(min=1, max=3600))
SLICE_SECONDS = env.int("M31A_SLICE_SECONDS", 300, validate=validate.Range(min=1, max=570))
APPROVAL_HOURS = env.int("M31A_APPROVAL_HOURS", 24, validate=validate.Range(min=1, max=24 * 90))
WORKTREE_DAYS = env.int("M31A_WORKTREE_DAYS", 14, validate=validate.Range(min=0, max=3650))
PROVIDER = env.str("M31A_PROVIDER", "")
MODEL_SECONDS = env.int("M31A_MODEL_SECONDS", 300, validate=validate.Range(min=1, max=600))
MODEL_BYTES = env.int("M31A_MODEL_BYTES", 4 << 20, validate=validate.Range(min=1024, max=64 << 20))
CONTEXT_CHARACTERS = env.int(
    "M31A_CONTEXT_CHARACTERS", 200_000, validate=validate.Range(min=4000, max=4_000_000)
)
CONTEXT_TOKENS = env.int("M31A_CONTEXT_TOKENS", 0, validate=validate.Range(min=0, max=10_000_000))
"""A model's window in tokens; 0: as the table of models says."""
OUTPUT_TOKENS = env.int(
    "M31A_OUTPUT_TOKENS", 16_384, validate=validate.Range(min=256, max=1_000_000)
)
"""The longest answer that is reckoned with before a model is asked."""


def _budget(name: str, default: int, least: int = 1) -> int:
    variable = f"M31A_BUDGET_{name.upper()}"
    return int(env.int(variable, default, validate=validate.Range(min=least, max=2**53 - 1)))


BUDGETS = {
    "model_calls": _budget("model_calls", 0, least=0),
    "input_tokens": _budget("input_tokens", 50_000_000),
    "output_tokens": _budget("output_tokens", 2_000_000),
    "cost": _budget("cost", 10_000_000),
    "wall_seconds": _budget("wall_seconds", 4 * 3600),
    "cpu_seconds": _budget("cpu_seconds", 4 * 3600),
    "memory_bytes": _budget("memory_bytes", 2 << 30, least=16 << 20),
    "output_bytes": _budget("output_bytes", 8 << 30),
    "artifact_bytes": _budget("artifact_bytes", 256 << 20),
}
"""What a run may use where nobody says otherwise; `model_calls` 0: twice its steps, `cost` in
micro-units of money."""
BUDGET_PAUSE_PERCENT = env.int(
    "M31A_BUDGET_PAUSE_PERCENT", 80, validate=validate.Range(min=1, max=100)
)
"""How much of a budget may be used before a person is asked; 100: nobody is."""
PRICE_INPUT = env.int("M31A_PRICE_INPUT", 5_000_000, validate=validate.Range(min=0, max=10**12))
PRICE_OUTPUT = env.int("M31A_PRICE_OUTPUT", 25_000_000, validate=validate.Range(min=0, max=10**12))
"""Micro-units of money for a million tokens of a model that the table of prices does not know."""
ROLE = env.str("M31A_ROLE", "command")
"""Which part of the product this process is: `web`, `worker`, `reconciler` or `command`."""
