"""Variables that a command sets for itself: the harmless ones are known, the others are looked at."""

from __future__ import annotations

import re

from .decision import Decision
from .reading import Remark

_HARMLESS = re.compile(
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLUMNS|LINES|CI|DEBUG|VERBOSE|NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?"
    r"|PY_COLORS|PYTHONDONTWRITEBYTECODE|PYTHONUNBUFFERED|PYTHONHASHSEED|PYTHONUTF8|PYTHONIOENCODING"
    r"|PYTHONASYNCIODEBUG|PYTHONDEVMODE|PYTHONFAULTHANDLER|PYTEST_XDIST_AUTO_NUM_WORKERS|DJANGO_SETTINGS_MODULE"
    r"|FLASK_ENV|FLASK_DEBUG|NODE_ENV|BABEL_ENV|RUST_BACKTRACE|RUST_LOG|CARGO_TERM_COLOR|CARGO_NET_OFFLINE"
    r"|CGO_ENABLED|GOOS|GOARCH|RAILS_ENV|RACK_ENV|APP_ENV|ENVIRONMENT|LOG_LEVEL|LOGLEVEL|TESTING|TEST"
    r"|PORT|HOST|UPDATE_SNAPSHOTS|SNAPSHOT_UPDATE|LOG_FORMAT|GOMAXPROCS|(VITE|REACT_APP|NEXT_PUBLIC)_\w+"
    r"|SOURCE_DATE_EPOCH|MAKELEVEL|CMAKE_BUILD_TYPE|JOBS|SEED|OMP_NUM_THREADS"
)
_LOADS_CODE = re.compile(
    r"LD_.*|DYLD_.*|GLIBC_TUNABLES|GCONV_PATH|NSS_.*|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND"
    r"|BASH_FUNC_.*|PERL5.*|PERLLIB|RUBYOPT|RUBYLIB|NODE_OPTIONS|NODE_PATH|PYTHON(STARTUP|HOME|PATH|INSPECT"
    r"|BREAKPOINT|WARNINGS|USERBASE|EXECUTABLE|PLATLIBDIR)|JAVA_TOOL_OPTIONS|_?JAVA_OPTIONS|JDK_JAVA_OPTIONS"
    r"|CLASSPATH|MAVEN_OPTS|GRADLE_OPTS|MAKEFLAGS|MAKEFILES|RUSTC.*|RUSTFLAGS|CARGO_.*|GOFLAGS|GOPROXY|GO.*|CC|CXX|CFLAGS"
    r"|LDFLAGS|GIT_.*|SSH_.*|PAGER|EDITOR|VISUAL|BROWSER|MANPAGER|LESS.*|SHELL|IFS|CDPATH|PATH|HOME|PWD|OLDPWD|TMPDIR"
    r"|GLOBIGNORE|EXECIGNORE|POSIXLY_CORRECT|BASH_COMPAT|BASH_LOADABLES_PATH"
    r"|XDG_.*|PIP_.*|UV_.*|NPM_.*|npm_.*|YARN_.*|PYTEST_.*|COVERAGE_.*|TOX_.*|.*_PROXY|.*_proxy|.*_OPTS|.*_OPTIONS"
)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def judge(name: str) -> Remark | None:
    """What is to be said about setting a variable for a command."""
    if _HARMLESS.fullmatch(name):
        return None
    if _LOADS_CODE.fullmatch(name):
        decision = Decision.ESCALATE if name.startswith(("LD_", "DYLD_")) else Decision.ASK
        return Remark(
            "defaults", decision, "environment", f"{name} changes what runs, or what it reads"
        )
    return Remark("defaults", Decision.ASK, "environment", f"sets the variable {name}")


def judge_own(name: str) -> Remark | None:
    """The same for a variable of the script itself: only names that the shell obeys matter."""
    return judge(name) if _LOADS_CODE.fullmatch(name) else None
