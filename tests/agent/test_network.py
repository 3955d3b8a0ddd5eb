"""Network for a command: nothing by itself, some hosts once somebody permits it, and the record of it."""

from __future__ import annotations

import json
import shutil

import pytest

from runtime.agent import background
from runtime.core.errors import BadInput
from runtime.gating import policies
from runtime.journal.kinds import REGISTRY
from runtime.models import Trace, Workspace
from runtime.runs import replay
from tests.agent.scenes import answer, plain, seen, shell, tool
from tests.cage.origin import origin
from tests.kit import FINISH, play, workspace


def fetch(name: str) -> dict:
    return tool("curl", "-sS", f"http://{name}/")


def test_an_approved_command_reaches_the_registered_hosts_and_says_so(cast, client):
    with origin() as server, origin() as other:
        workspace(cast.alice, hosts=[server.name], allow=["curl"])
        told = play(cast.alice, [shell(f"curl -sS http://{server.name}/; curl -sS http://{other.name}/"),
                                 tool("true"), FINISH])  # fmt: skip
        card = json.loads(told.pending.card)
        assert card["sandbox"]["network"] == [f"127.0.0.2 (port {server.port})"]
        client.force_login(cast.bob)
        page = client.get(f"/approvals/{told.pending.pk}/").content.decode()
        assert f"network: 127.0.0.2 (port {server.port})" in page
        assert server.seen == []
        answer(told, cast.bob)
        told.work()
        assert len(server.seen) == 1 and other.seen == []
    started, second = told.of("action.started")[:2]
    assert started["hosts"] == [server.name] and "hosts" not in second
    said = seen(told)
    assert "hello from the origin" in said[0] and "not on the list" in said[0]
    trace = told.of("action.completed")[0]["trace"]
    assert trace["sandbox"]["network"] == "hosts"
    assert trace["sandbox"]["network_hosts"] == server.name
    told_of = {(c["host"], c["port"]): c["refused"] for c in trace["sandbox"]["contacts"]}
    assert told_of.keys() == {("127.0.0.2", server.port), ("127.0.0.2", other.port)}
    assert told.of("action.completed")[1]["trace"]["sandbox"]["network"] == "none"
    assert replay.check(told.run.pk) == ""
    client.force_login(cast.alice)
    page = client.get(f"/runs/{told.run.pk}/?tab=traces").content.decode()
    assert f"127.0.0.2:{server.port}" in page and "not on the list" in page


@pytest.mark.thorough
def test_a_command_that_asks_for_many_hosts_still_has_an_end_that_fits_its_event(cast, client):
    names = [f"mirror-{n}.{'far-away.' * 4}example.net" for n in range(30)]
    with origin() as server:
        workspace(cast.alice, hosts=[server.name, *names], allow=["curl"])
        many = "for n in $(seq 45); do curl -s http://host-$n.example.org/; done; true"
        told = play(cast.alice, [shell(f"curl -sS http://{server.name}/; {many}"), FINISH])
        answer(told, cast.bob)
        told.work()
        assert len(server.seen) == 1
    assert told.of("action.started")[0]["hosts"][:1] == [server.name]
    sandbox = told.of("action.completed")[0]["trace"]["sandbox"]
    assert len(sandbox["contacts"]) + sandbox["contacts_left_out"] == 46
    assert sandbox["network_hosts"].endswith(" more")
    assert replay.check(told.run.pk) == ""
    client.force_login(cast.alice)
    page = client.get(f"/runs/{told.run.pk}/?tab=traces").content.decode()
    assert f"{sandbox['contacts_left_out']} not listed" in page


def test_a_private_host_that_the_action_names_is_not_reached_by_that(cast):
    with origin() as server:
        workspace(cast.alice, allow=["curl"])
        told = play(cast.alice, [fetch(server.name), FINISH])
        card = json.loads(told.pending.card)
        assert card["sandbox"]["network"] == "none: no host is named or registered"
        answer(told, cast.bob)
        told.work()
        assert server.seen == []
    assert told.of("action.completed")[0]["trace"]["sandbox"]["network"] == "none"


