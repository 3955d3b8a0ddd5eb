"""The system call filter, judged by a small machine that executes it."""

from __future__ import annotations

import errno
import struct

import pytest

from runtime.core.errors import Unavailable
from runtime.sandbox import seccomp, syscalls_alone
from runtime.sandbox.seccomp import ALLOW, ERRNO, KILL, MACHINES

EPERM, ENOSYS = ERRNO | errno.EPERM, ERRNO | errno.ENOSYS
BOTH = pytest.mark.parametrize("machine", sorted(MACHINES))


def verdict(
    machine: str, call: str | int, *args: int, audit: int | None = None, alone: bool = False
) -> int:
    """What the filter returns for one call, with 64-bit arguments."""
    kind = MACHINES[machine]
    known = kind.numbers | syscalls_alone.NUMBERS[machine]
    number = known[call] if isinstance(call, str) else call
    six = (*args, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<IIQ6Q", number, kind.audit if audit is None else audit, 0, *six)
    code = list(struct.iter_unpack("=HBBI", seccomp.build(machine, alone=alone)))
    at = held = 0
    while True:
        operation, yes, no, value = code[at]
        at += 1
        if operation == 0x20:
            (held,) = struct.unpack_from("<I", data, value)
        elif operation == 0x06:
            return int(value)
        elif operation == 0x54:
            held &= value
        else:
            true = {
                0x15: held == value,
                0x35: held >= value,
                0x25: held > value,
                0x45: bool(held & value),
            }
            at += yes if true[operation] else no


@BOTH
def test_ordinary_calls_pass(machine: str) -> None:
    assert verdict(machine, 999) == ALLOW
    assert verdict(machine, 0) == ALLOW
    assert verdict(machine, "clone", 0x01200011) == ALLOW  # fork
    assert verdict(machine, "clone", 0x003D0F00) == ALLOW  # a thread
    assert verdict(machine, "openat", 0, 0, 0o101, 0o644) == ALLOW


@BOTH
@pytest.mark.parametrize(
    "call",
    ["mount", "unshare", "setns", "ptrace", "bpf", "keyctl", "io_uring_setup", "userfaultfd",
     "open_by_handle_at", "perf_event_open", "kexec_load", "pidfd_getfd", "move_mount", "chroot"],
)  # fmt: skip
def test_dangerous_calls_are_refused(machine: str, call: str) -> None:
    assert verdict(machine, call, 1, 2, 3) == EPERM


@BOTH
@pytest.mark.parametrize("call", ["clone3", "openat2", "memfd_create", "memfd_secret"])
def test_what_arguments_cannot_be_seen_of_looks_absent(machine: str, call: str) -> None:
    assert verdict(machine, call) == ENOSYS


@BOTH
def test_disk_cannot_be_reserved_past_the_account_of_written_bytes(machine: str) -> None:
    assert verdict(machine, "fallocate", 3, 0, 0, 1 << 30) == ERRNO | errno.EOPNOTSUPP
    for request in (0x40305828, 0x4030582A, 0x40305839):
        assert verdict(machine, "ioctl", 3, request) == EPERM


@BOTH
@pytest.mark.parametrize("flag", [1 << n for n in (17, 25, 26, 27, 28, 29, 30)])
def test_no_new_namespace_by_clone(machine: str, flag: int) -> None:
    assert verdict(machine, "clone", flag | 17) == EPERM


@BOTH
def test_no_set_id_bit_by_any_call(machine: str) -> None:
    numbers = MACHINES[machine].numbers
    for call, position in {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mknod": 1,
                           "mknodat": 2, "creat": 1}.items():  # fmt: skip
        if call in numbers:
            for mode, expected in ((0o755, ALLOW), (0o4755, EPERM), (0o2755, EPERM)):
                args = [0, 0, 0, 0]
                args[position] = mode
                assert verdict(machine, call, *args) == expected, call
    assert verdict(machine, "openat", 0, 0, 0o100, 0o4755) == EPERM
    assert verdict(machine, "openat", 0, 0, 0o20200000, 0o4755) == EPERM
    assert verdict(machine, "openat", 0, 0, 0, 0o4755) == ALLOW  # no mode is read


@BOTH
def test_high_halves_of_arguments_change_nothing(machine: str) -> None:
    high = 1 << 32
    assert verdict(machine, "ioctl", 0, high | 0x5412) == EPERM  # the kernel drops it, too
    assert verdict(machine, "clone", high | 0x10000000) == EPERM
    assert verdict(machine, "shmget", 0, high) == EPERM  # a size: here it counts


@BOTH
def test_arguments_decide(machine: str) -> None:
    for request in (0x5412, 0x541C):
        assert verdict(machine, "ioctl", 0, request) == EPERM
    assert verdict(machine, "ioctl", 0, 0x5401) == ALLOW
    assert [verdict(machine, "socket", family) for family in (1, 2, 10, 16)] == [ALLOW] * 4
    assert {verdict(machine, "socket", family) for family in (0, 17, 38, 40, 44)} == {EPERM}
    assert verdict(machine, "personality", 0xFFFFFFFF) == ALLOW
    assert verdict(machine, "personality", 0x0400000) == EPERM  # READ_IMPLIES_EXEC
    assert verdict(machine, "shmget", 0, 64 << 10) == ALLOW
    assert verdict(machine, "shmget", 0, (64 << 10) + 1) == EPERM


@BOTH
def test_other_kinds_of_call_numbers(machine: str) -> None:
    assert verdict(machine, 0, audit=0x40000003) == KILL  # i386
    if machine == "x86_64":
        assert verdict(machine, 0x40000000 | 165) == ENOSYS  # x32


@BOTH
def test_without_namespaces_nobody_else_is_reached(machine: str) -> None:
    def alone(call: str, *args: int) -> int:
        return verdict(machine, call, *args, alone=True)

    assert {alone("socket", family) for family in range(46)} == {EPERM}
    for call in ("connect", "bind", "listen", "accept4", "shmget", "shmat", "semget", "msgget",
                 "mq_open", "ioprio_set", "move_pages", "process_madvise"):  # fmt: skip
        assert alone(call, 0, 0, 0) == EPERM, call
    assert alone("inotify_add_watch") == ENOSYS
    assert alone("prlimit64", 0) == alone("sched_setaffinity", 0) == ALLOW
    assert alone("prlimit64", 4711) == alone("sched_setaffinity", 4711) == EPERM
    assert alone("setpriority", 0, 0, 5) == ALLOW
    assert {alone("setpriority", 0, 7), alone("setpriority", 1, 0), alone("setpriority", 2, 0)} == {
        EPERM
    }


@BOTH
def test_without_namespaces_only_connected_pairs_of_sockets(machine: str) -> None:
    flags = 0o2000000 | 0o4000  # close on exec, non-blocking
    answers = {
        (family, kind): verdict(machine, "socketpair", family, kind | flags, alone=True)
        for family in (0, 1, 2, 16)
        for kind in range(7)
    }
    allowed = {pair for pair, answer in answers.items() if answer == ALLOW}
    assert allowed == {(1, 1), (1, 5)} and set(answers.values()) == {ALLOW, EPERM}


@BOTH
def test_the_stricter_filter_refuses_whatever_the_other_refuses(machine: str) -> None:
    for call in MACHINES[machine].numbers:
        for args in ((), (1 << 28, 0o4755, 0o4755, 0o4755), (17, 0x5412, 0o100)):
            if verdict(machine, call, *args) != ALLOW:
                assert verdict(machine, call, *args, alone=True) != ALLOW, (call, args)
    assert verdict(machine, 0, alone=True) == verdict(machine, 999, alone=True) == ALLOW
    assert verdict(machine, 0, audit=0x40000003, alone=True) == KILL


def test_both_processors_refuse_the_same() -> None:
    only_old = {
        "open",
        "creat",
        "chmod",
        "mknod",
        "iopl",
        "ioperm",
        "modify_ldt",
        "uselib",
        "_sysctl",
    }
    x86, arm = (set(MACHINES[name].numbers) for name in ("x86_64", "aarch64"))
    assert x86 - arm == only_old and not arm - x86
    x86, arm = (set(syscalls_alone.NUMBERS[name]) for name in ("x86_64", "aarch64"))
    assert x86 - arm == {"inotify_init"} and not arm - x86


def test_an_unknown_processor_is_refused() -> None:
    with pytest.raises(Unavailable, match="mips"):
        seccomp.build("mips")


def test_it_fits_into_a_pipe_and_jumps_stay_inside() -> None:
    for machine, alone in ((name, alone) for name in MACHINES for alone in (False, True)):
        code = list(struct.iter_unpack("=HBBI", seccomp.build(machine, alone=alone)))
        assert len(code) * 8 < 4096
        for at, (operation, yes, no, _) in enumerate(code):
            assert operation in (0x20, 0x06, 0x54) or at + 1 + max(yes, no) < len(code)
