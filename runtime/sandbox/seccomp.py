"""The system calls that no command gets: a deny list as classic BPF, for the two processors we know.

Namespaces, dropped capabilities and read-only mounts are the walls; this takes away the kernel
surface that a build or a test never needs, and what the walls do not cover: set-user-id bits
(they would stay on the host), terminal injection, memory that no limit counts.
"""

from __future__ import annotations

import errno
import platform
import struct
from dataclasses import dataclass

from runtime.core.errors import Unavailable
from runtime.sandbox import syscalls_alone

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x25, 0x45, 0x06
_AND = 0x54
_NUMBER, _ARCH, _ARGS = 0, 4, 16  # offsets in struct seccomp_data

_NEW_NAMESPACE = 0x7E020000  # every CLONE_NEW* that clone(2) can express
_SET_ID = 0o6000
_CREATES = 0o100 | 0o20000000  # O_CREAT and the bit of O_TMPFILE: only then open() reads its mode
_SEGMENT_BYTES = 64 << 10  # of System V memory; a kernel allows 4096 segments: 256 MiB in all
_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink: what a private network namespace contains
_PERSONALITIES = (0xFFFFFFFF, 0, 0x0040000)  # query, Linux, without address randomisation
_PUSH_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_RESERVE = (0x40305828, 0x4030582A, 0x40305839)  # FS_IOC_RESVSP, RESVSP64, ZERO_RANGE


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor: its audit number, whether it also has the x32 calls, its call numbers."""

    audit: int
    x32: bool
    numbers: dict[str, int]


# Alike on every processor.
_COMMON = {
    "pidfd_getfd": 438, "move_mount": 429, "open_tree": 428, "fsopen": 430, "fsconfig": 431,
    "fsmount": 432, "fspick": 433, "mount_setattr": 442, "open_tree_attr": 467,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "quotactl_fd": 443,
    "clone3": 435, "fchmodat2": 452, "memfd_secret": 447, "openat2": 437,
}  # fmt: skip

MACHINES = {
    "x86_64": Machine(0xC000003E, True, _COMMON | {
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
        "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272,
        "setns": 308, "keyctl": 250, "add_key": 248, "request_key": 249, "bpf": 321,
        "perf_event_open": 298, "userfaultfd": 323, "kexec_load": 246, "kexec_file_load": 320,
        "init_module": 175, "finit_module": 313, "delete_module": 176, "reboot": 169,
        "swapon": 167, "swapoff": 168, "acct": 163, "quotactl": 179, "settimeofday": 164,
        "clock_settime": 227, "adjtimex": 159, "clock_adjtime": 305, "syslog": 103,
        "vhangup": 153, "open_by_handle_at": 304, "name_to_handle_at": 303, "fanotify_init": 300,
        "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "modify_ldt": 154,
        "uselib": 134, "_sysctl": 156, "lookup_dcookie": 212, "nfsservctl": 180,
        "clone": 56, "personality": 135, "ioctl": 16, "socket": 41, "shmget": 29,
        "chmod": 90, "fchmod": 91, "fchmodat": 268, "mknod": 133, "mknodat": 259,
        "open": 2, "creat": 85, "openat": 257, "memfd_create": 319, "fallocate": 285,
    }),
    "aarch64": Machine(0xC00000B7, False, _COMMON | {
        "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
        "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97,
        "setns": 268, "keyctl": 219, "add_key": 217, "request_key": 218, "bpf": 280,
        "perf_event_open": 241, "userfaultfd": 282, "kexec_load": 104, "kexec_file_load": 294,
        "init_module": 105, "finit_module": 273, "delete_module": 106, "reboot": 142,
        "swapon": 224, "swapoff": 225, "acct": 89, "quotactl": 60, "settimeofday": 170,
        "clock_settime": 112, "adjtimex": 171, "clock_adjtime": 266, "syslog": 116,
        "vhangup": 58, "open_by_handle_at": 265, "name_to_handle_at": 264, "fanotify_init": 262,
        "sethostname": 161, "setdomainname": 162, "lookup_dcookie": 18, "nfsservctl": 42,
        "clone": 220, "personality": 92, "ioctl": 29, "socket": 198, "shmget": 194,
        "fchmod": 52, "fchmodat": 53, "mknodat": 33, "openat": 56, "memfd_create": 279,
        "fallocate": 47,
    }),
}  # fmt: skip

_MODE_ARGUMENT = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mknod": 1, "mknodat": 2,
                  "creat": 1}  # fmt: skip
_OPENERS = {"open": (1, 2), "openat": (2, 3)}  # where flags and mode are
_ABSENT = ("clone3", "memfd_create", "memfd_secret", "openat2")  # callers know how to do without
_UNSUPPORTED = ("fallocate",)  # disk that no account of written bytes shows; callers write instead
_JUDGED_BY_ARGUMENT = {"clone", "personality", "ioctl", "socket", "shmget", *_MODE_ARGUMENT,
                       *_OPENERS}  # fmt: skip


_Step = tuple[int, int, int, int]  # operation, jump if true, jump if false, value


class _Program:
    """Instructions in order. The number of the call is in the accumulator between rules."""

    def __init__(self) -> None:
        self.code: list[_Step] = []

    def add(self, code: int, value: int, yes: int = 0, no: int = 0) -> None:
        self.code.append((code, yes, no, value))

    def deny(self, number: int, error: int = errno.EPERM) -> None:
        """The call fails whatever its arguments are."""
        self.add(_EQUAL, number, 0, 1)
        self.add(_RETURN, ERRNO | error)

    def judge(self, number: int, tests: list[_Step]) -> None:
        """The call is decided by `tests`; they end in returns, so nothing after sees it."""
        self.add(_EQUAL, number, 0, len(tests))
        self.code += tests


def build(machine: str | None = None, *, alone: bool = False) -> bytes:
    """The filter for a processor (default: this one), as `struct sock_filter[]`.

    `alone`: the stricter one, for commands that no namespace separates from the machine: no
    sockets but connected pairs, no System V objects, no hand on other processes.
    Raises Unavailable for a processor without a table: nothing runs unfiltered.
    """
    name = machine or platform.machine()
    if name not in MACHINES:
        raise Unavailable(
            f"There is no system call filter for the processor {name!r}.",
            remedy=f"Run on one of {', '.join(sorted(MACHINES))}.",
        )
    kind = MACHINES[name]
    rules = {call: _rule(call) for call in kind.numbers}
    numbers = dict(kind.numbers)
    if alone:
        numbers |= syscalls_alone.NUMBERS[name]
        rules |= {call: _rule_alone(call) for call in syscalls_alone.NUMBERS[name]}
        rules |= dict.fromkeys(("socket", "shmget"), errno.EPERM)
    program = _Program()
    program.add(_LOAD, _ARCH)
    program.add(_EQUAL, kind.audit, 1, 0)
    program.add(_RETURN, KILL)  # a 32-bit call on a 64-bit kernel has other numbers
    program.add(_LOAD, _NUMBER)
    if kind.x32:
        program.add(_AT_LEAST, 0x40000000, 0, 1)
        program.add(_RETURN, ERRNO | errno.ENOSYS)
    for call, number in numbers.items():
        rule = rules[call]
        if isinstance(rule, int):
            program.deny(number, rule)
    for call, number in numbers.items():
        rule = rules[call]
        if not isinstance(rule, int):
            program.judge(number, rule)
    program.add(_RETURN, ALLOW)
    return b"".join(struct.pack("=HBBI", *step) for step in program.code)


def _rule(call: str) -> int | list[_Step]:
    """The error of a call that always fails, or how its arguments decide."""
    if call in _ABSENT:
        return errno.ENOSYS
    if call in _UNSUPPORTED:
        return errno.EOPNOTSUPP
    return _tests(call) if call in _JUDGED_BY_ARGUMENT else errno.EPERM


def _rule_alone(call: str) -> int | list[_Step]:
    refuse, allow = (_RETURN, 0, 0, ERRNO | errno.EPERM), (_RETURN, 0, 0, ALLOW)
    if call in syscalls_alone.ABSENT:
        return errno.ENOSYS
    if call in syscalls_alone.ONLY_ITSELF:
        return [_argument(0), (_EQUAL, 0, 1, 0), allow, refuse]
    if call == "setpriority":  # of one process, and that oneself; not of all of an account
        return [_argument(0), (_EQUAL, 0, 3, 0), _argument(1), (_EQUAL, 0, 1, 0), allow, refuse]
    if call == "socketpair":  # unix; a connected kind, which cannot be connected anew
        return [_argument(0), (_EQUAL, 0, 4, 1), _argument(1), (_AND, 0, 0, 15),
                *_any_of((1, 5), allow, refuse)]  # fmt: skip
    return errno.EPERM


def _tests(call: str) -> list[_Step]:
    """How the arguments decide. Only their low 32 bits count: the kernel, too, drops the rest."""
    refuse, allow = (_RETURN, 0, 0, ERRNO | errno.EPERM), (_RETURN, 0, 0, ALLOW)
    if call == "clone":
        return [_argument(0), (_ANY_BIT, 0, 1, _NEW_NAMESPACE), refuse, allow]
    if call in _MODE_ARGUMENT:
        return [_argument(_MODE_ARGUMENT[call]), (_ANY_BIT, 0, 1, _SET_ID), refuse, allow]
    if call in _OPENERS:
        flags, mode = _OPENERS[call]
        return [_argument(flags), (_ANY_BIT, 0, 3, _CREATES),
                _argument(mode), (_ANY_BIT, 0, 1, _SET_ID), refuse, allow]  # fmt: skip
    if call == "shmget":  # the size is 64 bits wide: both halves
        return [(_LOAD, 0, 0, _ARGS + 8 + 4), (_GREATER, 2, 0, 0),
                _argument(1), (_GREATER, 0, 1, _SEGMENT_BYTES), refuse, allow]  # fmt: skip
    if call == "ioctl":
        return [_argument(1), *_any_of(_PUSH_INPUT + _RESERVE, refuse, allow)]
    if call == "personality":
        return [_argument(0), *_any_of(_PERSONALITIES, allow, refuse)]
    if call == "socket":
        return [_argument(0), *_any_of(_FAMILIES, allow, refuse)]
    raise KeyError(call)


def _argument(index: int) -> _Step:
    return (_LOAD, 0, 0, _ARGS + 8 * index)


def _any_of(values: tuple[int, ...], then: _Step, other: _Step) -> list[_Step]:
    """`then` if the accumulator is one of the values, else `other`."""
    jumps = [(_EQUAL, len(values) - n, 0, value) for n, value in enumerate(values)]
    return [*jumps, other, then]
