"""Build tools, compilers, test runners and linters: they run the project's own code."""

from __future__ import annotations

import re
from itertools import pairwise

from ..decision import Decision
from ..reading import Verb
from ..words import listed
from .interpreters import KNOWN_SCRIPTS
from .model import (
    Found,
    Operands,
    Option,
    Program,
    Value,
    asks,
    flags,
    joined,
    letters,
    moves_to,
    obeys,
    ordinary,
    reads,
    runs,
    table,
    takes,
    writes,
)
from .packages import manager, sends_or_installs


def _make(program: Program, args: tuple[str, ...], found: Found) -> None:
    for word in found.operands:
        name, equals, _ = word.partition("=")
        if equals:
            reason = f"overrides a variable of the build: {name}"
            found.remark(Decision.ASK, f"{program.name} variable", reason)
    sends_or_installs(program, args, found)


def _deploys(program: Program, args: tuple[str, ...], found: Found) -> None:
    for word in found.operands:
        if program.name == "mvn" and (word.count(":") > 1 or word.startswith(("exec:", "antrun:"))):
            found.remark(Decision.ASK, "mvn plug-in", "names a plug-in to be fetched and run")
    sends_or_installs(program, args, found)


RISKY = {
    "mkdocs": frozenset({"gh-deploy"}),
    "django-admin": KNOWN_SCRIPTS["manage.py"],
    "alembic": frozenset({"upgrade", "downgrade", "stamp"}),
}


_CMAKE_RUNS = re.compile(
    r"(CMAKE_\w*_?(COMPILER|LAUNCHER|LINKER|AR|RANLIB|CPPCHECK|CLANG_TIDY|INCLUDE_WHAT_YOU_USE"
    r"|EMULATOR|TOOLCHAIN_FILE|MAKE_PROGRAM|PROJECT_INCLUDE\w*|INSTALL_PREFIX|MODULE_PATH"
    r"|RULE_LAUNCH\w*|USER_MAKE_RULES\w*)|CMAKE_PROJECT_\w+|\w*_EXECUTABLE)(:\w+)?=.*",
    re.DOTALL,
)


