"""What stands in the way of confinement on the machines that people have, and what is said about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cage_making import Hall

from runtime.core.commands import Shell
from runtime.core.errors import Unavailable
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage, check, surroundings

MATRIX = {
    "Ubuntu 24.04, loopback": (
        "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "bwrap-userns-restrict"),
    "Ubuntu 24.04, id map": (
        "bwrap: setting up uid map: Permission denied", "bwrap-userns-restrict"),
    "Docker's and Kubernetes' seccomp profile": (
        "bwrap: No permissions to create new namespace, likely because the kernel does not allow"
        " non-privileged user namespaces. See <https://deb.li/bubblewrap> or"
        " <file:///usr/share/doc/bubblewrap/README.Debian.gz>.", "unshare, clone and mount"),
    "Docker as root": (
        "bwrap: Creating new namespace failed: Operation not permitted", "seccomp profile"),
    "Docker with a masked /proc": (
        "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
        "systempaths=unconfined"),
    "hardened RHEL": (
        "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces"
        " exceeded (ENOSPC)", "user.max_user_namespaces"),
    "old Debian": (
        "bwrap: No permissions to create new namespace", "kernel.unprivileged_userns_clone=1"),
    "Fedora's SELinux in a container": (
        "bwrap: Failed to mount tmpfs: Permission denied", "label=disable"),
    "WSL 1": ("bwrap: Creating new namespace failed: Invalid argument", "WSL 2"),
    "a reduced kernel": ("bwrap: Creating new namespace failed: Function not implemented", "kernel"),
    "an account with too many processes": (
        "bwrap: Creating new namespace failed: Resource temporarily unavailable", "LimitNPROC"),
    "an old bubblewrap": ("bwrap: Unknown option --disable-userns", "0.8.0 or newer"),
}  # fmt: skip


def fake(hall: Hall, said: str) -> str:
    """A bubblewrap that says this and gives up."""
    path = f"{hall.base}/bwrap-{abs(hash(said))}"
    Path(path).write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo bubblewrap 0.11.0; exit; }\n'
        f"cat >&2 <<'END'\n{said}\nEND\nexit 1\n"
    )
    os.chmod(path, 0o755)
    return path


@pytest.mark.parametrize("machine", MATRIX)
def test_F35_each_machine_gets_one_diagnosis_with_its_remedy(
    hall: Hall, monkeypatch: pytest.MonkeyPatch, machine: str
) -> None:
    said, remedy = MATRIX[machine]
    monkeypatch.setenv("M31A_BWRAP", fake(hall, said))
    finding = check()
    assert not finding.ok and finding.backend == "none"
    assert said.partition("\n")[0][:60] in finding.detail and remedy in finding.remedy
    with Cage(hall.spec()) as cage:
        for _ in range(3):
            with pytest.raises(Unavailable) as error:
                cage.run(by_operator(Shell("echo x > ran"), "test"))
            assert remedy in str(error.value)
    assert not os.path.exists(f"{hall.tree}/ran")


def _machine(tmp_path: Path, **files: str) -> str:
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("files", "words", "remedy"),
    [
        ({}, "a machine of its own", ""),
        ({"proc__sys__kernel__osrelease": "5.15.90.1-microsoft-standard-WSL2\n"}, "WSL 2", ""),
        ({"proc__sys__kernel__osrelease": "4.4.0-19041-Microsoft\n"}, "WSL 1", "set-version"),
        ({".dockerenv": ""}, "Docker", ""),
        ({"run__.containerenv": ""}, "Podman", ""),
        ({"proc__self__cgroup": "0::/kubepods/besteffort/pod1\n"}, "Kubernetes", ""),
        ({"proc__version": "Linux version 4.4.0 gVisor"}, "gVisor", ""),
        ({"proc__sys__kernel__apparmor_restrict_unprivileged_userns": "1\n"}, "AppArmor",
         "bwrap-userns-restrict"),
        ({"proc__sys__kernel__apparmor_restrict_unprivileged_userns": "1\n",
          "etc__apparmor.d__bwrap-userns-restrict": ""}, "AppArmor", ""),
        ({"proc__sys__kernel__unprivileged_userns_clone": "0\n"}, "switched off", "userns_clone=1"),
        ({"proc__sys__user__max_user_namespaces": "0\n"}, "no user namespace", "10000"),
    ],
)  # fmt: skip
def test_the_surroundings_are_recognised(
    tmp_path: Path, files: dict[str, str], words: str, remedy: str
) -> None:
    found = surroundings.look(_machine(tmp_path, **files))
    assert words in found.words
    assert remedy in found.remedy and bool(remedy) == bool(found.remedy)


def test_this_machine_is_looked_at() -> None:
    assert surroundings.look().words
