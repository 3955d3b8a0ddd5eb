"""Programs that run another command line, and shells: what counts is the inner command."""

from __future__ import annotations

from ..decision import Decision
from ..reading import Touch, Verb
from .model import (
    Found,
    Operands,
    Option,
    Program,
    Value,
    asking,
    asks,
    flags,
    joined,
    moves_to,
    reads,
    runs,
    table,
    takes,
)


def _wrapped(program: Program, args: tuple[str, ...], found: Found) -> None:
    rest = tuple(found.operands[program.skip :])
    if rest:
        found.inner.append(rest)
    else:
        found.remark(Decision.ASK, program.name, f"{program.name} without a command")


def _command(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`command -v NAME` only looks a name up."""
    if not (args[:1] and args[0] in ("-v", "-V")):
        _wrapped(program, args, found)


_ENV_FLAGS = frozenset({"-i", "-", "--ignore-environment", "-0", "--null", "-v", "--debug"})


def _env(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`env A=1 B=2 program …`; alone it prints the environment."""
    words = list(args)
    while words:
        word = words.pop(0)
        if word in _ENV_FLAGS or word.startswith("--unset="):
            continue
        if word in ("-u", "--unset") and words:
            words.pop(0)
        elif word in ("-C", "--chdir") and words:
            _env_directory(words.pop(0), found)
        elif word.startswith("--chdir="):
            _env_directory(word.partition("=")[2], found)
        elif word.startswith("-"):
            name = word.partition("=")[0]
            found.opaque("env option", f"env splits or changes a command line: {name}")
            if word in ("-S", "--split-string") and words:
                found.inner.append(tuple(words.pop(0).split()))
        elif "=" in word:
            found.environment.append(word)
        else:
            words.insert(0, word)
            break
    if words:
        found.inner.append(tuple(words))
    elif not found.inner:
        found.remark(Decision.ASK, "env", "prints the environment into the record")


def _env_directory(path: str, found: Found) -> None:
    found.cwd = path
    found.touches.append(Touch(Verb.LIST, path))
    if path.startswith(("/", "~", "..")):
        found.remark(Decision.ASK, "env -C", "works in another directory")


def _shell(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`sh -c TEXT` is read as a script; a file or standard input is not."""
    words = list(args)
    text: str | None = None
    while words and words[0].startswith(("-", "+")) and words[0] != "-":
        word = words.pop(0)
        if word.startswith("--"):
            if word in ("--rcfile", "--init-file") and words:
                found.touches.append(Touch(Verb.RUN, words.pop(0)))
            found.opaque(f"{program.name} option", f"an option of the shell: {word}")
            continue
        if word.startswith("-") and "c" in word[1:]:
            text = words.pop(0) if words else ""
            break
        if word in ("-o", "+o", "-O", "+O") and words:
            words.pop(0)
        if set(word[1:]) & set("lis"):
            found.opaque(f"{program.name} option", "a login or interactive shell reads more files")
    if text is not None:
        found.script.append(text)
        found.opaque(f"{program.name} -c", "a shell within: its script belongs into run_shell")
    elif words:
        found.touches.append(Touch(Verb.RUN, words[0]))
        found.opaque(f"{program.name} script", "runs a shell script whose text was not read")
    else:
        found.opaque(f"{program.name} stdin", "runs what it reads from its input")


def _xargs(program: Program, args: tuple[str, ...], found: Found) -> None:
    if found.operands:
        found.inner.append(tuple(found.operands))
    found.opaque("xargs", "the arguments come from the input and cannot be read")


def _remaining(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Runners of a project's tools: `uv run X`, `npx X`."""
    found.local = True
    words = tuple(found.operands)
    if words and program.name == "uv run" and words[0].endswith(".py"):
        words = ("python3", *words)
    if words:
        found.inner.append(words)


def _wrapper(
    names: str,
    *options: Option,
    skip: int = 0,
    why: str = "",
    strict: bool = False,
) -> tuple[Program, ...]:
    """Programs whose operands, after `skip` of their own, are another command line."""
    return tuple(
        Program(
            name,
            Decision.ASK if why else Decision.ALLOW,
            why,
            reads_only=True,
            operands=Operands.COMMAND,
            options=options,
            options_first=True,
            skip=skip,
            strict=strict,
            reader=_wrapped,
        )
        for name in names.split()
    )


_EDITORS = """
vi vim nvim view vimdiff ex ed emacs emacsclient nano pico joe micro code less more most man info
screen tmux mc ranger gdb lldb dlv
"""
_SHELLS = "sh bash dash zsh ksh ash mksh fish rbash csh tcsh pwsh elvish nu"

WRAPPERS = table(
    Program("env", reads_only=True, raw=True, reader=_env),
    *_wrapper(
        "timeout",
        takes("-k --kill-after -s --signal"),
        flags("--preserve-status --foreground -v --verbose"),
        skip=1,
        strict=True,
    ),
    *_wrapper("nice", takes("-n --adjustment")),
    *_wrapper("ionice", takes("-c -n --class --classdata"), flags("-t")),
    *_wrapper("stdbuf", takes("-i -o -e --input --output --error"), strict=True),
    *_wrapper("time", flags("-p -v"), takes("-f"), strict=True),
    *_wrapper("builtin"),
    Program(
        "command",
        reads_only=True,
        operands=Operands.COMMAND,
        options=(flags("-v -V -p"),),
        options_first=True,
        reader=_command,
    ),
    *_wrapper("nohup", why="detaches from the run"),
    *_wrapper(
        "setsid",
        flags("-f -w -c --fork --wait --ctty"),
        why="leaves the process group of the run",
    ),
    *_wrapper("exec", takes("-a"), flags("-c -l"), why="replaces the shell"),
    *_wrapper(
        "flock",
        runs("-c --command"),
        takes("-w -E"),
        flags("-n -x -s -u"),
        skip=1,
        why="runs a command under a lock",
    ),
    *_wrapper(
        "watch",
        takes("-n --interval"),
        flags("-d -t -x -g -e"),
        why="repeats a command without end",
    ),
    *_wrapper(
        "strace ltrace",
        takes("-e -o -s -p"),
        flags("-f"),
        why="traces a program",
    ),
    *_wrapper("taskset chrt setarch linux64 linux32", skip=1, why="changes how a program runs"),
    *_wrapper("prlimit", why="changes limits"),
    *_wrapper("busybox toybox", why="is one file that is many programs"),
    *_wrapper("entr unbuffer rlwrap dbus-run-session xvfb-run", why="runs a command"),
    *asking("parallel", "runs commands made from its input"),
    *asking("expect", "drives other programs", operands=Operands.READ),
    *asking(
        "script",
        "records a session, in which it runs a command",
        runs("-c --command"),
        flags("-q -a -e -f"),
        operands=Operands.WRITE,
    ),
    Program(
        "xargs",
        reads_only=True,
        operands=Operands.COMMAND,
        options_first=True,
        options=(
            takes("-I -n -L -P -d -s -E --max-args --max-procs --delimiter --max-lines"),
            joined("-i --replace -l -e"),
            reads("-a --arg-file"),
            flags("-0 -r -t -p -x --null --no-run-if-empty"),
        ),
        reader=_xargs,
    ),
    *(Program(name, raw=True, reader=_shell) for name in _SHELLS.split()),
    Program(
        "npx",
        reads_only=True,
        operands=Operands.COMMAND,
        options_first=True,
        strict=True,
        options=(
            flags("--no-install --no --offline --quiet -q"),
            asks("may download and run a package", "--yes -y"),
            asks("may download and run a package", "-p --package", Value.NEEDED),
            runs("-c --call"),
        ),
        reader=_remaining,
    ),
    *asking(_EDITORS, "can start a shell", operands=Operands.WRITE),
)
PROJECT_RUN = Program(
    "run",
    reads_only=True,
    operands=Operands.COMMAND,
    options_first=True,
    strict=True,
    options=(
        flags("--offline --frozen --no-sync --locked --no-progress -q --quiet --dev --no-dev"),
        flags("--all-extras -m --module"),
        takes("--group --extra --package"),
        moves_to("--directory --project"),
        asks("may download a package", "--with --with-requirements --with-editable", Value.NEEDED),
        asks("may download a Python", "--python -p", Value.NEEDED),
    ),
    reader=_remaining,
)
"""`uv run …`, `poetry run …`: the command behind it is what counts."""
