"""How the product connects to PostgreSQL: what no connection of its own may hold up for long.

SQLite has one writer, which the gate and the busy timeout keep short. Here a process that freezes
inside a transaction would keep the locks on its run for ever: the server ends its session instead.
Whoever goes on after that gets an error of the database, tries the whole transaction again, and
finds its fence gone where somebody else has taken over.
"""

from __future__ import annotations

from typing import Any

import dj_database_url

STATEMENT_SECONDS = 60
"""How long one statement of the site's own processes may take. Commands have no such bound:
they migrate, and export whole records."""


def configuration(url: str, role: str, wait: int, lease: int) -> dict[str, Any]:
    """Django's settings for the database at `url`, in a process of this role.

    A lock is waited for `wait` seconds, an idle transaction is ended after `lease` seconds. What
    the address itself says in `?options=` comes last and counts.
    """
    parsed: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=None))
    if not parsed.get("ENGINE", "").endswith("postgresql"):
        return parsed
    bounds = {
        "idle_in_transaction_session_timeout": lease,
        "lock_timeout": wait,
        "statement_timeout": 0 if role == "command" else STATEMENT_SECONDS,
    }
    ours = " ".join(f"-c {name}={seconds}s" for name, seconds in bounds.items())
    given = parsed.setdefault("OPTIONS", {})
    given["options"] = f"{ours} {given.get('options', '')}".strip()
    return parsed
