"""The policy page: rules as they stand on disk and in force, and a file tried on the record."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.gating import policies
from runtime.models import User
from tests import kit
from tests.web import factories
from tests.web.conftest import signed_in

RULE = """
[[rule]]
id = "no-edits"
decision = "DENY"
reason = "Not <b>now</b>."
tool = "write_file"
path = ["/notes.txt"]
match = [{ kind = "write_file", path = "notes.txt", content = "x" }]
no_match = [{ kind = "write_file", path = "other.txt", content = "x" }]
"""


@pytest.fixture
def folder(site: None) -> Iterator[Path]:
    """The policy folder, empty."""
    place = policies.folder()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    policies.forget()
    yield place
    shutil.rmtree(place, ignore_errors=True)
    policies.forget()


def test_rules_are_shown_with_layer_conditions_and_examples(folder: Path) -> None:
    client = signed_in(factories.person("ada", "submitter"))
    assert "There are no policy files" in client.get("/policy/").text
    (folder / "organisation.toml").write_text(RULE)
    page = client.get("/policy/").text
    for part in (
        "organisation.toml",
        "layer 2 organisation",
        "no-edits",
        "/notes.txt",
        "other.txt",
    ):
        assert part in page
    assert "Not &lt;b&gt;now&lt;/b&gt;." in page
    assert "no rules were ever loaded" in page
    book = policies.in_force("worker")
    assert f"<code>{book.hash[:12]}</code> since" in client.get("/policy/").text


def test_without_files_the_built_in_rules_can_be_looked_up(folder: Path) -> None:
    page = signed_in(factories.person("ada", "submitter")).get("/policy/").text
    assert '<a href="#built-in">what is built in</a> decides' in page
    layers = {}
    for anchor in ("layer-0", "layer-9", "beside-layers"):
        start = page.index(f'<details class="fold" id="{anchor}"><summary>')
        layers[anchor] = page[start : page.index("</details>", start)]
    row = next(one for one in layers["layer-0"].split("<li>") if "<code>sudo, su" in one)
    assert "DENY</span>" in row and "raises its own rights" in row
    assert "Example: <code>sudo</code>" in row
    rows = layers["layer-9"].split("<li>")
    asked = next(one for one in rows if "<code>git push</code>" in one)
    assert "ASK</span>" in asked and "sends the run&#x27;s work to others" in asked
    assert any("<code>secret</code>" in one and ".env may hold a secret" in one for one in rows)
    assert any("<code>guided file</code>" in one and "AGENTS.md" in one for one in rows)
    assert "pip install" in layers["layer-9"] and "program not allowed" in layers["beside-layers"]
    assert len(page) < 250_000


def test_broken_files_are_named_and_the_lab_refuses(folder: Path) -> None:
    client = signed_in(factories.person("ada", "admin", "submitter"))
    kit.workspace(User.objects.get(username="ada"))
    (folder / "system.toml").write_text(RULE + "mood = 1\n")
    page = client.get("/policy/").text
    assert "system.toml, rule no-edits, field mood: unknown" in page
    assert "a process that starts now refuses" in page
    data = {"workspace": "work", "mode": "assisted", "role": "implementer",
            "kind": "implementation", "cwd": ".", "action": '{"kind": "verify"}'}  # fmt: skip
    answer = client.post("/policy/", data)
    assert answer.status_code == 400 and "field mood: unknown" in answer.text


def test_a_backtest_lists_what_would_change(folder: Path) -> None:
    ada = factories.person("ada", "admin", "submitter")
    kit.workspace(ada)
    told = kit.play(ada, [kit.EDIT, kit.VERIFY, kit.FINISH])
    client = signed_in(ada)
    data = {"layer": "organisation", "subject": "", "text": RULE}
    page = client.post("/policy/backtest/", data).text
    assert "1 of 3 recorded decisions would change as organisation." in page
    assert told.run.pk in page and "Not &lt;b&gt;now&lt;/b&gt;." in page
    part = client.post("/policy/backtest/", data, headers={"hx-request": "true"}).text
    assert part.startswith('<section id="backtest"')
    assert policies.current().empty and not any(folder.iterdir())


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"layer": "system", "text": "x ="}, "this is no TOML"),
        ({"layer": "system", "text": RULE + "mood = 1"}, "rule no-edits, field mood"),
        ({"layer": "workspace", "text": RULE}, "Say whose it is."),
        ({"layer": "king", "text": RULE}, "Select a valid choice"),
        ({"layer": "system", "text": ""}, "This field is required"),
    ],
)
def test_a_backtest_of_what_is_no_policy(folder: Path, data: dict[str, str], told: str) -> None:
    answer = signed_in(factories.person("ada", "admin")).post("/policy/backtest/", data)
    assert answer.status_code == 400 and told in answer.text


def test_a_backtest_shows_everybodys_actions_and_needs_the_right(folder: Path) -> None:
    client = signed_in(factories.person("sam", "submitter"))
    assert "policy-backtest" not in client.get("/policy/").text
    assert client.post("/policy/backtest/", {"layer": "system", "text": RULE}).status_code == 403
