"""Dangerous work in the shape of ordinary work, and ordinary work that looks like it."""

from __future__ import annotations

import shlex

import pytest

from runtime.policy import DEFAULT_PROGRAMS, Decision
from runtime.policy.programs import PROGRAMS
from runtime.policy.testing import World, shell, tool

WORLD = World(
    files={
        "/tree/README.md": "x",
        "/tree/package.json": "{}",
        "/tree/src/app.py": "x",
        "/tree/docs/a.md": "x",
    },
)
EVERYTHING = DEFAULT_PROGRAMS | frozenset(PROGRAMS)
ALLOW, DENY = Decision.ALLOW, Decision.DENY

NEVER = r"""
git config core.pager list
git config core.hooksPath get
git config --add core.fsmonitor list
git config set core.editor list
git help -w status
git checkout -b x HEAD~3
git checkout -B x
git checkout -b -f
find -O3 / -name id_rsa
find -D tree /home -name x
env -C / ls
env --chdir=/etc cat hosts
node -
node -p process.env
node -e 'require("child_process").execSync("id")'
node -e '[]["constructor"]["constructor"]("return process")()'
node -p 'require("evil.json")'
node -e "/'/;process.exit();/'/"
python -c 'import random; random._os.remove("x")'
python -c 'import json; json.codecs.open("/etc/x", "w")'
python -c 'import dataclasses as d; d.inspect.importlib.import_module("subprocess")'
python -c 'import enum; enum.bltns.exec("1")'
python -c 'import string; string.Formatter().get_field("0._os", (1,), {})'
python -c 'import linecache; print(linecache.getlines("/etc/passwd"))'
python -c 'import _socket'
python -c 'import typing; typing.get_type_hints(int)'
python -c 'import pandas; pandas.read_csv("/etc/passwd")'
python -c 'import numpy; numpy.load("https://else.example/x")'
python -c 'from random import _os'
python -c 'import sys as s; s.modules'
python -c 'import sys; print(sys.modules)'
python -c 'print(open("/etc/passwd").read())'
python -c 'print(open(".env").read())'
python -c 'open("a", "w").write("x")'
python -c 'open("a", mode="w")'
python -c 'help("modules")'
python -m pip.__main__ install x
python -m pip._internal.cli.main install x
python -m pytest.__main__ -p plugin
python -m setuptools.command.easy_install x
python -m flask run --host 0.0.0.0
python -m http.client
coverage run -m pip install x
npm run env
npm run deploy
npm run publish:all
yarn
yarn global add x
yarn npm publish
yarn plugin import x
yarn workspace web add x
yarn up x
yarn upgrade-interactive
yarn publish
pnpm --filter web add x
pnpm -F web add x
pnpm self-update
pnpm -r exec rm -rf src
bundle
bundle exec sh
bundle exec -- ruby -e 1
bundle add x
composer require x
dotnet add package x
dotnet tool install x
uv pip install x
make deploy
make install
mvn exec:exec -Dexec.executable=sh
cmake -DCMAKE_C_COMPILER_LAUNCHER=./x.sh .
cmake -D CMAKE_CXX_COMPILER=./x.sh -B build
cmake -DGIT_EXECUTABLE:FILEPATH=./x -B build
gcc @args.txt
gcc -Wl,@args.txt a.c
mocha -r ./x.js
rspec --require ./x
rake -r ./x test
alembic downgrade base
tar cf a.tar .ssh
cp -r .aws docs
zip -@ x.zip
install -m 4755 a b
install --mode=2755 a b
mkdir -m 4755 a
jq 'include "x"; .' a
invoke -r /tmp x
doit --unknown /tmp/x build
scons --unknown .env build
cmake --install build
clang --config x a.c
rubocop -r ./x
sed -Ei s/a/b/ ../x
sed -ni.bak p .github/workflows/ci.yml
git -c core.abbrev=1 -c core.pager=id log
git -c color.pager=true -C .. status
uv run ../x.py
uv run /tmp/x.py
uv run -m http.server
sqlite3 x.db '.shell id'
sqlite3 x.db "select load_extension('./x')"
sqlite3 x.db "select writefile('a', 'b')"
sqlite3 x.db 'select 1; drop table t'
sqlite3 -cmd '.shell id' x.db 'select 1'
sqlite3 /etc/x.db .tables
sqlite3 x.db 'pragma writable_schema=1'
php -r 'system("id");'
php -d auto_prepend_file=x a.php
rsync -a src/ /srv/elsewhere
rsync -a --delete src/ docs/
rsync -a . host:x
rsync --rsync-path=./x src docs
rsync -e ./x.sh src docs
sed -n '/a/{e id
}' README.md
sed '/a/{w /tmp/x
}' README.md
sed '1{s/a/id/e}' README.md
awk '{ if ($1 > 3) print "x" > "/etc/y" }' README.md
awk 'NR>1{print > "f.txt"}' README.md
awk '{print | "sh"}' README.md
"""
COMMANDS = NEVER.replace("\n}'", " }'").strip().split("\n")