def _cmake(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Cache entries that name programs, or where an installation goes."""
    if "--install" in args:
        found.remark(Decision.ASK, "cmake --install", "puts what was built into the system")
    for word, after in pairwise((*args, "")):
        entry = after if word == "-D" else word.removeprefix("-D") if word.startswith("-D") else ""
        if _CMAKE_RUNS.fullmatch(entry):
            name = entry.partition("=")[0]
            found.remark(Decision.ASK, "cmake entry", f"{name} chooses a program or a place")


def _risky(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Commands of checkers and their kin that do more than check or build."""
    if program.name == "coverage" and found.operands[:1] == ["run"]:
        _measured(args, found)
    command = next(iter(found.operands), "")
    if command in RISKY.get(program.name, ()):
        reason = "runs code that is not read, or changes more than files"
        found.remark(Decision.ASK, f"{program.name} {command}", reason)


def _plugin(program: Program, args: tuple[str, ...], found: Found) -> None:
    """A compiler can be made to load a library of anybody's."""
    for word in args:
        if word in ("-Xclang", "-load", "-plugin", "--plugin") or (
            word.startswith(("-Wl,", "-Wp,", "-Wa,")) and ("plugin" in word or "@" in word)
        ):
            found.remark(Decision.ASK, f"{program.name} plug-in", "may load code into the compiler")
        elif word.startswith("@"):
            found.remark(Decision.ASK, f"{program.name} @", "takes more words from a file")


def _measured(args: tuple[str, ...], found: Found) -> None:
    """`coverage run` runs a script, or a module with `-m`, as Python does."""
    for index, word in enumerate(args):
        if word in ("-m", "--module"):
            found.inner.append(("python3", "-m", *args[index + 1 :]))
            return


_AGENTS = ("-javaagent", "-agentlib", "-agentpath", "-Xrun", "-Xbootclasspath", "@")


def _java(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Words before the class may load other code, or more words from a file."""
    for word in args:
        if word.startswith(_AGENTS):
            found.remark(Decision.ASK, f"{program.name} agent", "loads code or words from a file")


def _go(program: Program, args: tuple[str, ...], found: Found) -> None:
    words = set(args)
    if program.name == "go env" and words & {"-w", "-u"}:
        found.remark(Decision.ASK, "go env -w", "changes settings of every later build")
    if program.name == "go mod" and words & {"download", "tidy", "get"}:
        found.remark(Decision.ASK, "go mod download", "downloads code")
        found.network = True
    if any("@" in word for word in found.operands):
        found.remark(Decision.ASK, f"{program.name} download", "downloads and runs code")
        found.network = True


_CONFIG = asks(
    "obeys another configuration",
    "--config -c --config-file --plugin --load-plugins --rulesdir"
    " --resolve-plugins-relative-to --rootdir --globalSetup --setupFiles --require",
    Value.NEEDED,
)
_PYTEST = (
    asks("loads a plug-in by name", "-p", Value.NEEDED),
    asks(
        "changes the configuration",
        "-o --override-ini -c --config-file --rootdir --confcutdir --inifile",
        Value.NEEDED,
    ),
    asks("runs no test", "--collect-only --co --setup-plan --setup-only --fixtures --noconftest"),
    asks("starts a debugger", "--pdb --trace --pdbcls", Value.JOINED),
    asks("sends the output to another host", "--pastebin", Value.JOINED),
    asks("takes code from elsewhere", "--pyargs"),
    takes("-k -m -n --maxfail --tb --durations -r --cov --cov-report --timeout --dist -W"),
    takes("--log-level --log-cli-level --ds --deselect --ignore --import-mode --capture"),
    takes("--random-order-seed --reruns"),
    joined("--color"),
    writes("--junitxml --junit-xml --log-file --resultlog --report-log"),
    Option(("--basetemp",), Value.NEEDED, Verb.DELETE, Decision.ASK, "empties that directory"),
    letters("qvxsl"),
    flags("--lf --ff --sw --nf --last-failed --failed-first --exitfirst --verbose --quiet"),
    flags("--no-header --no-summary --strict-markers --version --help --no-cov --cache-clear"),
    flags("--markers --showlocals --runxfail --create-db --reuse-db --nomigrations"),
    flags("--cov-append --cov-branch --collect-in-virtualenv"),
)
_CARGO = (
    runs("--config -Z"),
    asks("uses another manifest", "--manifest-path", Value.NEEDED),
    takes("-p --package --features --bin --test -j --target --profile"),
    moves_to("-C"),
    writes("--target-dir"),
    joined("--message-format --color"),
)
_GO = (
    runs("-exec -toolexec -vettool -overlay -modfile -ldflags -gcflags -asmflags -gccgoflags"),
    runs("-compiler"),
    writes("-o -coverprofile -cpuprofile -memprofile -outputdir -trace"),
    takes("-run -count -timeout -bench -tags -p -parallel -mod -covermode -coverpkg"),
    moves_to("-C"),
    flags("-v -race -short -x -n -a -json -cover -failfast -trimpath -u -d -t -w -l"),
)
_CC = (
    runs("--config -wrapper -fplugin -B -specs --specs -Xlinker"),
    writes("-o -MF"),
    takes("-D -U -l -x -std -MT -MQ -Xpreprocessor"),
    reads("-I -L -include -isystem"),
    flags("-c -S -E -g -v -w -shared -static -pthread -fPIC"),
    joined("-O -W -f -m"),
)
_MAKE = (
    obeys("-f --file --makefile"),
    moves_to("-C --directory"),
    runs("--eval -E"),
    reads("-I --include-dir -W -o"),
    takes("-l --load-average"),
    joined("-j --jobs -O --output-sync"),
    letters("nksBiqtrRw"),
    flags("--silent --dry-run --keep-going"),
)
_RUNNER = (
    obeys("-f --justfile --file"),
    moves_to("-C -d --working-directory"),
    runs("--shell --shell-arg"),
    asks("obeys another configuration", "-c --conf --workdir --rcfile", Value.NEEDED),
)
_RAKE = (
    runs("-r --require --rakelib -R -e --execute -E --execute-continue -p --execute-print"),
    *_RUNNER,
)
_REQUIRING = (
    asks("loads other code first", "-r --require", Value.NEEDED),
    asks("loads code from other places", "-I --loader --import", Value.NEEDED),
)
_MAVEN = (
    letters("oqBe"),
    flags("--offline"),
    obeys("-f -b --file --build-file"),
    takes("-p -pl -D"),
    asks("runs an initialisation script", "-I --init-script -s --settings -gs -c", Value.NEEDED),
)
_FORMATTERS = """
rustfmt gofmt goimports clang-format shfmt stylua taplo djlint yamllint shellcheck hadolint
markdownlint actionlint codespell vulture bandit cloc tokei scc ctags clang-tidy cppcheck
golangci-lint staticcheck typos sqlfluff gitleaks radon lizard
"""
_CHECKERS = """
mypy black flake8 isort pylint pyright basedpyright pyflakes pycodestyle pydocstyle autopep8 yapf
autoflake eslint tsc jest vitest biome stylelint phpunit phpcs
phpstan standard oxlint knip ava tap cypress playwright vite webpack rollup esbuild next nuxt
astro turbo nx lerna swc babel coverage import-linter lint-imports sphinx-build mkdocs
django-admin alembic behave robot locust hypothesis ty pyrefly deptry interrogate
"""

BUILD = table(
    *ordinary("pytest py.test", *_PYTEST),
    *ordinary("make gmake bmake", *_MAKE, operands=Operands.DATA, reader=_make),
    *ordinary(
        "just ninja task invoke inv nox tox doit scons meson bazel buck2 pants",
        *_RUNNER,
        operands=Operands.DATA,
        reader=_make,
    ),
    *ordinary("rake", *_RAKE, operands=Operands.DATA, reader=_make),
    *ordinary("prettier", _CONFIG, flags("-c -l -w -u --check --write --list-different")),
    *ordinary("mocha rspec cucumber rubocop", *_REQUIRING, _CONFIG),
    *ordinary(
        "cmake",
        runs("-P -E -C"),
        reads("-S"),
        writes("-B --build --install"),
        takes("-D -G -j --target --config"),
        reader=_cmake,
    ),
    *ordinary(
        "ctest",
        runs("-S -SP --build-and-test"),
        takes("-R -E -j -L"),
        asks("may send results to another host", "-D -T -M --dashboard", Value.NEEDED),
        moves_to("--test-dir"),
        operands=Operands.DATA,
    ),
    *ordinary(
        "gcc g++ cc c++ clang clang++ ld as ar nm objdump strip ranlib", *_CC, reader=_plugin
    ),
    *ordinary("readelf size gfortran tcc", *_CC),
    *ordinary("rustc", runs("-C --codegen -Z"), *_CC),
    manager(
        "cargo",
        """
        build b test t check c run r clippy fmt bench doc tree metadata clean version nextest help
        locate-project pkgid verify-project
        """,
        """
        install add fetch update publish login search vendor init new remove uninstall owner yank
        generate-lockfile fix package
        """,
        *_CARGO,
    ),
    Program(
        "go",
        options_first=True,
        operands=Operands.DATA,
        subcommands=table(
            *(
                Program(f"go {word}", operands=Operands.FREE, options=_GO, reader=_go)
                for word in listed("build test vet fmt list doc version help run env clean mod")
            ),
            *(
                Program(f"go {word}", Decision.ASK, "downloads and runs code", network=True)
                for word in listed("get install generate tool work bug telemetry fix")
            ),
        ),
        other=Program("go other", Decision.ASK, "has a subcommand that is not known"),
    ),
    *ordinary(
        "java kotlin",
        takes("-cp -classpath -D"),
        obeys("-jar"),
        operands=Operands.DATA,
        reader=_java,
    ),
    *ordinary(
        "javac kotlinc scalac jar javadoc",
        writes("-d -s -h"),
        takes("-cp -classpath --release -source -target"),
        runs("-processor -processorpath --processor-path"),
    ),
    *ordinary("mvn gradle ant sbt lein", *_MAVEN, operands=Operands.DATA, reader=_deploys),
    *ordinary(
        _FORMATTERS,
        runs("-load"),
        asks("obeys another configuration", "--config-path", Value.NEEDED),
    ),
    *ordinary(
        _CHECKERS,
        _CONFIG,
        runs("--python-executable --shadow-file --init-hook"),
        asks("installs packages", "--install-types"),
        reader=_risky,
    ),
    *ordinary(
        "ruff",
        asks("obeys another configuration", "--config", Value.NEEDED),
        takes("--select --ignore --line-length --target-version"),
        Option(("-o", "--output-file"), Value.NEEDED, Verb.WRITE),
    ),
)
