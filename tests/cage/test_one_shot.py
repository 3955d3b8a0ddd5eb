"""An operator's command in a directory as it is. Run as root and as an ordinary user alike."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from cage_making import Hall

from runtime.core.commands import Exec, Shell
from runtime.core.errors import BadInput, NotFound
from runtime.policy.authorised import Authorised, by_operator
from runtime.sandbox import OneShot, run_one


@contextmanager
def folder(hall: Hall, *made: str) -> Iterator[str]:
    """A directory of the run's account, below one that only its owner may pass."""
    where = tempfile.mkdtemp(prefix="m31a-shot-", dir=hall.base)
    for name in made:
        os.makedirs(f"{where}/{name}")
    give(hall, where)
    try:
        yield where
    finally:
        shutil.rmtree(where)


def give(hall: Hall, where: str) -> None:
    if hall.uid is not None:
        for at, _, files in os.walk(where):
            for name in ("", *files):
                os.lchown(os.path.join(at, name), hall.uid, hall.uid)


def script(text: str) -> Authorised[Shell]:
    return by_operator(Shell(text), "test")


def test_it_runs_in_the_directory_at_its_own_path(hall: Hall) -> None:
    with folder(hall) as where:
        before = os.stat(where).st_uid
        result = run_one(where, script("pwd; echo x > made; python3 -c 'print(1)'"))
        assert result.text() == f"{where}\n1\n", result
        assert os.stat(f"{where}/made").st_uid == os.stat(where).st_uid == before != 0
        absolute = run_one(where, by_operator(Exec("/bin/echo", ("hi",)), "test"))
        assert absolute.stdout == b"hi\n"
        report = absolute.report()
        assert report["status"] == 0 and report["stdout"] == "hi\n" and report["limit"] is None
        assert isinstance(report["sandbox"], dict)


def test_a_real_git_directory_is_read_only(hall: Hall) -> None:
    with folder(hall, ".git/hooks") as where:
        with OneShot(where) as shot:
            shot.run(
                script("echo x > .git/hooks/pre-commit; rm -rf .git; mv .git g; echo y > free")
            )
            shot.run(script("touch .git/config; ln -sfn /tmp .git/hooks/x"))
        assert os.listdir(f"{where}/.git/hooks") == [] and os.listdir(f"{where}/.git") == ["hooks"]
        assert os.path.exists(f"{where}/free")


def test_a_socket_that_was_there_is_covered(hall: Hall) -> None:
    connect = (
        "import socket\nfor at in ('s', 'deep/er/s'):\n s = socket.socket(1)\n"
        " try: s.connect(at); print('reached')\n except OSError: print('refused')"
    )
    with (
        folder(hall, "deep/er") as where,
        socket.socket(socket.AF_UNIX) as one,
        socket.socket(socket.AF_UNIX) as two,
    ):
        for listener, name in ((one, "s"), (two, "deep/er/s")):
            listener.bind(f"{where}/{name}")
            listener.listen()
        give(hall, where)
        ask = by_operator(Exec("python3", ("-I", "-c", connect)), "test")
        assert run_one(where, ask).stdout == b"refused\nrefused\n"


def test_a_covered_path_that_became_a_link_is_not_followed_on_the_host(hall: Hall) -> None:
    """bubblewrap makes missing mount points, through links, outside of the cage."""
    with folder(hall, "deep") as where, folder(hall) as other, socket.socket(socket.AF_UNIX) as one:
        one.bind(f"{where}/deep/s")
        one.listen()
        give(hall, where)
        with OneShot(where) as shot:
            moved = shot.run(script(f"mv deep old && ln -s /oldroot{other} deep && echo ok"))
            assert moved.stdout == b"ok\n"
            assert shot.run(script("true")).ok
        assert os.listdir(other) == []


def test_directories_deeper_than_a_path_and_those_nobody_may_read(hall: Hall) -> None:
    deep = "import os\nfor _ in range(500):\n os.mkdir('deeper__'); os.chdir('deeper__')"
    with folder(hall) as where:
        assert run_one(where, by_operator(Exec("python3", ("-I", "-c", deep)), "test")).ok
        assert run_one(where, script("mkdir shut && chmod 0 shut && mkfifo p && ln -s . loop")).ok
        closed = os.geteuid() != 0  # root reads it all the same
        try:
            assert run_one(where, script("true")).ok and not closed
        except BadInput as error:
            assert closed and "shut" in str(error)
        os.chmod(f"{where}/shut", 0o700)
        subprocess.run(["rm", "-rf", f"{where}/deeper__"], check=True)


def test_lines_share_one_broker(hall: Hall) -> None:
    with folder(hall) as where, OneShot(where) as shot:
        results = [shot.run(script("echo $PPID; echo x >> f; wc -l < f")) for _ in range(3)]
        assert [result.text().split()[-1] for result in results] == ["1", "2", "3"]


def test_what_is_no_directory_or_roots_own_is_refused(hall: Hall) -> None:
    for name, kind in (("/no/such", NotFound), (hall.secret, BadInput)):
        try:
            run_one(name, script("true"))
        except kind:
            continue
        raise AssertionError(name)
    if os.geteuid() == 0:
        with tempfile.TemporaryDirectory() as where:
            try:
                run_one(where, script("true"))
            except BadInput as error:
                assert "chown" in str(error) and error.exit_code == 2
            else:
                raise AssertionError("ran in a directory of root's")
            assert os.stat(where).st_uid == 0
