"""What a server finds out where no user namespaces are to be had: one JSON document."""

from __future__ import annotations

import json
import os
import tempfile

from runtime.core.commands import Shell
from runtime.core.errors import Unavailable
from runtime.policy.authorised import by_operator
from runtime.sandbox import OneShot, check

ACCOUNT = 61234


def in_a_closed_folder(folder: str) -> str:
    """What is said of a directory that the account of its own owner cannot pass to."""
    os.makedirs(f"{folder}/closed/tree")
    os.chmod(f"{folder}/closed", 0o700)
    os.chown(f"{folder}/closed/tree", ACCOUNT, ACCOUNT)
    with OneShot(f"{folder}/closed/tree") as shot:
        try:
            shot.run(by_operator(Shell("true"), "test"))
        except Unavailable as error:
            return error.message
    return ""


def main() -> None:
    os.environ.pop("PYTHONPATH", None)
    finding = check()
    answer = {"ok": finding.ok, "backend": finding.backend, "detail": finding.detail}
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            os.chmod(folder, 0o755)
            os.chown(folder, ACCOUNT, ACCOUNT)
        with OneShot(folder) as shot:
            result = shot.run(by_operator(Shell("echo x > made; cat /etc/passwd"), "test"))
        answer |= {"ran": os.listdir(folder), "seen": result.text(), "facts": result.attestation}
        if os.geteuid() == 0:
            answer |= {"closed": in_a_closed_folder(folder)}
        os.mkdir(f"{folder}/.git")
        with OneShot(folder) as shot:
            try:
                shot.run(by_operator(Shell("true"), "test"))
            except Unavailable as error:
                answer |= {"refused": error.message, "remedy": error.remedy}
    print("ANSWER", json.dumps(answer))


main()
