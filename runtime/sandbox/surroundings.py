"""What this machine is inside of, as far as that decides what can confine here."""

from __future__ import annotations

import os
from dataclasses import dataclass

_CONTAINERS = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}
_RESTRICTED = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_OLD_SWITCH = "proc/sys/kernel/unprivileged_userns_clone"
_MOST = "proc/sys/user/max_user_namespaces"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`words` for people; `remedy` where something stands in the way of namespaces."""

    words: str
    remedy: str


def look(root: str = "/") -> Surroundings:
    """Look at the files below `root` that tell it."""
    release = _read(root, "proc/sys/kernel/osrelease")
    said, remedies = [], []
    if "microsoft" in release.lower():
        modern = "wsl2" in release.lower() or "microsoft-standard" in release.lower()
        said.append("WSL 2" if modern else "WSL 1")
        if modern:
            said.append("Windows is out of a command's reach: no /run, no vsock")
        else:
            remedies.append("WSL 1 has no namespaces: convert it with wsl --set-version NAME 2.")
    if "gvisor" in _read(root, "proc/version").lower():
        said.append("gVisor, which has no Landlock to fall back to")
    for path, name in _CONTAINERS.items():
        if os.path.exists(os.path.join(root, path.lstrip("/"))):
            said.append(f"a {name} container")
    if "kubepods" in _read(root, "proc/self/cgroup") or os.path.exists(
        os.path.join(root, "var/run/secrets/kubernetes.io")
    ):
        said.append("a pod of Kubernetes")
    if _read(root, _RESTRICTED) == "1":
        said.append("user namespaces are restricted by AppArmor (Ubuntu)")
        if not os.path.exists(os.path.join(root, "etc/apparmor.d/bwrap-userns-restrict")):
            remedies.append(
                "Install the distribution's bubblewrap and its AppArmor profile"
                " bwrap-userns-restrict; one from a Python package has none and cannot work."
            )
    if _read(root, _OLD_SWITCH) == "0":
        said.append("user namespaces are switched off for people")
        remedies.append("sysctl kernel.unprivileged_userns_clone=1")
    if _read(root, _MOST) == "0":
        said.append("no user namespace is permitted")
        remedies.append("sysctl user.max_user_namespaces=10000")
    return Surroundings("; ".join(said) or "a machine of its own", " ".join(remedies))


def _read(root: str, path: str) -> str:
    try:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            return file.read(4096).strip()
    except OSError:
        return ""
