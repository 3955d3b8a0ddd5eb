"""The report: what came of a run, on its page and in a terminal."""

from __future__ import annotations

import re
import shlex
import subprocess
from html import unescape
from pathlib import Path

import pytest

from runtime.approvals import decide
from runtime.cli import main
from runtime.models import User
from runtime.present import report
from tests import kit
from tests.web import factories
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")
PUSH = {"kind": "git_push", "remote": "origin", "ref": "mended"}
COMMIT = {"kind": "git_commit", "message": "Change the notes"}


@pytest.fixture
def ada(site: None) -> User:
    """Submits and reviews."""
    return factories.person("ada", "admin", "submitter", "reviewer")


@pytest.fixture
def told(ada: User) -> kit.Told:
    """A run that edited, was allowed to push, verified and delivered."""
    root = kit.repository()
    kit.with_remote(root)
    kit.workspace(ada, root)
    told = kit.play(ada, [kit.EDIT, COMMIT, PUSH, kit.VERIFY, kit.FINISH])
    decide(told.pending.pk, by=ada, verdict="approve", comment="push <it>")
    return told.work()


def _page(ada: User, told: kit.Told) -> str:
    return signed_in(ada).get(f"/runs/{told.run.pk}/?tab=report").text


def test_the_report_tells_the_whole_story_with_links(ada: User, told: kit.Told) -> None:
    assert told.state == "succeeded"
    page = _page(ada, told)
    for heading in ("Outcome", "What changed", "Verification", "Approvals", "Delivery",
                    "Artifacts", "What it took"):  # fmt: skip
        assert f">{heading}</h3>" in page
    link = re.search(r'href="\?tab=diff#(file-[0-9a-f]+)">notes.txt</a>', page)
    assert link
    diff = signed_in(ada).get(f"/runs/{told.run.pk}/?tab=diff").text
    assert f'id="{link[1]}"' in diff, "the link leads to the file in the diff"
    assert "exit 0" in page and "<code>true</code>" in page
    delivered = told.last("delivery.completed")
    assert delivered["commit"] in page and f"M31A-Run: {told.run.pk}" in page
    assert "Approved-by: ada" in page and "Verified-by: true" in page
    patch = f"/artifacts/{delivered['patch']}/?run={told.run.pk}&amp;view=1"
    assert f'href="{patch}">delivery.patch</a>' in page
    assert signed_in(ada).get(unescape(patch)).status_code == 200


def test_approvals_stand_there_with_who_when_and_rule(ada: User, told: kit.Told) -> None:
    page = _page(ada, told)
    row = page[page.index('aria-label="Approvals of the run"') :]
    row = row[: row.index("</table>")]
    for part in ("git push origin mended", "approved", "this once", "ada", "UTC", "git push",
                 "push &lt;it&gt;"):  # fmt: skip
        assert part in row
    assert "approvals –" not in page and "No person was asked" not in page


def test_the_commands_that_take_it_over_work_as_they_are_copied(ada: User, told: kit.Told) -> None:
    page = _page(ada, told)
    copied = [unescape(found) for found in re.findall(r'data-copy="(git [^"]+)"', page)]
    merge = next(one for one in copied if "merge FETCH_HEAD" in one)
    root = Path(told.run.workspace.root)
    assert (root / "notes.txt").read_text() != "changed\n"
    for command in merge.split(" && "):
        subprocess.run(shlex.split(command), check=True, capture_output=True)
    assert (root / "notes.txt").read_text() == "changed\n"
    assert kit.git(root, "rev-parse", "HEAD") == told.last("delivery.completed")["commit"]


def test_a_run_that_waits_has_a_report_of_what_there_is(ada: User) -> None:
    root = kit.repository()
    kit.with_remote(root)
    kit.workspace(ada, root)
    page = _page(ada, kit.play(ada, [kit.EDIT, COMMIT, PUSH]))
    assert "So far, not delivered" in page and ">notes.txt</a>" in page
    assert "Nothing was delivered yet." in page and "Nothing was verified." in page
    assert "pending" in page and "No person was asked" not in page


def test_a_failed_run_says_why(ada: User) -> None:
    kit.workspace(ada)
    page = _page(ada, kit.play(ada, [{"kind": "git_status"}]))
    assert "Failed" in page and "<code>provider_exhausted</code>" in page
    assert "Nothing was changed." in page and "No person was asked." in page
    assert "Nothing was delivered." in page


def test_it_outlives_the_files_of_the_run(ada: User, told: kit.Told) -> None:
    report.space_of(told.run).remove()
    page = _page(ada, told)
    assert told.last("delivery.completed")["commit"] in page
    assert "artifact get" in page and "merge FETCH_HEAD" not in page


def test_a_terminal_is_told_the_same(
    ada: User, told: kit.Told, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["report", told.run.pk], "ada", False) == 0
    said = capsys.readouterr().out
    delivered = told.last("delivery.completed")
    for part in ("CHANGED: 1 file, +1 -2", "changed notes.txt", "VERIFICATION: passed", "exit 0",
                 "APPROVALS: 1", "approved this once by ada", "“push <it>”",
                 f"DELIVERY: commit {delivered['commit']}", "Approved-by: ada",
                 "python3 manage.py m31a artifact get", "delivery.patch", "steps"):  # fmt: skip
        assert part in said
