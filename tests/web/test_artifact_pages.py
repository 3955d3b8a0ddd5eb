"""`/artifacts/<sha>/`: stored bytes are handed out, never rendered."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runtime import blobs
from runtime.models import Artifact, Run, User, Workspace
from tests.web import factories
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")
HTML = b"<script>alert(document.cookie)</script>"


def stored(run: Run, data: bytes, name: str) -> str:
    """Bytes with a reference from a run."""
    sha = blobs.put(data)
    Artifact.objects.create(
        run=run, sha256=sha, name=name, kind="file", size=len(data), created_at=datetime.now(UTC)
    )
    return sha


@pytest.mark.parametrize("name", ["page.html", "drawing.svg", 'a"b\r\nx: y.html', "../../etc/x"])
def test_C6_a_stored_page_is_an_attachment(alice: User, place: Workspace, name: str) -> None:
    sha = stored(factories.Story(alice, place).run, HTML, name)
    answer = signed_in(alice).get(f"/artifacts/{sha}/")
    assert answer.content == HTML
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment; filename=")
    assert "\r" not in answer["Content-Disposition"] and "/" not in answer["Content-Disposition"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]


def test_shown_as_text_it_is_escaped(alice: User, place: Workspace) -> None:
    sha = stored(factories.Story(alice, place).run, HTML, "page.html")
    page = signed_in(alice).get(f"/artifacts/{sha}/?view=1").text
    assert "&lt;script&gt;alert" in page and "<script>alert" not in page


def test_only_who_sees_a_run_gets_its_bytes(alice: User, bob: User, place: Workspace) -> None:
    run = factories.Story(alice, place).run
    sha = stored(run, HTML, "page.html")
    assert signed_in(bob).get(f"/artifacts/{sha}/").status_code == 404
    assert signed_in(bob).get(f"/artifacts/{sha}/?run={run.pk}").status_code == 404


def test_bytes_without_reference_are_not_there(alice: User, place: Workspace) -> None:
    run = factories.Story(alice, place).run
    sha = blobs.put(b"nobody refers to this")
    assert signed_in(alice).get(f"/artifacts/{sha}/?run={run.pk}").status_code == 404


@pytest.mark.parametrize("sha", ["x", "A" * 64, "..%2f" + "a" * 59])
def test_what_is_no_hash_is_not_there(alice: User, sha: str) -> None:
    assert signed_in(alice).get(f"/artifacts/{sha}/").status_code == 404


def test_C3_bytes_changed_on_disk_are_not_handed_out(alice: User, place: Workspace) -> None:
    sha = stored(factories.Story(alice, place).run, b"the real thing", "a.txt")
    blobs.path(sha).chmod(0o600)
    blobs.path(sha).write_bytes(b"something else")
    answer = signed_in(alice).get(f"/artifacts/{sha}/")
    assert answer.status_code == 503
    assert sha in answer.text and "something else" not in answer.text
