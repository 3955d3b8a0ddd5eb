"""Landlock by its three system calls: what a process and its children may do to files, TCP and others.

A rule holds for a directory with all below it and adds to those above; nothing can be taken away
again further down. Not restricted at all by the kernel: looking at names, sizes and links, changing
mode, owner, times and extended attributes, sockets other than TCP. Part of the broker's process:
standard library only.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct

CREATE, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # alike on every processor
OLDEST = 6  # the first with bounds for signals and abstract sockets; without them nothing is run

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE = 1 << 4, 1 << 5
MAKE_CHARACTER, MAKE_FOLDER, MAKE_FILE, MAKE_SOCKET = 1 << 6, 1 << 7, 1 << 8, 1 << 9
MAKE_PIPE, MAKE_BLOCK, MAKE_LINK = 1 << 10, 1 << 11, 1 << 12
REFER, TRUNCATE, DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
EVERYTHING = (1 << 16) - 1  # up to ABI 5; later ones have added none
BIND_TCP, CONNECT_TCP = 1, 2
ABSTRACT_SOCKETS, SIGNALS = 1, 2
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_CONTROL

READ = EXECUTE | READ_FILE | READ_DIR
LOOK = READ_FILE | READ_DIR
USE = READ_FILE | WRITE_FILE | TRUNCATE | DEVICE_CONTROL
CHANGE = EVERYTHING & ~(MAKE_CHARACTER | MAKE_BLOCK | MAKE_SOCKET | DEVICE_CONTROL)

_RULESET = struct.Struct("=QQQ")  # handled: files, network; scoped
_BENEATH = struct.Struct("=Qi")  # packed: 12 bytes
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def version() -> int:
    """The kernel's ABI version, 0 where there is no Landlock or it is switched off."""
    return max(0, int(_libc.syscall(ctypes.c_long(CREATE), None, ctypes.c_size_t(0), _u32(1))))


def ruleset(rows: list[tuple[bytes, int]]) -> int:
    """A descriptor of rules: for each path the rights below it, everything else denied; no TCP, no
    signals and no abstract sockets beyond the processes that are restricted together.

    A path that does not exist gets no rule. Raises OSError where the kernel refuses or is too old.
    """
    if version() < OLDEST:
        raise OSError(95, f"Landlock {version()} is too old, {OLDEST} is needed")
    attributes = _RULESET.pack(EVERYTHING, BIND_TCP | CONNECT_TCP, ABSTRACT_SOCKETS | SIGNALS)
    made = _must("create", CREATE, attributes, ctypes.c_size_t(len(attributes)), _u32(0))
    for path, rights in rows:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                rights &= _OF_FILES
            rule = _BENEATH.pack(rights, fd)
            _must("add", ADD_RULE, ctypes.c_int(made), ctypes.c_int(1), rule, _u32(0))
        finally:
            os.close(fd)
    return made


def restrict(made: int) -> None:
    """From now on, for good, and for everything that this process starts. Raises OSError."""
    _must("restrict", RESTRICT_SELF, ctypes.c_int(made), _u32(0))


def _must(what: str, number: int, *words: object) -> int:
    """The result alone decides: the C library's error may be an old one."""
    result = int(_libc.syscall(ctypes.c_long(number), *words))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock ({what}): {os.strerror(code)}")
    return result


def _u32(value: int) -> ctypes.c_uint32:
    return ctypes.c_uint32(value)
