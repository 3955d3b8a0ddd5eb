"""Interpreters: a file of the worktree is run, inline code is read as far as it is harmless."""

from __future__ import annotations

import posixpath

from ..decision import Decision
from ..reading import Touch, Verb
from ..words import listed
from .inline import judge_python
from .inline_js import judge_javascript
from .model import (
    Found,
    Operands,
    Program,
    Value,
    asks,
    flags,
    letters,
    runs,
    table,
)

_PYTHON_LETTERS = frozenset("bBdEIOqsSuvxP")
_AS_PROGRAM = frozenset(
    listed("""
    pytest pip ruff mypy black flake8 coverage isort tox nox uv build twine pylint poetry
    pre_commit virtualenv pipx hatch pdm mkdocs alembic
    """)
)
"""Modules that are a program of the same name."""
RISKY_MODULES = frozenset(
    listed("""
    http.server http smtpd wsgiref.simple_server xmlrpc.server pydoc idlelib pdb code ensurepip
    telnetlib ftplib imaplib poplib smtplib webbrowser antigravity turtledemo asyncio pty base64
    zipapp cProfile profile trace runpy bdb venv timeit zipfile tarfile webbrowser
    sqlite3 nntplib cgi easy_install setuptools conda awscli ansible fabric IPython jupyter
    notebook nbconvert gunicorn uvicorn hypercorn wsgiref xmlrpc urllib flask waitress daphne
    twisted celery lib2to3 distutils ctypes multiprocessing subprocess os shutil importlib
    """)
)


KNOWN_SCRIPTS = {
    "manage.py": frozenset(
        listed("shell shell_plus dbshell flush reset_db sendtestemail changepassword")
    ),
    "setup.py": frozenset(listed("install upload register develop easy_install")),
}
"""Commands of scripts that have the same name everywhere, at which a person looks."""


def _python(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`-c` is read as far as it is harmless; `-m` is the module as a program; else a file."""
    found.changes = True
    words = list(args)
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word in ("-V", "--version", "-VV", "-h", "--help"):
            found.changes = False
            return
        if word in ("-W", "-X") and words:
            words.pop(0)
            continue
        option, attached = _first_special(word)
        if option == "c":
            _inline(attached or (words[0] if words else ""), found)
            return
        if option == "m":
            module = attached or (words.pop(0) if words else "")
            _module(module, tuple(words), found)
            return
        if option:
            found.remark(Decision.ASK, "python option", f"an option that is not known: {word}")
    if not words or words[0] == "-":
        found.opaque("python stdin", "runs what it reads from its input")
    else:
        found.touches.append(Touch(Verb.RUN, words[0]))
        _known_script(posixpath.basename(words[0]), words[1:], found)


def _first_special(word: str) -> tuple[str, str]:
    """The first letter of a cluster that is no plain flag, and what is joined to it."""
    if word.startswith("--"):
        return word, ""
    for index, letter in enumerate(word[1:], 1):
        if letter not in _PYTHON_LETTERS:
            return letter, word[index + 1 :]
    return "", ""


def _inline(code: str, found: Found) -> None:
    judged = judge_python(code)
    found.touches += [Touch(Verb.READ, path) for path in judged.reads]
    if judged.why:
        found.opaque("python -c", judged.why)


def _module(module: str, rest: tuple[str, ...], found: Found) -> None:
    package = module.partition(".")[0]
    if package in _AS_PROGRAM:
        module = module.removesuffix(".__main__")
    if module in _AS_PROGRAM:
        found.inner.append((module.replace("_", "-"), *rest))
    elif {module, package} & RISKY_MODULES or package in _AS_PROGRAM:
        reason = "serves, connects, unpacks or runs other code"
        found.remark(Decision.ASK, f"python -m {module}", reason)
    elif module == "django":
        _known_script("manage.py", list(rest), found)
    if module not in _AS_PROGRAM:
        files = [word for word in rest if not word.startswith("-") and ("." in word or "/" in word)]
        found.touches += [Touch(Verb.READ, path) for path in files]
        if module == "json.tool":
            operands = [word for word in rest if not word.startswith("-")]
            found.touches += [Touch(Verb.WRITE, path) for path in operands[1:2]]


def _known_script(name: str, rest: list[str], found: Found) -> None:
    """Scripts of a usual name whose commands run other code, or change more than files."""
    command = next((word for word in rest if not word.startswith("-")), "")
    if command in KNOWN_SCRIPTS.get(name, ()):
        reason = "runs code that is not read, or changes more than files"
        found.remark(Decision.ASK, f"{name} {command}", reason)


def _script(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Other interpreters: the first operand is the file."""
    if found.operands[:1] == ["-"]:
        found.opaque(f"{program.name} stdin", "runs what it reads from its input")
    elif found.operands:
        found.touches.append(Touch(Verb.RUN, found.operands[0]))
    elif not found.remarks and not any(
        word in ("-v", "-V", "--version", "-version", "--help", "-h", "--test") for word in args
    ):
        found.opaque(f"{program.name} stdin", "runs what it reads from its input")


_NODE_CODE = frozenset({"-e", "--eval", "-p", "--print", "-pe"})


def _node(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`node -e CODE` alone is read as far as it is harmless; everything else by the table."""
    if len(args) == 2 and args[0] in _NODE_CODE and program.name in ("node", "nodejs"):
        judged = judge_javascript(args[1])
        found.touches += [Touch(Verb.READ, path) for path in judged.reads]
        found.changes = True
        if judged.why:
            found.remark(Decision.ASK, f"{program.name} {args[0]}", judged.why)
        return
    from ..options import read_options

    read_options(program, args, found)
    _script(program, args, found)


_NODE = (
    runs("-e --eval -p --print -r --require --import --loader --experimental-loader --env-file"),
    asks(
        "opens a debugger",
        "--inspect --inspect-brk --inspect-port --inspect-wait --debug --debug-brk",
        Value.JOINED,
    ),
    runs("-i --interactive", Value.NONE),
    flags("--test --check --watch --experimental-strip-types --no-warnings --version --help -v"),
    flags("-c --experimental-vm-modules --no-deprecation --enable-source-maps --test-only"),
)
_PHP = (
    runs("-r -R -B -E -F -f -z -S -t -d -a -c"),
    flags("-l -v -m -i -n --version --ini"),
)
_SCRIPTING = (
    runs("-e -E -r -I -M -m -n -p -i -x -R -B -F -S -l -a -d -z -f"),
    letters("wctWvV"),
)
_LANGUAGES = """
perl ruby lua luajit tclsh Rscript julia guile groovy irb psysh osh
"""

INTERPRETERS = table(
    *(
        Program(name, raw=True, reader=_python)
        for name in ("python", "python3", "python2", "pypy", "pypy3", "py")
    ),
    *(
        Program(
            name,
            raw=True,
            operands=Operands.DATA,
            options_first=True,
            options=_NODE,
            strict=True,
            reader=_node,
        )
        for name in ("node", "nodejs", "ts-node", "tsx")
    ),
    *(
        Program(
            name,
            operands=Operands.DATA,
            options_first=True,
            options=_SCRIPTING,
            strict=True,
            reader=_script,
        )
        for name in _LANGUAGES.split()
    ),
    Program(
        "php",
        operands=Operands.DATA,
        options_first=True,
        options=_PHP,
        strict=True,
        reader=_script,
    ),
)
