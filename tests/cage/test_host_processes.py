"""The server's own trusted processes."""

from __future__ import annotations

import os
import time

import pytest
from cage_making import SECRET, alive, planted, tag, until

from runtime.core.commands import Exec
from runtime.core.errors import BadInput, Unavailable
from runtime.policy.authorised import Authorised, by_operator, by_runtime
from runtime.sandbox import run_host
from tests.clock import best_of_three, in_time


def sh(text: str) -> Authorised[Exec]:
    return by_runtime(Exec("/bin/sh", ("-c", text)), "test")


def test_status_and_both_outputs() -> None:
    result = run_host(sh("echo out; echo err >&2; exit 3"))
    assert (result.status, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert run_host(sh("kill -9 $$")).status == -9


def test_E10_the_environment_is_clean_and_fixed() -> None:
    with planted():
        seen = run_host(sh("env; umask"), env={"EXTRA": "1"}).stdout.decode()
    assert SECRET not in seen and "EXTRA=1\n" in seen and "GIT_CONFIG_NOSYSTEM=1\n" in seen
    assert seen.endswith("0022\n")


def test_input_of_any_size_and_none() -> None:
    data = os.urandom(3 << 20)
    assert run_host(by_runtime(Exec("cat"), "test"), stdin=data).stdout == data
    assert run_host(by_runtime(Exec("cat"), "test")).stdout == b""
    assert run_host(by_runtime(Exec("true"), "test"), stdin=data).status == 0
    with open(__file__, "rb") as file:
        result = run_host(by_runtime(Exec("cat"), "test"), stdin_fd=file.fileno())
    assert b"stdin_fd" in result.stdout
    with pytest.raises(BadInput, match="stdin"):
        run_host(sh("true"), stdin=b"", stdin_fd=0)


@best_of_three
def test_time_and_output_are_bounded() -> None:
    mark = tag()
    began = time.monotonic()
    with pytest.raises(Unavailable, match="in time"):
        run_host(sh(f"sleep {mark} & sleep {mark}"), timeout=0.2)
    in_time(began, 2)
    assert until(lambda: not alive(mark))
    with pytest.raises(Unavailable, match="bytes"):
        run_host(sh("head -c 80000000 /dev/zero"))


def test_nothing_is_left_in_the_background() -> None:
    mark = tag()
    assert run_host(sh(f"sleep {mark} >/dev/null 2>&1 & exit 0")).status == 0
    assert until(lambda: not alive(mark))


def test_what_is_not_the_runtimes_own_is_refused() -> None:
    for given in (by_operator(Exec("true"), "test"), Exec("true")):
        with pytest.raises(Unavailable, match="runtime"):
            run_host(given)  # type: ignore[arg-type]


def test_a_program_that_is_missing_is_named() -> None:
    with pytest.raises(Unavailable, match="no-such-program"):
        run_host(by_runtime(Exec("no-such-program"), "test"))
    with pytest.raises(BadInput, match="LD_PRELOAD"):
        run_host(sh("true"), env={"LD_PRELOAD": "/x"})
