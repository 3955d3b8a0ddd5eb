"""What a command must not reach. Run as root and as an ordinary user alike.

Each probe tries in earnest; what counts is what is found outside, not how the attempt failed.
"""

from __future__ import annotations

import os
import resource
import shutil
import socket
import uuid

from cage_making import ROOT, SECRET, Hall, alive, tag, until

PROC_SYS = "/proc/sys/kernel/core_pattern"


def test_no_shadow_and_only_the_cages_own_accounts(hall: Hall) -> None:
    seen = hall.sh("cat /etc/shadow /proc/1/root/etc/shadow /etc/gshadow; cat /etc/passwd")
    names = [line.partition(":")[0] for line in seen.text().splitlines()]
    assert names == ["root", "agent", "nobody"]


def test_no_file_of_the_host_by_path_link_or_proc(hall: Hall) -> None:
    where = hall.secret
    seen = hall.sh(
        f"cat {where}; ln -sfn {where} link; cat link; cat /proc/1/root{where};"
        f" ls -la {hall.base} {hall.outside} /root /home /var /run /srv /opt /mnt /boot /sys"
    )
    assert SECRET not in seen.text() + seen.text("stderr")
    listing = set(hall.sh("ls -A /").text().split())
    tools = {mount.target.split("/")[1] for mount in hall.cage.spec.mounts}
    system = {"bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr", "dev", "proc", "tmp"}
    assert listing <= system | tools | {"home"}
    assert set(hall.sh("ls -A /home").text().split()) == {"agent", "alice"}


def test_no_host_tmp(hall: Hall) -> None:
    name = f"/tmp/m31a-{uuid.uuid4().hex}"
    with open(name, "w", encoding="ascii") as file:
        file.write(SECRET)
    try:
        assert SECRET not in hall.sh(f"ls -A /tmp /dev/shm; cat {name}").text()
        hall.sh(f"echo x > {name}-made")
        assert not os.path.exists(f"{name}-made")
    finally:
        os.unlink(name)


def test_nothing_outside_can_be_written(hall: Hall) -> None:
    hall.sh(
        f"echo x > {hall.outside}/pwned; mkdir -p {hall.outside} && echo x > {hall.outside}/pwned;"
        f" ln -sfn {hall.outside} d; echo x > d/pwned; echo x > /usr/local/bin/m31a-pwned;"
        " echo x > /etc/m31a-pwned; echo x > /usr/lib/m31a-pwned; echo x > /m31a-pwned;"
        f" chmod 777 {hall.secret}; touch {hall.secret}; mv {ROOT} {ROOT}-moved"
    )
    assert os.listdir(hall.outside) == ["secret.txt"]
    assert not os.path.exists("/usr/local/bin/m31a-pwned") and os.path.isdir(hall.tree)
    assert not os.path.exists(f"{hall.etc}/m31a-pwned") and not os.path.exists("/etc/m31a-pwned")
    assert not os.path.exists("/m31a-pwned") and not os.path.exists("/usr/lib/m31a-pwned")


def test_the_kernels_settings_are_read_only(hall: Hall) -> None:
    with open(PROC_SYS, "rb") as file:
        before = file.read()
    hall.sh(f"echo '|/bin/false' > {PROC_SYS}; echo 1 > /proc/sysrq-trigger; echo x > /proc/1/comm")
    with open(PROC_SYS, "rb") as file:
        assert file.read() == before
    found = hall.sh("find /proc/sys /proc/irq /proc/sysrq-trigger -writable -type f 2>/dev/null")
    assert found.text() == ""


