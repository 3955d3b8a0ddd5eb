"""Commands and walls once more, started by an ordinary account instead of root."""

from __future__ import annotations

import json
from collections.abc import Iterator

import ordinary
import pytest


@pytest.fixture
def person() -> Iterator[ordinary.Person]:
    with ordinary.person() as made:
        yield made


def test_commands_walls_and_one_shots_hold_for_an_ordinary_account(
    person: ordinary.Person,
) -> None:
    done = person.run(*person.script("as_person.py"))
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) > 40 and {line["uid"] for line in lines} == {ordinary.ACCOUNT}
    failed = [f"{line['test']}\n{line['error']}" for line in lines if line["error"]]
    assert not failed, "\n".join(failed)
