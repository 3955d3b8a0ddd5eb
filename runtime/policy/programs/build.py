"""Interpreters, package managers, build tools, test runners, linters."""

from __future__ import annotations

from dataclasses import replace

from ..decision import Decision
from ..reading import Touch, Verb
from .inline import judge_python
from .model import (
    Found,
    Operands,
    Option,
    Program,
    Value,
    asks,
    flags,
    joined,
    moves_to,
    reads,
    runs,
    table,
    takes,
    writes,
)
from .wrappers import PROJECT_RUN

_DOWNLOADS = "downloads and installs code"


def _python(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`-c` is read as far as it is harmless; `-m` is the module as a program; else a file."""
    words = list(args)
    found.changes = True
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word in ("-V", "--version", "-VV", "-h", "--help"):
            found.changes = False
            return
        if word in ("-W", "-X") and words:
            words.pop(0)
        elif word.startswith("-") and not word.startswith("--") and word[-1] == "c" and set(word[1:-1]) <= set("bBdEIOqsSuv"):
            why = judge_python(words[0] if words else "")
            if why:
                found.opaque("python -c", why)
            return
        elif word.startswith("-m") or (word[-1] == "m" and set(word[1:-1]) <= set("bBdEIOqsSuv")):
            module = word[2:] if word.startswith("-m") and len(word) > 2 else (words.pop(0) if words else "")
            _module(module, tuple(words), found)
            return
        elif not set(word[1:]) <= set("bBdEIOqsSuvxP"):
            found.remark(Decision.ASK, "python option", f"an option that the table does not know: {word}")
    if not words or words[0] == "-":
        found.opaque("python stdin", "runs what it reads from its input")
    else:
        found.touches.append(Touch(Verb.RUN, words[0]))


_SERVERS = frozenset({"http.server", "smtpd", "wsgiref.simple_server", "xmlrpc.server", "pydoc", "idlelib", "pdb", "code", "ensurepip", "telnetlib", "ftplib", "imaplib", "poplib", "smtplib", "webbrowser", "antigravity", "turtledemo", "asyncio", "pty", "base64", "zipapp", "http", "cProfile", "profile", "trace", "runpy", "bdb"})
_AS_PROGRAM = frozenset({"pytest", "pip", "ruff", "mypy", "black", "flake8", "coverage", "isort", "tox", "nox", "uv", "build", "twine", "pylint", "poetry", "pre_commit", "virtualenv", "pipx", "hatch", "pdm", "py.test"})


def _module(module: str, rest: tuple[str, ...], found: Found) -> None:
    if module in _AS_PROGRAM:
        found.inner.append((module.replace("_", "-"), *rest))
    elif module in _SERVERS:
        found.remark(Decision.ASK, f"python -m {module}", "serves, connects or runs other code")
    elif module in ("venv",):
        found.remark(Decision.ASK, "python -m venv", "makes an environment that later commands run")


def _script(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Other interpreters: a file of the worktree is run; inline code and input are not read."""
    found.changes = True
    if found.operands:
        found.touches.append(Touch(Verb.RUN, found.operands[0]))
    elif not any(word in ("-v", "-V", "--version", "-version", "--help", "-h", "env", "version") for word in args):
        if not found.remarks:
            found.opaque(f"{program.name} stdin", "runs what it reads from its input")


def _make(program: Program, args: tuple[str, ...], found: Found) -> None:
    found.changes = True
    for word in found.operands:
        if "=" in word:
            found.remark(Decision.ASK, "make variable", f"overrides a variable of the build: {word.partition('=')[0]}")


def _go(program: Program, args: tuple[str, ...], found: Found) -> None:
    found.changes = True
    for word in found.operands:
        if "@" in word:
            found.remark(Decision.ASK, "go download", _DOWNLOADS)
            found.network = True


def _listing(*quiet: str, why: str = "changes the project's packages") -> object:
    """A reader that asks unless the first operand is one of `quiet`."""

    def reader(program: Program, args: tuple[str, ...], found: Found) -> None:
        first = next(iter(found.operands), "")
        found.changes = True
        if first not in quiet:
            found.remark(Decision.ASK, f"{program.name} {first}".strip(), why)

    return reader


def _test(name: str, *options: Option) -> Program:
    """A tool that runs the project's code and writes its caches."""
    return Program(name, operands=Operands.FREE, options=options)


def _sub(name: str, quiet: str, asking: str, *options: Option, other: Decision = Decision.ASK) -> Program:
    """A manager with subcommands: `quiet` ones stay in the project, `asking` ones download."""
    return Program(
        name,
        options=options,
        options_first=True,
        operands=Operands.DATA,
        subcommands=table(
            *(Program(f"{name} {word}", operands=Operands.FREE, options=options) for word in quiet.split()),
            *(Program(f"{name} {word}", Decision.ASK, _DOWNLOADS, network=True, operands=Operands.FREE, options=options) for word in asking.split()),
            *((replace(PROJECT_RUN, name=f"{name} run"),) if name in ("uv", "poetry", "pipenv", "pdm", "hatch", "rye") else ()),
        ),
        other=Program(f"{name} other", other, "a subcommand that the table does not know", operands=Operands.FREE),
    )


_PYTEST = (
    asks("loads a plug-in by name", "-p", value=Value.NEEDED),
    asks("changes the configuration", "-o", "--override-ini", "-c", "--config-file", "--rootdir", "--confcutdir", "--inifile", value=Value.NEEDED),
    asks("runs no test", "--collect-only", "--co", "--setup-plan", "--setup-only", "--fixtures", "--noconftest"),
    asks("starts a debugger", "--pdb", "--trace"),
    asks("sends the output to another host", "--pastebin", value=Value.NEEDED),
    asks("takes code from elsewhere", "--pyargs"),
    takes("-k", "-m", "-n", "--maxfail", "--tb", "--durations", "-r", "--cov", "--cov-report", "--timeout", "--dist", "-W", "--log-level", "--log-cli-level", "--ds", "--deselect", "--ignore", "--import-mode", "--capture", "--color", "--random-order-seed", "--reruns"),
    writes("--junitxml", "--junit-xml", "--basetemp", "--log-file", "--resultlog", "--report-log"),
    flags(*(f"-{letter}" for letter in "qvxsl"), "--lf", "--ff", "--sw", "--nf", "--last-failed", "--failed-first", "--exitfirst", "--verbose", "--quiet", "--no-header", "--no-summary", "--strict-markers", "--version", "--help", "-h", "--no-cov", "--cache-clear", "--markers", "--showlocals", "--runxfail", "--create-db", "--reuse-db", "--nomigrations", "--co-disabled"),
)
_CARGO = (runs("--config"), asks("uses another manifest", "--manifest-path", value=Value.NEEDED), takes("-p", "--package", "--features", "--bin", "--test", "-j", "--target", "--profile"), moves_to("-C"), Option(("--target-dir",), Value.NEEDED, Verb.WRITE), runs("-Z"), joined("--message-format", "--color"))
_GO = (runs("-exec", "-toolexec", "-vettool", "-overlay", "-modfile"), runs("-ldflags", "-gcflags", "-asmflags", "-gccgoflags", "-compiler") , writes("-o", "-coverprofile", "-cpuprofile", "-memprofile", "-outputdir", "-trace"), takes("-run", "-count", "-timeout", "-bench", "-tags", "-p", "-parallel", "-mod", "-covermode", "-coverpkg"), moves_to("-C"), flags("-v", "-race", "-short", "-x", "-n", "-a", "-json", "-cover", "-failfast", "-trimpath", "-u", "-d", "-t", "-w", "-l"))
_NODE_RUNS = (runs("-e", "--eval", "-p", "--print", "-r", "--require", "--import", "--loader", "--experimental-loader", "--env-file"), asks("opens a debugger", "--inspect", "--inspect-brk", "--inspect-port", "--inspect-wait", value=Value.JOINED), runs("-i", "--interactive", value=Value.NONE))
_LINT_CONFIG = (asks("obeys another configuration", "--config", "-c", "--config-file", "--plugin", "--load-plugins", "--rulesdir", "--resolve-plugins-relative-to", value=Value.NEEDED),)
_CC = (runs("-wrapper", "-fplugin", "-B", "-specs", "--specs", "-Xlinker"), writes("-o", "-MF"), takes("-D", "-U", "-l", "-x", "-std", "-MT", "-MQ", "-Xpreprocessor", "-Wl"), reads("-I", "-L", "-include", "-isystem"), flags("-c", "-S", "-E", "-g", "-v", "-w", "-shared", "-static", "-pthread", "-fPIC"), joined("-O", "-W", "-f", "-m"))
_NPM_RUNS = "test t run run-script start build ls list outdated version help why exec-local view-local explain root prefix bin pkg-get"


def _deploys(program: Program, args: tuple[str, ...], found: Found) -> None:
    found.changes = True
    for word in found.operands:
        if word in ("deploy", "publish", "release", "upload") or word.startswith(("release:", "deploy:")):
            found.remark(Decision.ASK, f"{program.name} {word}", "sends packages to others")
            found.network = True


_JVM = (runs("-javaagent", "-agentlib", "-agentpath", "-Xrun"),)

BUILD = table(
    *(Program(name, raw=True, reader=_python, stdin_is_code=True) for name in ("python", "python3", "python2", "pypy", "pypy3", "py")),
    *(Program(name, operands=Operands.DATA, options_first=True, options=_NODE_RUNS, reader=_script, stdin_is_code=True) for name in ("node", "nodejs", "ts-node", "tsx")),
    *(Program(name, operands=Operands.DATA, options_first=True, options=(runs("-e", "-E", "-r", "-I", "-M", "-m", "-n", "-p", "-i", "-x", "-R", "-B", "-F", "-S", "-l", "-a"), flags("-w", "-c", "-t", "-W")), reader=_script, stdin_is_code=True) for name in ("perl", "ruby", "php", "lua", "luajit", "tclsh", "Rscript", "julia", "guile", "groovy", "irb", "psysh", "osh")),
    _sub("deno", "test lint fmt check", "run install cache eval repl upgrade compile", runs("--eval")),
    _sub("bun", "test build", "install add run x create upgrade remove update"),
    *(Program(name, operands=Operands.FREE, options=_PYTEST) for name in ("pytest", "py.test")),
    _sub("pip", "list show freeze check help debug inspect --version hash", "install download wheel uninstall index search config cache"),
    _sub("pip3", "list show freeze check help debug inspect --version hash", "install download wheel uninstall index search config cache"),
    _sub("uv", "tree version help", "sync add remove lock pip tool venv init build publish python cache self export", flags("--offline", "-q", "--quiet", "--no-progress"), moves_to("--directory", "--project")),
    _sub("poetry", "show check version env about", "install add remove update lock publish self config build init new source"),
    _sub("pipenv", "graph check --version", "install sync update lock uninstall shell"),
    _sub("pdm", "list info", "install add sync update lock publish"),
    _sub("hatch", "version", "build publish env shell"),
    _sub("rye", "list show", "sync add install"),
    *(Program(name, Decision.ASK, "downloads and runs a package", network=True, operands=Operands.DATA) for name in ("uvx", "pipx", "bunx", "corepack", "easy_install", "gem", "bundle", "bundler", "composer", "cpan", "cpanm", "luarocks", "rustup", "nvm", "volta", "asdf", "mise", "sdk", "twine", "virtualenv", "pre-commit", "cookiecutter", "copier", "degit", "create-react-app", "yo", "vcpkg", "conan", "cabal", "stack", "opam", "mix", "rebar3", "nuget", "dart", "flutter", "pub", "swiftpm")),
    *(_sub(name, _NPM_RUNS, "install i ci add update upgrade uninstall remove rm audit publish unpublish init create login logout whoami config set get cache link unlink exec x dlx dedupe prune rebuild pack view info search owner token access deprecate dist-tag fund doctor import store patch setup", runs("--script-shell", "--node-options", "--userconfig", "--globalconfig", "--shell"), asks("works elsewhere", "--prefix", "-C", "--cwd", "--dir", value=Value.NEEDED), flags("--silent", "-s", "--if-present", "-w", "--workspaces", "-r", "--offline", "-v", "--version"), other=Decision.ALLOW if name in ("yarn", "pnpm") else Decision.ASK) for name in ("npm", "yarn", "pnpm")),
    *(Program(name, operands=Operands.DATA, reader=_make, options=(
        Option(("-f", "--file", "--makefile"), Value.NEEDED, Verb.RUN), moves_to("-C", "--directory"), runs("--eval", "-E"), reads("-I", "--include-dir", "-W", "-o"), takes("-l", "--load-average"), joined("-j", "--jobs", "-O", "--output-sync"), flags("-n", "-k", "-s", "-B", "-i", "-q", "-t", "-r", "-R", "-w", "--silent", "--dry-run", "--keep-going"))) for name in ("make", "gmake", "bmake")),
    *(Program(name, operands=Operands.DATA, reader=_make, options=(Option(("-f", "--justfile"), Value.NEEDED, Verb.RUN), moves_to("-C", "-d", "--working-directory"), runs("--shell", "--shell-arg"))) for name in ("just", "ninja", "task", "invoke", "inv", "rake", "nox", "tox", "doit", "scons", "meson", "bazel", "buck2", "pants")),
    Program("cmake", operands=Operands.FREE, options=(runs("-P", "-E", "-C"), Option(("-S",), Value.NEEDED, Verb.READ), writes("-B", "--build", "--install"), takes("-D", "-G", "-j", "--target", "--config"))),
    Program("ctest", operands=Operands.DATA, options=(runs("-S", "-SP", "--build-and-test"), takes("-R", "-E", "-j", "-L"), moves_to("--test-dir"))),
    Program("configure", operands=Operands.DATA),
    *(Program(name, operands=Operands.FREE, options=_CC) for name in ("gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as", "ar", "nm", "objdump", "strip", "ranlib", "readelf", "size", "rustc", "gfortran", "tcc")),
    _sub("cargo", "build b test t check c run r clippy fmt bench doc tree metadata clean version nextest help locate-project pkgid verify-project", "install add fetch update publish login search vendor init new remove uninstall owner yank generate-lockfile fix package", *_CARGO),
    *(Program(name, operands=Operands.FREE, options=(asks("works elsewhere", "--config-path", value=Value.NEEDED),)) for name in ("rustfmt", "gofmt", "goimports", "clang-format", "shfmt", "stylua", "taplo", "djlint", "yamllint", "shellcheck", "hadolint", "markdownlint", "actionlint", "codespell", "vulture", "bandit", "cloc", "tokei", "scc", "ctags", "clang-tidy", "cppcheck", "golangci-lint", "staticcheck", "typos", "sqlfluff", "gitleaks", "radon", "lizard")),
    Program("go", options_first=True, operands=Operands.DATA, subcommands=table(
        *(Program(f"go {word}", operands=Operands.FREE, options=_GO, reader=_go) for word in ("build", "test", "vet", "fmt", "list", "doc", "version", "help", "run", "env", "clean")),
        Program("go mod", operands=Operands.DATA, reader=_listing("graph", "why", "verify", "tidy", "edit", "vendor"), options=_GO),  # type: ignore[arg-type]
        *(Program(f"go {word}", Decision.ASK, _DOWNLOADS, network=True, operands=Operands.DATA, options=_GO) for word in ("get", "install", "generate", "tool", "work", "bug", "telemetry", "fix")),
    ), other=Program("go other", Decision.ASK, "a subcommand that the table does not know", operands=Operands.DATA)),
    *(Program(name, operands=Operands.DATA, options=(takes("-cp", "-classpath", "-D"), Option(("-jar",), Value.NEEDED, Verb.RUN), *_JVM)) for name in ("java", "kotlin")),
    *(Program(name, operands=Operands.FREE, options=(writes("-d", "-s", "-h"), takes("-cp", "-classpath", "--release", "-source", "-target"), runs("-processor", "-processorpath", "--processor-path"))) for name in ("javac", "kotlinc", "scalac", "jar", "javadoc")),
    *(Program(name, operands=Operands.DATA, options=(flags("-o", "--offline", "-q", "-B", "-e"), Option(("-f", "-b", "--file", "--build-file"), Value.NEEDED, Verb.RUN), takes("-p", "-pl", "-D"), asks("runs an initialisation script", "-I", "--init-script", "-s", "--settings", "-gs", "-c", value=Value.NEEDED)), reader=_deploys) for name in ("mvn", "gradle", "ant", "sbt", "lein")),
    *(Program(name, operands=Operands.FREE, options=_LINT_CONFIG) for name in ("mypy", "black", "flake8", "isort", "pylint", "pyright", "basedpyright", "pyflakes", "pycodestyle", "pydocstyle", "autopep8", "yapf", "autoflake", "eslint", "prettier", "tsc", "jest", "vitest", "mocha", "biome", "stylelint", "rubocop", "rspec", "phpunit", "phpcs", "phpstan", "standard", "oxlint", "knip", "ava", "tap", "cypress", "playwright", "vite", "webpack", "rollup", "esbuild", "next", "nuxt", "astro", "turbo", "nx", "lerna", "swc", "babel", "coverage", "import-linter", "lint-imports", "sphinx-build", "mkdocs", "django-admin", "alembic", "cucumber", "behave", "robot", "locust", "hypothesis", "ty", "pyrefly", "deptry", "interrogate")),
    Program("ruff", operands=Operands.FREE, options=(asks("obeys another configuration", "--config", value=Value.NEEDED), takes("--select", "--ignore", "--line-length", "--target-version"), writes("-o", "--output-file"))),
)
