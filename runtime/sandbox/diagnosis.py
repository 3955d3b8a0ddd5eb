"""What bubblewrap's complaints mean, and what a person can do about them."""

from __future__ import annotations

from runtime.core.commands import Command

_APPARMOR = (
    "User namespaces are created without rights (Ubuntu 23.10 and later:"
    " kernel.apparmor_restrict_unprivileged_userns=1). Install the distribution's bubblewrap and its"
    " AppArmor profile bwrap-userns-restrict (24.04: package apparmor-profiles, copy it from"
    " extra-profiles and load it with apparmor_parser -r). A bubblewrap from a Python package has no"
    " profile and cannot work there."
)
_RULES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("RTM_NEWADDR", "loopback:"), _APPARMOR),
    (("setting up uid map: Permission denied", "setgroups"), _APPARMOR),
    (
        ("No permissions to create new namespace", "namespace failed: Operation not permitted",
         "Failed to make / slave"),
        (
            "Creating a user namespace is refused. In Docker or Kubernetes the default seccomp profile"
            " does that: use one that allows unshare, clone and mount for this container. On old Debian:"
            " sysctl kernel.unprivileged_userns_clone=1."
        ),
    ),
    (
        ("No space left on device", "namespaces exceeded", "max_user_namespaces"),
        (
            "The number of namespaces is bounded: raise sysctl user.max_user_namespaces (and its"
            " siblings for other namespaces) to 1000 or more."
        ),
    ),
    (
        ("namespace failed: Resource temporarily unavailable",),
        "This account has too many processes: raise its limit (systemd: LimitNPROC=).",
    ),
    (
        ("mount proc",),
        (
            "The surrounding container masks parts of /proc, so the kernel refuses a fresh one. Docker:"
            " --security-opt systempaths=unconfined; Podman: --security-opt unmask=ALL."
        ),
    ),
    (
        ("Failed to mount tmpfs: Permission denied",),
        (
            "Mounting is denied, as SELinux does inside containers: run the container with"
            " --security-opt label=disable or a policy that allows it."
        ),
    ),
    (("Unknown option",), "This bubblewrap is too old: 0.8.0 or newer is needed."),
    (
        ("Function not implemented", "Invalid argument"),
        (
            "The kernel lacks a kind of namespace (WSL 1, gVisor, or a reduced kernel). WSL 1: convert"
            " the distribution to WSL 2."
        ),
    ),
)  # fmt: skip
ITSELF = "The sandbox itself failed: "
"""How a failure begins that is none of the command's."""
_UNKNOWN = "Run the diagnosis (doctor) on this machine for more."


def remedy(complaint: str) -> str:
    """What to do about a bubblewrap that could not set up a cage."""
    for phrases, text in _RULES:
        if any(phrase in complaint for phrase in phrases):
            return text
    return _UNKNOWN


def failure(complaint: bytes, subject: Command) -> str:
    """Why a program was not executed, from what bubblewrap (or a keeper, in the same words) said:
    one of four clear sentences."""
    said = complaint.decode("utf-8", "replace").strip()
    program = subject.argv()[0]
    words = said.removeprefix("bwrap: ")
    if words.startswith("execvp "):
        if said.endswith("No such file or directory"):
            return (
                f"The program {program!r} was not found in the sandbox"
                " (or the interpreter named in its first line was not)."
            )
        if said.endswith(("Permission denied", "Exec format error")):
            return f"The program {program!r} is not executable in the sandbox."
        return f"The program {program!r} could not be executed: {said.rpartition(': ')[2]}."
    if words.startswith("Can't chdir to"):
        return (
            f"The working directory {subject.cwd!r} cannot be entered in the sandbox:"
            f" {said.rpartition(': ')[2]}."
        )
    return f"{ITSELF}{said or 'it ended without a word'}. {remedy(said)}"
