"""A listening socket inside a command's own network, handed to the server before the command starts.

No process of the server's stays in there: a forked helper enters the namespaces of the command's
first process, makes the socket, passes it on and ends. Part of the broker's process: standard
library only.
"""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import os
import signal
import socket

from runtime.sandbox import privileges
from runtime.sandbox.wire import LISTENER, PROXY_PORT

TYPE_CHECKING = False  # see broker.py
if TYPE_CHECKING:
    from typing import NoReturn

_OWNER = 0xB701  # NS_GET_USERNS
_NEW_USERS, _NEW_NETWORK = privileges.NEW_USERS, 0x40000000
_FREE_BIND = 15  # the loopback device may not be up yet
_BACKLOG = 64
_SECONDS = 5  # after which a helper that hangs is ended


def listen(first: int, control: int) -> None:
    """Make the socket in the network of process `first`, and send it over `control`.

    Raises OSError where the namespaces cannot be entered.
    """
    helper = os.fork()
    if helper == 0:
        _help(first, control)
    status = os.waitpid(helper, 0)[1]
    if status != 0:
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else errno.ETIMEDOUT
        raise OSError(code, f"its network cannot be entered: {os.strerror(code)}")


def _help(first: int, control: int) -> NoReturn:
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_SECONDS)
        _enter(first)
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.IPPROTO_IP, _FREE_BIND, 1)
        made.bind(("127.0.0.1", PROXY_PORT))
        made.listen(_BACKLOG)
        rights = array.array("i", [made.fileno()]).tobytes()
        to = socket.socket(fileno=control)
        to.sendmsg([LISTENER], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        code = 0
    except OSError as error:
        code = error.errno or 1
    finally:
        os._exit(code)


def _enter(first: int) -> None:
    """The network's owner is the command's outer user namespace, which its own account made."""
    network = os.open(f"/proc/{first}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    users = fcntl.ioctl(network, _OWNER)
    for what, fd, kind in (("users", users, _NEW_USERS), ("network", network, _NEW_NETWORK)):
        privileges.must(what, privileges.libc.setns(ctypes.c_int(fd), ctypes.c_int(kind)))