def test_no_network_but_an_own_loopback(hall: Hall) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(f"\0m31a-{uuid.uuid4().hex}")
        local.listen()
        server.setblocking(False)
        local.setblocking(False)
        name = local.getsockname()[1:].decode()
        hall.python(
            "import socket\n"
            f"for family, at in ((2, ('127.0.0.1', {server.getsockname()[1]})), (1, '\\0{name}')):\n"
            " s = socket.socket(family); s.settimeout(1)\n"
            " try: s.connect(at); s.send(b'x')\n"
            " except OSError as error: print(error)\n"
        )
        for listener in (server, local):
            try:
                listener.accept()
            except BlockingIOError:
                continue
            raise AssertionError(f"reached {listener}")
    seen = hall.sh("cat /proc/net/dev /proc/net/route").text().splitlines()
    assert [line.partition(":")[0].strip() for line in seen if ":" in line] == ["lo"]
    assert len([line for line in seen if line.startswith("Iface")]) <= 1
    kinds = hall.python(
        "import socket\nfor family in (17, 38, 40):\n"
        " try: socket.socket(family, 2 if family != 40 else 1); print('open', family)\n"
        " except OSError: pass"
    )
    assert kinds.stdout == b""


def test_no_other_process_is_seen_or_reached(hall: Hall) -> None:
    me = os.getpid()
    seen = hall.sh(
        f"cat /proc/{me}/cmdline /proc/{me}/environ; kill -9 {me}; kill -9 $PPID; kill -9 1;"
        " echo still; ls -d /proc/[0-9]* | wc -l"
    )
    words = seen.text().split()
    assert words[-2] == "still" and int(words[-1]) < 8
    assert SECRET not in seen.text()


def test_no_descriptor_is_inherited(hall: Hall) -> None:
    code = "import os; print(sorted(int(f) for f in os.listdir('/proc/self/fd')))"
    assert hall.python(code).stdout == b"[0, 1, 2, 3]\n"  # 3 is the listing itself
    assert hall.sh("readlink /proc/self/fd/0").stdout == b"/dev/null\n"
    others = hall.sh("for p in /proc/[0-9]*; do ls -l $p/fd 2>/dev/null; done").text()
    assert "socket:" not in others and hall.base not in others


def test_two_commands_at_once_do_not_hold_each_others_pipes(hall: Hall) -> None:
    import threading

    first = threading.Thread(target=lambda: hall.run("sleep", "0.5"))
    first.start()
    code = "import os; print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[3:])"
    seen = hall.python(code).text()
    first.join()
    assert seen == "[3]\n"  # the listing itself


def test_no_privileges_and_a_filter(hall: Hall) -> None:
    status = hall.sh("cat /proc/self/status").text()
    for line in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t" + "0" * 16, "CapPrm:\t" + "0" * 16,
                 "CapBnd:\t" + "0" * 16, "CapAmb:\t" + "0" * 16, "CapInh:\t" + "0" * 16,
                 "Uid:\t1000\t1000\t1000\t1000", "Gid:\t1000\t1000\t1000\t1000"):  # fmt: skip
        assert line in status
    assert "\nGroups:\t \n" in status or "\nGroups:\t65534" in status


def test_no_namespaces_no_mounts(hall: Hall) -> None:
    for attempt in ("unshare -U true", "unshare -Ur true", "unshare -m true", "unshare -Un true",
                    "mount -t tmpfs x /tmp", "mount --bind /usr /tmp", "umount -l /tmp",
                    "mount -o remount,rw,bind /usr", "chroot / true",
                    "mount -o remount,rw /"):  # fmt: skip
        assert hall.sh(attempt).status != 0, attempt
    assert hall.sh("unshare -U true").failure is None  # the program itself is there


def test_forbidden_system_calls_fail_and_allowed_ones_work(hall: Hall) -> None:
    code = """
import ctypes, errno, os, platform
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(*a):
    ctypes.set_errno(0)
    r = libc.syscall(*[ctypes.c_long(x) for x in a])
    return errno.errorcode.get(ctypes.get_errno(), "ok") if r < 0 else "ok"
X = platform.machine() == "x86_64"
print(call(425, 1, 0), call(321 if X else 280, 0, 0, 0), call(298 if X else 241, 0, 0, 0, 0, 0),
      call(323 if X else 282, 0), call(101 if X else 117, 0, 0, 0, 0), call(250 if X else 219, 0, 0),
      call(435, 0, 0), call(319 if X else 279, 0, 0), call(29 if X else 194, 0, 1 << 20, 0o1600),
      call(29 if X else 194, 0, 4096, 0o1600), call(272 if X else 97, 0x10000000))
"""
    assert hall.python(code).text().split() == [
        "EPERM", "EPERM", "EPERM", "EPERM", "EPERM", "EPERM",
        "ENOSYS", "ENOSYS", "EPERM", "ok", "EPERM",
    ]  # fmt: skip


