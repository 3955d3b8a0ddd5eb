"""R9: a secret argument is written nowhere, and the command gets its real value all the same."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from runtime import approvals, runs
from runtime.journal import verify
from runtime.models import Run, SealedBytes
from runtime.runs import replay
from tests.agent.scenes import answer, seen, tool, tree, write
from tests.kit import EDIT, FINISH, VERIFY, play, repository, submit, workspace

TOKEN = "ghp_" + secrets.token_hex(18)
WORD = "correct-horse-" + secrets.token_hex(4)
SCRIPT = """import hashlib, sys
open('sum.txt', 'w').write(hashlib.sha256(sys.argv[2].encode()).hexdigest())
print('called with', *sys.argv[1:])
print('x' * 30000, sys.argv[2])
"""


def everywhere(secret: str) -> list[str]:
    """Where a secret stands: columns of the database, and files of the data folder."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                found += [table for value in row if secret in _text(value)]
    return found + [str(path) for path in _files() if secret.encode() in path.read_bytes()]


def _files() -> Iterator[Path]:
    """Files of the data folder: blobs, and of this test's runs all but worktree and database."""
    data = Path(settings.M31A.DATA_DIR)
    runs = Run.objects.exclude(pk="system").values_list("pk", flat=True)
    for folder in (data / "blobs", data / "hints", *(data / "runs" / run for run in runs)):
        for path in folder.rglob("*"):
            if path.is_file() and folder / "tree" not in path.parents:
                yield path


def _text(value: object) -> str:
    return bytes(value).decode("latin-1") if isinstance(value, (bytes, memoryview)) else str(value)


@pytest.fixture
def files():
    return repository({"call.py": SCRIPT, "notes.txt": "x\n"})


@pytest.mark.parametrize("secret", [TOKEN, WORD], ids=["a known shape", "told by its place"])
def test_R9_a_secret_argument_after_an_approval(cast, files, secret):
    workspace(cast.alice, files)
    step = {**tool("python3", "call.py", "--token", secret), "say": "I call it with the token."}
    told = play(cast.alice, [step, VERIFY, FINISH], mode="safe")
    assert told.state == "waiting"
    assert SealedBytes.objects.filter(run=told.run.pk).count() == 1
    card = approvals.card(told.pending)
    assert card["action"]["args"] == ["call.py", "--token", _mark(card)]
    assert secret not in str(card)
    client = Client()
    client.force_login(cast.bob)
    for page in (f"/runs/{told.run.pk}/", f"/approvals/{told.pending.pk}/"):
        answered = client.get(page)
        assert answered.status_code == 200
        assert secret not in answered.content.decode()
    assert everywhere(secret) == []
    answer(told, cast.bob)
    told.work()
    assert told.state == "succeeded", told.observations()
    expected = hashlib.sha256(secret.encode()).hexdigest()
    assert (tree(told) / "sum.txt").read_text() == expected, "it ran with the real value"
    assert "called with --token [redacted:" in seen(told)[0]
    trace = told.of("action.completed")[0]["trace"]
    assert trace["program"] == "python3" and trace["argument_count"] == 3
    assert everywhere(secret) == []
    assert not SealedBytes.objects.exists()
    assert told.types.count("approval.superseded") == 0
    assert replay.check(told.run.pk) == ""
    assert verify.verify(told.run.pk)["ok"]


def _mark(card) -> str:
    value = card["action"]["args"][2]
    assert value.startswith("[redacted:")
    return value


@pytest.mark.parametrize("secret", [TOKEN, WORD], ids=["a known shape", "told by its place"])
def test_R9_a_secret_argument_that_is_allowed_at_once(cast, files, secret):
    workspace(cast.alice, files)
    told = play(cast.alice, [tool("python3", "call.py", f"--password={secret}", secret), FINISH])
    expected = hashlib.sha256(secret.encode()).hexdigest()
    assert (tree(told) / "sum.txt").read_text() == expected
    assert everywhere(secret) == []
    assert not SealedBytes.objects.exists()


def test_a_refused_action_leaves_no_sealed_form(cast, files):
    workspace(cast.alice, files)
    told = play(
        cast.alice,
        [
            tool("/no/such/program", "--token", WORD),
            write("../x", TOKEN),
            {"kind": "replace_text", "path": "notes.txt", "expected": TOKEN, "replacement": "y"},
            {"kind": "ask_human", "question": "more?"},
        ],
    )
    assert told.state == "waiting"
    assert not SealedBytes.objects.exists()
    assert everywhere(TOKEN) == [] and everywhere(WORD) == []


