"""What a command reaches of the network. Run as root and as an ordinary user alike."""

from __future__ import annotations

import threading

from cage_making import Hall
from origin import ADDRESS, origin


def test_nothing_is_reached_without_a_list(hall: Hall) -> None:
    with origin() as server:
        result = hall.sh(
            f"env | grep -i _proxy; curl -sS -m 3 http://{server.name}/; echo $?; cat /proc/net/dev"
        )
        assert server.seen == []
    assert result.attestation["network"] == "none" and "network_hosts" not in result.attestation
    assert result.contacts == () and "PROXY" not in result.text().upper()
    devices = [line.split(":")[0].strip() for line in result.text().splitlines() if ":" in line]
    assert devices == ["lo"]


def test_a_listed_host_is_reached_in_the_clear_and_through_a_tunnel(hall: Hall) -> None:
    with origin() as plain, origin(tls=True) as safe:
        result = hall.sh(
            f"curl -sS -m 9 http://{plain.name}/a -d 1=2; curl -sSk -m 9 https://{safe.name}/b",
            hosts=[plain.name, safe.name],
        )
        assert result.text() == "hello from the origin\n" * 2, result.text("stderr")
        assert plain.seen == [f"POST {plain.name}/a 1=2"] and safe.seen == [f"GET {safe.name}/b"]
    assert result.attestation["network"] == "hosts"
    assert set(str(result.attestation["network_hosts"]).split()) == {plain.name, safe.name}
    told = {(row["host"], row["port"]): row for row in result.contacts}
    assert told.keys() == {(ADDRESS, plain.port), (ADDRESS, safe.port)}
    assert all(not r["refused"] and r["sent"] and r["received"] for r in told.values())
    assert result.report()["contacts"] == list(result.contacts)


def test_what_is_not_listed_is_refused_and_told(hall: Hall) -> None:
    with origin() as listed, origin() as other:
        result = hall.sh(
            f"curl -sS http://{other.name}/; curl -sS https://example.org/; "
            f"curl -sS --noproxy '*' -m 2 http://{listed.name}/",
            hosts=[listed.name],
        )
        assert listed.seen == other.seen == []
    assert "not on the list" in result.text()
    told = {(row["host"], row["port"]): row["refused"] for row in result.contacts}
    assert told.keys() == {(ADDRESS, other.port), ("example.org", 443)}
    assert all("not on the list" in str(why) for why in told.values())


def test_a_list_adds_a_way_out_and_takes_no_wall_away(hall: Hall) -> None:
    look = "cat /proc/net/dev | cut -d: -f1; grep -E 'Seccomp:|NoNewPrivs|CapEff' /proc/self/status"
    without, given = hall.sh(look), hall.sh(look, hosts=["example.org"])
    assert without.stdout == given.stdout
    same = {"network", "network_hosts", "session"}
    assert {k: v for k, v in given.attestation.items() if k not in same} == {
        k: v for k, v in without.attestation.items() if k not in same
    }


def test_commands_side_by_side_have_proxies_of_their_own(hall: Hall) -> None:
    with origin() as one, origin() as two:
        results = {}

        def ask(mine: str, other: str) -> None:
            script = f"sleep 0.1; curl -sS http://{mine}/; curl -sS http://{other}/"
            results[mine] = hall.sh(script, hosts=[mine])

        pairs = [(one.name, two.name), (two.name, one.name)]
        threads = [threading.Thread(target=ask, args=pair) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results.values():
            assert result.text().count("hello from the origin") == 1
            assert result.text().count("not on the list") == 1


def test_a_server_inside_the_cage_is_reached_without_the_proxy(hall: Hall) -> None:
    script = (
        "python3 -I -m http.server --bind 127.0.0.1 8123 >/dev/null 2>&1 & n=0;"
        " until curl -s http://127.0.0.1:8123/ >/dev/null || [ $((n += 1)) -gt 200 ];"
        " do sleep 0.1; done;"
        " curl -sS http://localhost:8123/ >/dev/null && curl -sS http://127.0.0.1:8123/ >/dev/null"
    )
    result = hall.sh(script, hosts=["example.org"])
    assert result.status == 0 and result.contacts == (), result.text("stderr")