def test_no_set_user_id_bits_and_no_devices(hall: Hall) -> None:
    hall.sh("cp /bin/true s; chmod u+s s; chmod 2755 s; mknod b b 8 0; mknod c c 1 1; mkfifo p")
    hall.python(
        "import os\nfor how in ((os.O_CREAT | os.O_WRONLY, 0o6755), (os.O_TMPFILE | os.O_RDWR, 0o4755)):\n"
        " try: os.open('o' if how[1] == 0o6755 else '.', *how)\n except OSError as e: print(e)\n"
    )
    for name in os.listdir(hall.tree):
        about = os.lstat(f"{hall.tree}/{name}")
        assert not about.st_mode & 0o6000 or os.path.isdir(f"{hall.tree}/{name}"), name
    assert not os.path.exists(f"{hall.tree}/b") and not os.path.exists(f"{hall.tree}/c")
    assert os.path.lexists(f"{hall.tree}/p")  # a pipe is not a device


def test_no_terminal(hall: Hall) -> None:
    assert hall.python("import os; os.open('/dev/tty', os.O_RDWR)").status == 1
    assert hall.python("import fcntl; fcntl.ioctl(0, 0x5412, b'x')").status == 1


def test_the_number_of_processes_is_bounded(hall: Hall) -> None:
    code = (
        "import os, time\nn = 0\ntry:\n for _ in range(400):\n"
        "  if os.fork() == 0: time.sleep(9); os._exit(0)\n  n += 1\n"
        "except BlockingIOError: pass\nprint(n)"
    )
    assert 100 < int(hall.python(code).stdout) <= 128


def test_one_process_cannot_take_all_memory(hall: Hall) -> None:
    code = (
        "import mmap\nb = []\ntry:\n"
        " for _ in range(64): b.append(mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANON))\n"
        "except OSError: print(len(b))"
    )
    assert 20 < int(hall.python(code).stdout) < 33


def test_one_file_cannot_grow_for_ever(hall: Hall) -> None:
    try:
        result = hall.sh("exec dd if=/dev/zero of=big bs=1M count=300 2>/dev/null")
        assert (result.status, result.signal, result.limit) == (None, 25, "file_bytes")
        assert os.path.getsize(f"{hall.tree}/big") == 256 << 20
    finally:
        hall.sh("rm -f big")


def test_the_private_file_systems_are_small(hall: Hall) -> None:
    for place in ("/tmp", "/dev/shm", "/home/agent"):
        assert hall.sh(f"dd if=/dev/zero of={place}/f bs=1M count=70 2>/dev/null").status != 0
    assert hall.sh("echo x > /f; echo x > /dev/f; echo x > /home/f").status != 0


def test_limits_cannot_be_raised(hall: Hall) -> None:
    assert hall.sh("ulimit -n 100000 || ulimit -u 100000 || ulimit -f unlimited").status != 0
    assert hall.sh("ulimit -n; ulimit -c").stdout.split()[0] == b"1024"


def test_the_servers_memory_stays_flat(hall: Hall) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert hall.sh("yes x | head -c 100000000").stdout_bytes == 100_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 << 10


def zombies_of(parent: int) -> list[str]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                state, ppid = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if (state, ppid) == ("Z", str(parent)):
            found.append(name)
    return found


def test_no_zombies_are_left(hall: Hall) -> None:
    mark = tag()
    for _ in range(20):
        hall.sh(f"sleep {mark} & true")
    assert alive(mark) == []
    broker = hall.cage.broker_pid
    assert broker is not None and until(lambda: not zombies_of(broker))


def test_git_reads_but_its_settings_are_the_servers(hall: Hall) -> None:
    assert shutil.which("git"), "git is needed for this test"
    seen = hall.sh(
        "rm -rf g && git init -q g && cd g && git -c user.name=x -c user.email=x@x commit -q"
        " --allow-empty -m first && git log --format=%s && git config --system core.fsmonitor"
    )
    assert seen.text().split() == ["first", "false"], seen.text("stderr")