SCRIPTS = [
    # where a command works
    "cd src & cat ../x",
    "ls && cd src & cat ../x",
    "{ cd src; } & cat ../x",
    "cd src || cat ../x",
    "true || cd src; cat ../x",
    "false && cd src; cat ../x",
    "mv src y; cd src; cat ../x",
    "if ls; then cd src; else cat ../x; fi",
    "case a in a) cd src;; *) cat ../x;; esac",
    "cd src; for i in 1 2; do cat ../x; cd ..; done",
    "cd nowhere || return; cat ../x",
    "cat <<E || cd src\nx\nE\ncat ../x",
    # what a variable holds
    "x=/etc; cat $x/shadow",
    "x=/etc; x=src & cat $x/y",
    "x=/etc; (x=src); cat $x/y",
    "x=/etc; x=src | ls; cat $x/y",
    "x=/etc; false && x=src; cat $x/y",
    "x=/etc; if false; then x=src; fi; cat $x/y",
    "x=/etc; x=src :; cat $x/y",
    "x=src; while ls; do cat $x/y; x=/etc; done",
    "y=src; for x in a b; do cat $y/z; y=/etc; done",
    "readonly x=/etc; x=src; cat $x/y",
    "RANDOM=src; cat $RANDOM/y",
    "x='a /etc/passwd'; cat $x",
    "x='*'; cat $x",
    "x=ls; $x",
    "x=a:~/.ssh; cat $x",
    "echo $SECRET",
    "for f in *.py; do cat $f; done",
    "for d in /etc src; do ls $d; done",
    "select x in a b; do ls; done",
    # what the grammar reads otherwise than a shell
    "x=$ ls",
    "> $ cat",
    "grep .. $",
    "ls ${ x}",
    "cat <<E'F' > o1\n\nEF\nls # `id`\nif if pytest; then ls; fi",
    "cat <<'E'# c\nm\nE\n",
    "cat <<E && git stash\n\\\nlist\nE\nls",
    "sort -o 0<README.md docs/a.md",
    "ls {fd}>o12",
    "cat -<<-E\nx\nE\nls",
    "sort README.md -o1>o6",
    "sort one $\\\n'a'",
    "cat README.md > $\\\n",
    "ls done [[\\# 3> o7",
    # the rest
    "set",
    "export",
    "readonly",
    "timeout 5 $x",
    "env ./*.sh",
    "echo $(<.env)",
    "echo `date`",
    "[[ x -eq 1 ]]",
    "[[ -v x ]]",
    'git commit -m "$(cat <<EOF\n$(id)\nEOF\n)"',
]
ORDINARY = r"""
git config user.name
git config --list
git checkout -b fix/empty-input
git diff-tree --no-commit-id --name-only -r HEAD
git show-ref --heads
python -c 'import sys; print(sys.version_info)'
python -c 'import json; print(json.load(open("package.json"))["version"])'
python -c 'from importlib.metadata import version; print(version("django"))'
python -c 'from app import main; print(main(3))'
node -e 'console.log(1)'
node -p process.version
node -p 'require("./package.json").version'
php -l src/a.php
dotnet test
bundle exec rspec
bundle exec rake test
composer validate
uv pip list
yarn test
yarn workspace web test
pnpm --filter web test
npx vite build
make -j4 check
tox -e py311
sqlite3 db.sqlite3 .tables
sqlite3 -header -csv db.sqlite3 'select count(*) from t'
rsync -a --exclude .cache src/ docs/
awk 'NR>=10 && NR<=20 {print NR": "$0}' README.md
awk '$3 > 100 {print $1}' README.md
awk '/a/||/b/' README.md
sed -n '/foo/{p;q}' README.md
sed -n '5{p;q;}' README.md
cmake -B build -DCMAKE_BUILD_TYPE=Debug
git -c core.quotepath=off status
git grep -n -e foo --and -e bar
sed -Ei 's/(a)/b/' README.md
python -c 'import json, sys; print(sys.version_info[:2])'
python -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"])'
node -c src/a.js
prettier -c src
uv run manage.py check
uv run -m pytest -q
install -d build/x
mkdir -p -m 755 build/x
"""
ORDINARY_SCRIPTS = [
    "cd src && pytest -q && cd ..",
    "mkdir -p build && cd build && ls",
    "cd src || exit 1; ls ../docs",
    "(cd src && ls); cat README.md",
    'for f in src/*.py; do wc -l "$f"; done',
    "for d in src docs; do ls $d; done",
    "F=README.md; cat $F",
    'pytest -q; echo "exit $?"',
    'echo "today: $(date +%F)"',
    "[[ -f README.md ]] && cat README.md",
    "git commit -m \"$(cat <<'EOF'\nfix: x\n\nBody with `x` and $(y).\nEOF\n)\"",
    "for i in $(seq 3); do pytest -q; done",
    "chmod 644 *",
    "sed -i s/a/b/ *",
    "mktemp -d",
    "GOOS=linux go build ./...",
    "PORT=3000 npm start",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_dangerous_command_is_never_let_do(line: str) -> None:
    verdict = WORLD.decide(tool(*shlex.split(line)), allowed=EVERYTHING)
    assert verdict.source != "error"
    assert verdict.decision is not ALLOW


@pytest.mark.parametrize("script", SCRIPTS)
def test_F23_a_script_is_read_as_a_shell_reads_it(script: str) -> None:
    verdict = WORLD.decide(shell(script), allowed=EVERYTHING)
    assert verdict.source != "error"
    assert verdict.decision is not ALLOW


@pytest.mark.parametrize("line", ORDINARY.strip().split("\n"))
def test_an_ordinary_command_needs_no_person(line: str) -> None:
    verdict = WORLD.decide(tool(*shlex.split(line)))
    assert verdict.decision is ALLOW, verdict.reason


@pytest.mark.parametrize("script", ORDINARY_SCRIPTS)
def test_an_ordinary_script_needs_no_person(script: str) -> None:
    verdict = WORLD.decide(shell(script))
    assert verdict.decision is ALLOW, verdict.reason


def test_a_program_that_cannot_be_read_is_asked_about() -> None:
    for script in ("time (ls; pwd)", "timeout 5 $COMMAND", "env $COMMAND x"):
        assert WORLD.decide(shell(script)).decision is Decision.ASK


def test_tools_of_the_project_are_asked_about_where_nobody_lists_them() -> None:
    assert WORLD.decide(tool("npx", "create-thing")).decision is Decision.ASK
    assert WORLD.decide(tool("create-thing")).decision is DENY
    assert WORLD.decide(tool("npx", "sudo", "ls")).decision is DENY


@pytest.mark.parametrize(
    ("expected", "script"),
    [
        (DENY, "rm -rf *"),
        (DENY, "rm -rf ./*"),
        (DENY, "rm -rf .*"),
        (DENY, "rm -rf .g*"),
        (DENY, "cd .git; rm -f *"),
        (DENY, "touch .g?t/x"),
        (DENY, "cp README.md .gi[t]/hooks/pre-commit"),
        (DENY, "cp README.md src/.G*/hooks/pre-commit"),
        (DENY, "cp README.md .m31?/policy.toml"),
        (Decision.ESCALATE, "cat .g?t/config"),
        (Decision.ESCALATE, "cat .ssh/*"),
        (Decision.ESCALATE, "cat secrets/*"),
        (Decision.ESCALATE, "cat certs/*.pem"),
        (ALLOW, "cat *"),
        (ALLOW, "cat .*ignore"),
        (ALLOW, "cat .github/workflows/*.yml"),
        (Decision.ASK, "rm *"),
        (Decision.ASK, "rm -rf src/*"),
        (Decision.ASK, "rm -f *.log"),
        (Decision.ASK, "cp README.md /tmp/"),
        (DENY, "chmod -R 777 /tmp"),
    ],
)
def test_a_star_is_none_of_the_hidden_names(expected: Decision, script: str) -> None:
    assert WORLD.decide(shell(script)).decision is expected


@pytest.mark.parametrize(
    ("expected", "url"),
    [
        (DENY, "http://169.254.169.254/latest/meta-data/"),
        (DENY, "http://metadata.google.internal/x"),
        (Decision.ESCALATE, "http://10.0.0.1/"),
        (Decision.ASK, "http://localhost:8000/"),
        (Decision.ASK, "https://else.example/"),
    ],
)
def test_a_client_is_judged_by_the_host_it_names(expected: Decision, url: str) -> None:
    assert WORLD.decide(tool("curl", "-s", url)).decision is expected


@pytest.mark.parametrize("host", ["[64:ff9b::7f00:1]", "[::127.0.0.1]", "[64:ff9b:1::a00:1]"])
def test_addresses_that_stand_for_private_ones_are_private(host: str) -> None:
    action = {"kind": "network", "method": "GET", "target": f"https://{host}/"}
    assert WORLD.decide(action).decision is DENY


def test_files_that_others_obey_or_that_hold_secrets_are_known_by_their_place() -> None:
    assert WORLD.decide({"kind": "read_file", "path": ".docker/config.json"}).decision is (
        Decision.ESCALATE
    )
    assert WORLD.decide({"kind": "read_file", "path": ".docker/Dockerfile"}).decision is ALLOW
    for name in (".devcontainer.json", "devcontainer.json", ".devcontainer/x"):
        action = {"kind": "write_file", "path": name, "content": "x"}
        assert WORLD.decide(action).decision is Decision.ASK


@pytest.mark.parametrize(
    ("expected", "script"),
    [
        (ALLOW, "cat <<< x"),
        (ALLOW, "cat <<< x 2>&1"),
        (ALLOW, "cat <<< 2 2>&1"),
        (Decision.ASK, "cat <<< 2>&1"),
        (Decision.ASK, "cat <<< 1<README.md"),
        (Decision.ASK, "cat <<<\n x"),
    ],
)
def test_a_here_string_has_its_word_where_a_shell_looks_for_it(
    expected: Decision, script: str
) -> None:
    assert WORLD.decide(shell(script)).decision is expected
