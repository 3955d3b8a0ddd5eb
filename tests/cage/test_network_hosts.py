"""What a command reaches of the network: nothing, or the hosts of its list by a proxy."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from dataclasses import replace

import pytest
from cage_making import Hall, until
from origin import ADDRESS, name_stub, origin

from runtime.core.commands import Shell
from runtime.core.errors import BadInput, Refused
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage, netns
from tests.clock import best_of_three, under

_NAME = (
    f"question{uuid.uuid4().hex}.example"  # the machine's resolver may be asked by others meanwhile
)
_ASK = f"import socket\ntry: print(socket.getaddrinfo('{_NAME}', 80))\nexcept OSError: print('no')"


def _own_addresses() -> list[str]:
    """The machine's own, beyond loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return [probe.getsockname()[0]]
        except OSError:
            return []


@pytest.mark.parametrize("listed", [False, True])
def test_F37_no_question_about_a_name_leaves_the_cage(hall: Hall, listed: bool) -> None:
    with name_stub() as (seen, port):
        places = [("127.0.0.1", 53), ("127.0.0.1", port), *[(a, port) for a in _own_addresses()]]
        send = (
            "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            f"for place in {places!r}:\n try: s.sendto(b'{_NAME}', place)\n except OSError: pass"
        )
        result = hall.sh(
            f'python3 -I -c "{_ASK}"; python3 -I -c "$1"; getent hosts {_NAME}; echo done'.replace(
                '"$1"', f'"{send}"'
            ),
            hosts=[_NAME] if listed else [],
        )
        assert result.text() == "no\ndone\n", result.text("stderr")
        time.sleep(0.1)
        mine = _NAME.partition(".")[0].encode()  # a question has no points in it
        assert [one for one in seen if mine in one] == []


@best_of_three
def test_the_way_out_ends_with_the_command(hall: Hall) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with socket.create_server((ADDRESS, 0)) as silent:
        name = f"{ADDRESS}:{silent.getsockname()[1]}"
        result = hall.sh(f"curl -sS http://{name}/ & sleep 0.3; exit 3", hosts=[name], timeout=30)
        assert result.status == 3
        under(result.duration_ms / 1000, 3)
        result = hall.sh(f"curl -sS http://{name}/", hosts=[name], timeout=0.4)
        assert result.timed_out
        under(result.duration_ms / 1000, 3)
    assert until(lambda: "cage-proxy" not in [one.name for one in threading.enumerate()])
    assert until(lambda: len(os.listdir("/proc/self/fd")) <= before)


@pytest.mark.parametrize("text", ["*", "*.org", "0x7f.1", "a b", "example.org:0", "https://a.b"])
def test_a_list_that_cannot_be_read_stops_before_anything_starts(hall: Hall, text: str) -> None:
    with pytest.raises(BadInput, match="hosts of a command"):
        hall.sh("true", hosts=[text])


def test_without_walls_the_network_is_the_machines_and_that_is_attested(hall: Hall) -> None:
    with origin() as server, Cage(replace(hall.spec(), accepts="none")) as cage:
        script = f"env | grep -i _proxy; curl -sS http://{server.name}/"
        result = cage.run(by_operator(Shell(script), "test"), hosts=["example.org"])
        assert result.text() == "hello from the origin\n"
    assert result.attestation["network"] == "open" and result.contacts == ()


def test_a_weaker_backend_gives_no_network_at_all(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M31A_SANDBOX", "landlock")
    with Cage(replace(hall.spec(), accepts="landlock")) as cage:
        try:
            cage.run(by_operator(Shell("true"), "test"))
        except Exception as error:  # noqa: BLE001
            pytest.skip(f"there is no Landlock here: {error}")
        with pytest.raises(Refused, match="landlock cannot hold it"):
            cage.run(by_operator(Shell("true"), "test"), hosts=["example.org"])


def test_a_way_out_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netns, "_enter", lambda first: time.sleep(30))
    monkeypatch.setattr(netns, "_SECONDS", 1)
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine, theirs, pytest.raises(OSError, match="timed out"):
        netns.listen(os.getpid(), theirs.fileno())
