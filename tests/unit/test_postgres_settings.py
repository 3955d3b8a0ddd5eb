"""What the product asks of PostgreSQL for every connection of its own."""

from __future__ import annotations

import pytest

from m31a_site import postgres

URL = "postgresql://u:p@localhost:5432/db"


@pytest.mark.parametrize(
    ("role", "statement"), [("worker", "60s"), ("web", "60s"), ("command", "0s")]
)
def test_locks_idle_transactions_and_statements_are_bounded(role: str, statement: str):
    made = postgres.configuration(URL, role, wait=5, lease=30)
    assert made["OPTIONS"]["options"].split(" -c ") == [
        "-c idle_in_transaction_session_timeout=30s",
        "lock_timeout=5s",
        f"statement_timeout={statement}",
    ]
    assert made["CONN_MAX_AGE"] is None and made["NAME"] == "db"


def test_what_the_operator_asks_for_comes_last():
    url = URL + "?options=-c%20lock_timeout%3D1s&sslmode=require"
    options = postgres.configuration(url, "web", wait=5, lease=30)["OPTIONS"]
    assert options["options"].endswith(" -c lock_timeout=1s")
    assert options["sslmode"] == "require"


def test_another_kind_of_database_is_left_as_it_is():
    assert "options" not in postgres.configuration("sqlite:////x", "web", 5, 30).get("OPTIONS", {})