def test_a_denied_action_leaves_no_sealed_form(cast, files):
    workspace(cast.alice, files)
    told = play(cast.alice, [tool("python3", "call.py", "--token", WORD), FINISH], mode="safe")
    answer(told, cast.bob, "deny", comment=f"Never use {TOKEN}.")
    told.work()
    assert told.state == "succeeded"
    assert not SealedBytes.objects.exists()
    assert everywhere(TOKEN) == [] and everywhere(WORD) == []
    assert replay.check(told.run.pk) == ""


def test_a_file_with_a_secret_is_written_as_proposed(cast, files):
    workspace(cast.alice, files)
    secret = "ghp_" + secrets.token_hex(18)
    step = write("settings.txt", f"TOKEN={secret}\n")
    told = play(cast.alice, [step, VERIFY, FINISH], mode="safe")
    card = approvals.card(told.pending)
    assert secret not in str(card) and "+TOKEN=[redacted:" in card["diff"]
    answer(told, cast.bob)
    told.work()
    assert (tree(told) / "settings.txt").read_text() == f"TOKEN={secret}\n"
    patch = told.last("delivery.completed")["patch"]
    assert [Path(place).name for place in everywhere(secret)] == [patch], "that is the work itself"


def test_F55_a_secret_that_a_command_prints_is_hidden(cast):
    body = f"print('{TOKEN[:10]}' + '{TOKEN[10:]}')\nprint('Authorization: Bearer ' + 'z9' * 20)\n"
    workspace(cast.alice, repository({"leak.py": body}))
    told = play(cast.alice, [tool("python3", "leak.py"), FINISH])
    assert seen(told)[0].count("[redacted:") == 2
    assert everywhere(TOKEN) == [] and everywhere("z9" * 20) == []


def test_a_secret_in_an_objective_or_a_summary_is_hidden(cast, files):
    workspace(cast.alice, files)
    finish = {"kind": "finish", "summary": f"It works with {TOKEN} now."}
    told = submit(cast.alice, [EDIT, VERIFY, finish], objective=f"Use {TOKEN} to log in.")
    told.work()
    assert told.state == "succeeded", told.reason
    assert everywhere(TOKEN) == []
    assert replay.check(told.run.pk) == ""


def test_F55_a_secret_where_an_observation_is_cut_is_hidden_whole(cast):
    token = "ghp_" + secrets.token_hex(18)
    body = f"print('x' * 7980, '{token[:9]}' + '{token[9:]}', 'y' * 30000)\n"
    workspace(cast.alice, repository({"leak.py": body}))
    told = play(cast.alice, [tool("python3", "leak.py"), FINISH])
    assert "left out here" in seen(told)[0]
    assert token[:9] not in seen(told)[0]
    assert everywhere(token) == []


def test_a_secret_in_the_name_of_an_artifact_is_hidden(cast, files):
    workspace(cast.alice, files)
    kept = {"kind": "create_artifact", "name": f"log of {TOKEN}", "content": "x"}
    told = play(cast.alice, [kept, FINISH])
    assert told.state == "succeeded"
    assert everywhere(TOKEN) == []
    assert replay.check(told.run.pk) == ""


def test_the_changes_of_a_run_are_shown_redacted(cast, files):
    workspace(cast.alice, files)
    token = "ghp_" + secrets.token_hex(18)  # of its own: the patch in the data folder holds it
    told = play(cast.alice, [write("settings.txt", f"TOKEN={token}\n"), VERIFY, FINISH])
    assert told.state == "succeeded"
    assert "+TOKEN=[redacted:" in runs.diff(told.run.pk) and token not in runs.diff(told.run.pk)


@pytest.mark.parametrize("summary", ["-----BEGIN RSA PRIVATE KEY-----\nabc", "see https://a:b"])
def test_a_report_stays_readable_whatever_is_redacted_in_it(cast, files, summary):
    workspace(cast.alice, files)
    told = play(cast.alice, [EDIT, VERIFY, {"kind": "finish", "summary": summary}])
    assert told.state == "succeeded"
    assert runs.report(told.run.pk)["report"]["tree"] == told.last("delivery.completed")["tree"]
