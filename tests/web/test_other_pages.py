"""New run, workspaces, policy, system."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime.models import Run, User, Worker, Workspace
from runtime.worker import doctor
from tests import kit
from tests.web import factories
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A configured model that nobody asks anything."""
    monkeypatch.setenv("M31A_PROVIDER", "openai:some-model")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")


def wish(place: Workspace, **changes: Any) -> dict[str, Any]:
    """The form of a new run."""
    return {
        "workspace": place.name,
        "objective": "Mend it.",
        "provider": "",
        "mode": "assisted",
        "max_steps": "20",
        "max_attempts": "2",
        "key": "k1",
        **changes,
    }


def test_without_a_model_the_page_names_the_setting(alice: User, place: Workspace) -> None:
    client = signed_in(alice)
    page = client.get("/runs/new").text
    for name in ("M31A_PROVIDER", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        assert name in page
    refused = client.post("/runs/new", wish(place))
    assert refused.status_code == 400
    assert "M31A_PROVIDER" in refused.text
    assert not Run.objects.exclude(pk="system").exists()


def test_without_a_workspace_the_page_leads_there(alice: User) -> None:
    assert 'href="/workspaces/"' in signed_in(alice).get("/runs/new").text


def test_the_verification_is_shown_as_it_will_run(alice: User, place: Workspace) -> None:
    factories.workspace("bare", verify=[])
    client = signed_in(alice)
    assert "python3 -m pytest -q" in client.get("/runs/new?workspace=calc").text
    part = client.get("/runs/new?workspace=bare", headers={"hx-request": "true"}).text
    assert "cannot finish" in part and "<html" not in part


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("workspace", "elsewhere"),
        ("objective", ""),
        ("mode", "yolo"),
        ("max_steps", "0"),
        ("max_attempts", "x"),
        ("provider", "scripted:/etc/passwd"),
    ],
)
@pytest.mark.usefixtures("model")
def test_a_fault_stands_at_its_field(alice: User, place: Workspace, field: str, value: str) -> None:
    refused = signed_in(alice).post("/runs/new", wish(place, **{field: value}))
    assert refused.status_code == 400
    assert 'class="errorlist"' in refused.text
    assert not Run.objects.exclude(pk="system").exists()


@pytest.mark.usefixtures("model")
def test_a_doubled_click_submits_one_run(alice: User) -> None:
    place = kit.workspace(factories.person("ada", "admin"))
    client = signed_in(alice)
    first = client.post("/runs/new", wish(place))
    second = client.post("/runs/new", wish(place))
    assert first.status_code == 302
    assert first["Location"] == second["Location"]
    run = Run.objects.exclude(pk="system").get()
    assert (run.submitted_by, run.max_steps, run.provider) == ("alice", 20, "openai:some-model")


def test_registering_needs_the_right(alice: User) -> None:
    client = signed_in(alice)
    assert "--role admin" in client.get("/workspaces/").text
    assert client.post("/workspaces/", {"name": "x", "path": "/tmp"}).status_code == 403


def test_a_directory_is_registered_from_the_page(tmp_path: Path) -> None:
    root = kit.repository()
    client = signed_in(factories.person("ada", "admin"))
    data = {"name": "mine", "path": str(root), "verify": "true\n", "retention": "redacted"}
    assert client.post("/workspaces/", data)["Location"] == "/workspaces/"
    page = client.get("/workspaces/").text
    assert "mine" in page and str(root) in page and "git repository" in page


@pytest.mark.parametrize(
    "changes", [{"path": "/nowhere/at/all"}, {"verify": "'open"}, {"verify": "no-such-program"}]
)
def test_what_cannot_be_registered_is_told(changes: dict[str, str]) -> None:
    client = signed_in(factories.person("ada", "admin"))
    data = {"name": "mine", "path": str(kit.repository()), "retention": "redacted", **changes}
    refused = client.post("/workspaces/", data)
    assert refused.status_code == 400
    assert not Workspace.objects.filter(name="mine").exists()


def test_the_lab_shows_all_eleven_stages(alice: User) -> None:
    place = kit.workspace(factories.person("ada", "admin"))
    client = signed_in(alice)
    data = {
        "workspace": place.name,
        "mode": "assisted",
        "role": "implementer",
        "kind": "implementation",
        "cwd": ".",
        "action": json.dumps({"kind": "run_tool", "program": "git", "args": ["status"]}),
    }
    verdict = client.post("/policy/", data).text
    for stage in ("intake", "canonicalise", "boundary", "veto", "defaults", "grants", "audit"):
        assert f'<th scope="row">{stage}</th>' in verdict
    assert "ALLOW" in verdict


def test_the_policy_explains_stages_layers_and_modes(alice: User) -> None:
    page = signed_in(alice).get("/policy/").text
    assert "Lifted by nobody" in page and "Unattended" in page


def test_the_system_page_shows_checks_workers_and_leases(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.claim()
    Worker.objects.create(
        incarnation=factories.OWNER,
        host="box",
        pid=4711,
        started_at=datetime.now(UTC) - timedelta(minutes=9),
        seen_at=datetime.now(UTC) - timedelta(minutes=3),
    )
    client = signed_in(alice)
    page = client.get("/system/").text
    for part in ("sandbox", "database", "box, process 4711", "silent", "lease ends", "memory"):
        assert part in page
    part = client.get("/system/", headers={"hx-request": "true"}).text
    assert part.startswith('<div id="now"') and "Doctor" not in part


def test_a_missing_model_is_no_fault_of_the_machine(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("M31A_PROVIDER", raising=False)
    page = signed_in(alice).get("/system/").text
    provider = page[page.index('<th scope="row">provider</th>') :]
    assert "WARN" in provider and "python3 manage.py up" in provider
    assert "FAULT" not in page and "Runs can be executed here." in page


def test_what_keeps_runs_from_being_executed_is_a_fault(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "OLDEST", (99, 0))
    page = signed_in(alice).get("/system/").text
    assert "FAULT" in page and "Runs cannot be executed here until the fault below" in page


def test_pages_name_commands_that_work_from_a_fresh_clone() -> None:
    for path in sorted(Path("templates").rglob("*.html")):
        assert "<code>m31a " not in path.read_text(encoding="utf-8"), path


def test_the_demo_button_submits_and_leads_to_the_run(alice: User, mallory: User) -> None:
    answer = signed_in(factories.person("ada", "admin", "submitter")).post("/demo/")
    run = Run.objects.exclude(pk="system").get()
    assert answer["Location"] == f"/runs/{run.pk}/"
    assert signed_in(mallory).post("/demo/").status_code == 403
