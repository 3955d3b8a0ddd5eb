"""Hosts that a command may reach: one spelling, a list, and what an action itself names."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.policy import Decision, GrantFact, RuleLayer, gate, reach
from runtime.policy.remembered import Remembered
from runtime.policy.rules import Rule
from runtime.policy.testing import DEFAULT_PROGRAMS, World, request, shell, tool

ASK, ALLOW = Decision.ASK, Decision.ALLOW
ALLOWED = DEFAULT_PROGRAMS | {"curl"}
FETCH = tool("curl", "-sS", "https://example.org/a")


@pytest.mark.parametrize(
    ("text", "host", "ports"),
    [
        ("Example.ORG", "example.org", (80, 443)),
        ("example.org.", "example.org", (80, 443)),
        ("example.org:8443", "example.org", (8443,)),
        ("bücher.example", "xn--bcher-kva.example", (80, 443)),
        ("192.0.2.7:1", "192.0.2.7", (1,)),
        ("[2001:db8::1]:443", "2001:db8::1", (443,)),
        ("2001:db8::1", "2001:db8::1", (80, 443)),
    ],
)
def test_a_host_has_one_spelling(text: str, host: str, ports: tuple[int, ...]) -> None:
    assert reach.parse(text) == reach.Reach(host, ports)
    assert reach.parse(reach.parse(text).text()) == reach.parse(text)


@pytest.mark.parametrize(
    "text",
    ["", ".", "a..b", "a b", "a/b", "user@a.example", "https://a.example", "*", "*.org", "*.1.2.3.4",
     "0x7f.1", "2130706433", "127.1", "017.0.0.1", "::ffff:127.0.0.1", "fe80::1%eth0", "a:0", "a:99999",
     "a:+1", "a:", "[::1", "[a.example]", "-a.example", "a-.example", "x" * 64 + ".example", "a\0b"],
)  # fmt: skip
def test_what_is_no_plain_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        reach.parse(text, wildcard=True)


def test_a_wildcard_is_an_operators_and_stands_for_names_below() -> None:
    with pytest.raises(ValueError, match="host"):
        reach.parse("*.example.org")
    made = reach.listed(["*.example.org"])
    assert made.permits("a.example.org", 443) and made.permits("a.b.example.org", 80)
    assert not made.permits("example.org", 443) and not made.permits("aexample.org", 443)
    assert not made.permits("a.example.org", 8443)


@pytest.mark.parametrize(
    "text",
    ["127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
     "100.100.100.200", "168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255", "::", "::1",
     "fc00::1", "fe80::1", "fd00:ec2::254", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::a00:1",
     "2002:a00:1::", "2001:0:a00:1::1", "198.18.0.1", "192.0.2.1", "240.0.0.1"],
)  # fmt: skip
def test_addresses_that_are_nobodys_to_give(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert not reach.is_public(address)
    assert not reach.listed(["a.example"]).permits_address(address, 443)


def test_a_private_address_is_given_by_being_listed_itself() -> None:
    made = reach.listed(["10.0.0.1:8443"])
    assert made.permits_address(ipaddress.ip_address("10.0.0.1"), 8443)
    assert not made.permits_address(ipaddress.ip_address("10.0.0.1"), 443)
    assert not made.permits_address(ipaddress.ip_address("10.0.0.2"), 8443)


@given(st.integers(0, (1 << 32) - 1))
def test_no_disguise_of_an_address_is_taken(number: int) -> None:
    address = ipaddress.IPv4Address(number)
    a, b, c, d = address.packed
    for text in (str(number), hex(number), f"0x{a:x}.{b}.{c}.{d}", f"{a}.{(b << 16) + (c << 8) + d}",
                 f"::ffff:{address}", f"0{a:o}.{b}.{c}.{d}"):  # fmt: skip
        if text != str(address):
            with pytest.raises(ValueError):
                reach.parse(text)


def test_what_an_action_names_is_reached_where_it_is_public() -> None:
    named = ["example.org", "127.0.0.1", "localhost", "metadata.google.internal", "a b", "8.8.8.8"]
    assert reach.of_action(named, ["10.0.0.1:1"]) == ("10.0.0.1:1", "8.8.8.8", "example.org")


# -- the gate


def test_the_verdict_says_which_hosts_a_command_names() -> None:
    verdict = World().decide(FETCH, allowed=ALLOWED)
    assert (verdict.network, verdict.hosts, verdict.connects) == (True, ("example.org",), False)
    for quiet in (tool("ls"), {"kind": "git_push"}, tool("git", "push"), {"kind": "read_file"}, 7):
        verdict = World().decide(quiet, allowed=ALLOWED)
        assert (verdict.network, verdict.hosts, verdict.connects) == (False, (), False)


def test_a_file_that_a_command_writes_is_no_host() -> None:
    verdict = World().decide(tool("curl", "-o", "main.py", "https://example.org"), allowed=ALLOWED)
    assert verdict.hosts == ("example.org",)


def test_a_mode_or_a_default_gives_no_network() -> None:
    for mode in ("assisted", "autonomous", "unattended", "safe", "plan"):
        assert not World().decide(FETCH, mode, allowed=ALLOWED).connects


def test_an_operators_rule_gives_it_for_the_parts_that_it_is_about() -> None:
    rule = Rule("fetch", ALLOW, program=("curl",), host=("example.org",))
    layers = (RuleLayer(2, "organisation", (rule,)),)
    assert World().decide(FETCH, allowed=ALLOWED, layers=layers).connects
    both = shell("curl https://example.org/ && ls")
    assert World().decide(both, allowed=ALLOWED, layers=layers).connects
    other = Rule("list", ALLOW, program=("ls",))
    layers = (RuleLayer(2, "organisation", (other,)),)
    assert not World().decide(both, allowed=ALLOWED, layers=layers).connects


def test_a_remembered_answer_gives_it_and_a_remembered_rule_no_host_that_nobody_saw() -> None:
    asked = World().decide(FETCH, allowed=ALLOWED)
    grant = GrantFact("g1", asked.key, ASK, "run", "bob")
    verdict = World().decide(FETCH, allowed=ALLOWED, grants=(grant,))
    assert verdict.connects and verdict.hosts == ("example.org",)
    first = tool("curl", "https://example.org/")
    offered = World().decide(first, allowed=ALLOWED).offers[-1]
    assert isinstance(offered, Remembered)
    grant = GrantFact("g2", "another", ASK, "run", "bob", offered)
    context = World().context(allowed=ALLOWED, grants=(grant,))
    again = tool("curl", "https://example.org/", "https://example.org/more")
    verdict = gate(request(again), context)
    assert verdict.decision is ALLOW and verdict.source == "grant"
    assert verdict.connects and verdict.hosts == ("example.org",)
    wider = tool("curl", "https://example.org/", "https://else.example/")
    assert gate(request(wider), context).decision is ASK
