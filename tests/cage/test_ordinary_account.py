"""Commands and walls once more, started by an ordinary account instead of root."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import ordinary
import pytest

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def person() -> Iterator[ordinary.Person]:
    with ordinary.person() as made:
        yield made


@pytest.mark.thorough
def test_commands_walls_and_one_shots_hold_for_an_ordinary_account(
    person: ordinary.Person,
) -> None:
    done = person.run(*person.script("as_person.py"))
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) > 40 and {line["uid"] for line in lines} == {ordinary.ACCOUNT}
    failed = [f"{line['test']}\n{line['error']}" for line in lines if line["error"]]
    assert not failed, "\n".join(failed)


@pytest.mark.thorough
@pytest.mark.parametrize("packaged", [False, True], ids=["system", "package"])
def test_sessions_of_an_ordinary_account_end_with_what_was_left(
    person: ordinary.Person, packaged: bool
) -> None:
    given = {}
    if packaged:
        given["M31A_BWRAP"] = ordinary.copy_bubblewrap(os.path.join(person.home, "copy"))
        if not given["M31A_BWRAP"]:
            pytest.skip("the package's bubblewrap is not installed")
        os.chmod(os.path.join(person.home, "copy"), 0o755)
    done = person.run(*person.script("sessions_as_person.py"), **given)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) > 5 and {line["uid"] for line in lines} == {ordinary.ACCOUNT}
    missed = [line for line in lines if not (line["kept"] and line["others"]) or line["seen"]]
    assert [line for line in missed if "slice" not in line["way"] or not line["said"]] == []