def test_a_public_host_that_the_action_names_is_on_its_card(cast):
    workspace(cast.alice, hosts=["*.example.net"], allow=["curl"])
    told = play(cast.alice, [tool("curl", "-o", "main.py", "https://example.org/main.py"), FINISH])
    card = json.loads(told.pending.card)
    assert card["sandbox"]["network"] == [
        "*.example.net (ports 80 and 443)",
        "example.org (ports 80 and 443)",
    ]


def test_a_command_without_need_gets_no_network_though_hosts_are_registered(cast):
    workspace(cast.alice, hosts=["example.org"])
    told = play(cast.alice, [tool("true"), FINISH])
    assert told.of("action.completed")[0]["trace"]["sandbox"]["network"] == "none"
    assert "hosts" not in told.of("action.started")[0]


@pytest.fixture
def rules():
    """Write the organisation's rules."""
    folder = policies.folder()
    shutil.rmtree(folder, ignore_errors=True)
    policies.forget()

    def put(text: str) -> None:
        folder.mkdir(parents=True)
        (folder / "organisation.toml").write_text(text)

    yield put
    shutil.rmtree(folder, ignore_errors=True)
    policies.forget()


def test_a_remembered_answer_and_an_operators_rule_give_the_network_too(cast, rules):
    with origin() as server:
        workspace(cast.alice, hosts=[server.name], allow=["curl"])
        told = play(cast.alice, [fetch(server.name), fetch(server.name), FINISH])
        answer(told, cast.bob, scope="run")
        told.work()
        assert len(server.seen) == 2
        rules(
            '[[rule]]\nid = "may-fetch"\ndecision = "ALLOW"\ntool = "run_tool"\nprogram = "curl"\n'
            'host = "127.0.0.2"\nonly_flags = ["-sS"]\nreason = "the mirror"\n'
        )
        told = play(cast.alice, [fetch(server.name), FINISH])
        assert len(server.seen) == 3
    assert told.of("policy.decided")[0]["source"] == "rule"


def test_a_background_job_reaches_them_as_well(cast, monkeypatch):
    monkeypatch.setattr(background, "SOON", 20.0)  # it is over as soon as the job is
    with origin() as server:
        workspace(cast.alice, hosts=[server.name], allow=["curl"])
        start = {"kind": "start_job", "program": "curl", "args": ["-sS", f"http://{server.name}/"]}
        told = play(cast.alice, [start, FINISH])
        answer(told, cast.bob)
        told.work()
        assert len(server.seen) == 1
    trace = told.of("job.ended")[0]["trace"]
    assert trace["sandbox"]["contacts"][0]["host"] == "127.0.0.2"


def test_hosts_are_registered_in_one_spelling_and_journaled(cast):
    row = workspace(cast.alice, hosts=["Example.ORG.", "bücher.example:8443", "*.example.net"])
    assert row.hosts == ["*.example.net", "example.org", "xn--bcher-kva.example:8443"]
    assert Workspace.objects.get().hosts == row.hosts
    assert REGISTRY["workspace.registered"].model_fields["hosts"]


@pytest.mark.parametrize("text", ["https://a.example", "*", "10.1", "a_b c", "a.example:x"])
def test_a_host_that_cannot_be_read_registers_nothing(cast, text):
    with pytest.raises(BadInput) as error:
        workspace(cast.alice, hosts=[text])
    assert error.value.field == "host" and not Workspace.objects.exists()


@pytest.mark.thorough
def test_a_limit_is_named_in_the_trace_and_on_the_page(cast, client):
    workspace(cast.alice)
    told = play(cast.alice, [shell("head -c 300000000 /dev/zero > big"), FINISH])
    assert told.of("action.completed")[0]["trace"]["limit"] == "file_bytes"
    assert Trace.objects.get(run=told.run.pk).limit == "file_bytes"
    assert "file_bytes" in plain(told.of("action.completed")[0]["observation"])
    client.force_login(cast.alice)
    page = client.get(f"/runs/{told.run.pk}/?tab=traces").content.decode()
    assert "at the limit file bytes" in page
