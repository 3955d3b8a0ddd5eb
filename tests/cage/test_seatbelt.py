"""macOS: the profile to the letter, its wrapper first, and supervision without a broker."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest

from runtime.core.commands import Shell
from runtime.core.errors import BadInput
from runtime.policy.authorised import by_operator
from runtime.sandbox import CageSpec, Limits, Mount, OneShot, portable, seatbelt, wire
from runtime.sandbox.layout import Cover
from tests.clock import best_of_three, in_time

SPEC = CageSpec(
    '/Users/a/My "Pro\\ject',
    (
        Mount('/Users/a/My "Pro\\ject', '/Users/a/My "Pro\\ject', writable=True),
        Mount("/srv/etc", "/etc"),
        Mount("/srv/scratch", "/m31a/scratch", writable=True, only="git"),
    ),
)
GOLDEN = """(version 1)
(deny default)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-read* file-test-existence (literal "/") (literal "/private/etc/localtime")\
 (literal "/private/etc/ssl/cert.pem") (literal "/private/etc/ssl/openssl.cnf")\
 (literal "/private/etc/protocols") (literal "/private/etc/services")\
 (literal "/private/etc/shells"))
(allow file-read* file-map-executable (subpath "/usr") (subpath "/bin") (subpath "/sbin")\
 (subpath "/System") (subpath "/Library/Apple") (subpath "/Library/Frameworks")\
 (subpath "/Library/Developer/CommandLineTools") (subpath "/private/var/db/dyld")\
 (subpath "/private/var/db/timezone") (subpath "/private/var/select") (subpath "/opt/homebrew")\
 (subpath "/dev/fd") (subpath "/srv/etc") (subpath "/srv/private")\
 (subpath "/Users/a/My \\"Pro\\\\ject"))
(allow process-exec* (subpath "/usr") (subpath "/bin") (subpath "/sbin")\
 (subpath "/System") (subpath "/Library/Apple") (subpath "/Library/Frameworks")\
 (subpath "/Library/Developer/CommandLineTools") (subpath "/private/var/db/dyld")\
 (subpath "/private/var/db/timezone") (subpath "/private/var/select") (subpath "/opt/homebrew")\
 (subpath "/dev/fd") (subpath "/srv/etc") (subpath "/srv/private")\
 (subpath "/Users/a/My \\"Pro\\\\ject"))
(allow file-read* file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero")\
 (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/dtracehelper"))
(allow file-write* (subpath "/srv/private") (subpath "/Users/a/My \\"Pro\\\\ject"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo")\
 (global-name "com.apple.system.logger") (global-name "com.apple.system.notification_center")\
 (global-name "com.apple.bsd.dirhelper"))
(deny file-write-setugid)
(deny file-write-create (vnode-type BLOCK-DEVICE) (vnode-type CHARACTER-DEVICE))
(deny network*)
(deny file-write* (subpath "/Users/a/My \\"Pro\\\\ject/.git"))
(deny file-write-unlink (literal "/Users/a/My \\"Pro\\\\ject") (literal\
 "/Users/a/My \\"Pro\\\\ject/.git"))
"""
ENV = {b"PATH": b"/usr/bin:/bin"}


def test_the_profile_to_the_letter() -> None:
    covers = (Cover(f"{SPEC.root}/.git", hide=False), Cover(f"{SPEC.root}/s", hide=True))
    assert seatbelt.profile(SPEC, "tool", "/srv/private", covers) == GOLDEN
    assert '(subpath "/srv/scratch")' in seatbelt.profile(SPEC, "git", "/srv/private")


def test_what_the_language_cannot_hold_is_refused() -> None:
    odd = CageSpec("/a\n(allow default)", (Mount("/a\n(allow default)", "/a", writable=True),))
    with pytest.raises(BadInput, match="profile"):
        seatbelt.profile(odd, "tool", "/p")


def test_the_wrapper_is_the_first_word() -> None:
    words = seatbelt.argv("(version 1)", portable.bounded([b"ls", b"a b", b"-p"], Limits()))
    assert words[:3] == [b"/usr/bin/sandbox-exec", b"-p", b"(version 1)"]
    assert words[3] == b"/bin/sh" and words[-3:] == [b"ls", b"a b", b"-p"]


def run(script: str, **more: object) -> portable.Exchange:
    given = {"wall": 20.0, "keep": 1 << 16} | more
    words = portable.bounded([b"/bin/sh", b"-c", script.encode()], Limits(open_files=99))
    return portable.exchange(words, ENV, "/", **given)  # type: ignore[arg-type]


def alive(mark: str) -> bool:
    return mark in subprocess.run(["ps", "-axo", "args="], capture_output=True, text=True).stdout


def test_without_a_broker_status_streams_and_bounds_arrive() -> None:
    done = run("ulimit -n; echo e >&2; exit 7")
    assert (done.verdict.code, done.verdict.reason) == (7, wire.ENDED)
    assert (done.stdout.bytes(), done.stderr.bytes()) == (b"99\n", b"e\n")
    assert run("kill -SEGV $$").verdict.code == 128 + 11
    assert run("yes x | head -c 5000000").stdout.total == 5_000_000


@best_of_three
def test_without_a_broker_a_tree_ends_at_exit_timeout_and_wish() -> None:
    mark = f"3600.{uuid.uuid4().int % 10**12}"
    began = time.monotonic()
    assert run(f"sleep {mark} & echo said").stdout.bytes() == b"said\n"
    leave = f"import os; os.setsid(); os.execlp('sleep', 'sleep', '{mark}')"
    detached = f'trap "" TERM; python3 -c "{leave}" &'
    assert run(f"{detached} sleep 0.3; sleep {mark}", wall=0.6).verdict.reason == wire.TIMED_OUT
    wish = threading.Event()
    threading.Timer(0.2, wish.set).start()
    assert run(f"sleep {mark}", cancel=wish).verdict.reason == wire.CANCELLED
    in_time(began, 8)
    assert not alive(mark)


@pytest.mark.skipif(sys.platform != "darwin", reason="Seatbelt is a part of macOS")
def test_seatbelt_confines(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("canary")
    (inside / ".git").mkdir()
    script = (
        f"echo x > made; cat {outside}/secret; echo x > {outside}/made; echo x > .git/config;"
        " mv .git g; curl -sm 2 http://127.0.0.1/; kill -0 $PPID && echo signalled"
    )
    with OneShot(os.path.realpath(inside)) as shot:
        result = shot.run(by_operator(Shell(script), "test"))
    assert result.attestation["backend"] == "seatbelt" and result.stdout == b""
    assert os.listdir(outside) == ["secret"] and sorted(os.listdir(inside)) == [".git", "made"]
    assert os.listdir(inside / ".git") == []
