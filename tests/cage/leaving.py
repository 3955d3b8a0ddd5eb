"""Ways in which a command leaves something that is neither a process nor a plain file."""

from __future__ import annotations

from typing import Any

from sessions import is_kept, stands

from runtime.core.commands import Exec, Shell
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage, Result

CALLS = (
    "import array, ctypes, fcntl, os, socket as s, struct, time; call = ctypes.CDLL(None).syscall\n"
)
NUMBERS = (
    "ioprio_set, sched_setattr = (251, 314) if os.uname().machine == 'x86_64' else (30, 274)\n"
)
# Two sockets in each other's queue: what lies there beside them lives until the kernel looks.
CYCLE = (
    "a, b = s.socketpair()\n"
    "def leave(*fds):\n"
    "    fds = array.array('i', [*fds, a.fileno(), b.fileno()]).tobytes()\n"
    "    for one in (a, b): one.sendmsg([b'x'], [(s.SOL_SOCKET, s.SCM_RIGHTS, fds)])\n"
)
LABEL = "struct.pack('=16s4sBBHHHI', bytes(15) + b'1', bytes([0, 1, 2, 3]), 0, 255, 1, 59, 59, 0)"
LEFT = {
    "a priority for the disk": "assert call(ioprio_set, 1, 1, 3 << 13) == 0",
    "a slice of the processor": (
        "new = struct.pack('=IIQiIQQQII', 56, 0, 0, 0, 0, 100000000, 0, 0, 0, 0)\n"
        "assert call(sched_setattr, 1, new, 0) == 0"
    ),
    "a nice value of the session": "open('/proc/self/autogroup', 'w').write('5')",
    "a label of flows": f"s.socket(s.AF_INET6, s.SOCK_DGRAM).setsockopt(41, 32, {LABEL})",
    "a terminal in a message": (
        "m = os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)\n"
        "fcntl.ioctl(m, 0x40045431, struct.pack('i', 0)); os.write(m, b'secret\\n'); leave(m)"
    ),
    "a server in a message": "leave(s.create_server(('127.0.0.1', 8080)).detach())",
    "a name in a message": "n = s.socket(s.AF_UNIX); n.bind('\\0name'); n.listen(); leave(n.detach())",
    "room in a message": (
        "f = os.open('/tmp', os.O_TMPFILE | os.O_RDWR, 0o600); os.write(f, bytes(1 << 24)); leave(f)"
    ),
    "rights of all terminals": "os.chmod('/dev/pts', 0)",
}  # fmt: skip
SENDS = (
    "t = s.socket(s.AF_UNIX)\n"
    "while t.connect_ex('meet'): time.sleep(0.01)\n"
    "at = os.open('/tmp', os.O_RDONLY)\n"
    "t.sendmsg([b'x'], [(s.SOL_SOCKET, s.SCM_RIGHTS, array.array('i', [at]).tobytes())]); t.recv(1)"
)
WRITES = (
    "t = s.socket(s.AF_UNIX)\n"
    "if os.path.lexists('meet'): os.unlink('meet')\n"
    "t.bind('meet'); t.listen(); t = t.accept()[0]\n"
    "at = array.array('i', t.recvmsg(1, 100)[1][0][2])[0]; t.close(); time.sleep(0.15)\n"
    "os.close(os.open('evil', os.O_CREAT | os.O_WRONLY, dir_fd=at)); time.sleep(0.5)"
)


def python(cage: Cage, code: str, **options: Any) -> Result:
    """A piece of Python, with all that it takes to be rude."""
    words = ("-I", "-S", "-c", CALLS + NUMBERS + CYCLE + code)
    return cage.run(by_operator(Exec("python3", words), "test"), **options)


_SEEN = "cut -d' ' -f22 /proc/1/stat; head -n 1 /proc/net/sockstat; stat -f -c %f /tmp"


def left_behind(cage: Cage, way: str) -> tuple[Result, bool]:
    """Leave something in a kept session. Returns how that went and whether the next command is free
    of it: in other namespaces, or, since what lives in messages is gone as soon as the kernel looks
    (any closed socket of the machine may bring that about), in the same with nothing there."""
    stands(cage)
    for _ in range(50):  # a neighbour's end may just be on its way
        before = _seen(cage)
        if before == _seen(cage):
            break
    left = python(cage, LEFT[way])
    assert is_kept(left), left
    after = _seen(cage)
    return left, before[0] != after[0] or ("message" in way and before == after)


def _seen(cage: Cage) -> list[str]:
    """Which namespaces, how many sockets live there, how much room there is."""
    return cage.run(by_operator(Shell(_SEEN), "test")).text().splitlines()
