"""Programs that run another command line, and shells: what counts is the inner command."""

from __future__ import annotations

from ..decision import Decision
from ..reading import Touch, Verb
from .model import (
    Found,
    Operands,
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
)


def _wrapped(program: Program, args: tuple[str, ...], found: Found) -> None:
    rest = tuple(found.operands[program.skip :])
    if rest:
        found.inner.append(rest)
    elif program.name != "env":
        found.remark(Decision.ASK, program.name, f"{program.name} without a command")


def _env(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`env A=1 B=2 program …`; alone it prints the environment."""
    words = list(args)
    while words:
        word = words[0]
        if word in ("-i", "-", "--ignore-environment", "-0", "--null", "-v", "--debug"):
            words.pop(0)
        elif word in ("-u", "--unset"):
            del words[:2]
        elif word.startswith(("--unset=", "-u")):
            words.pop(0)
        elif word in ("-C", "--chdir") and len(words) > 1:
            found.cwd = words[1]
            del words[:2]
        elif word.startswith("--chdir="):
            found.cwd = words.pop(0).partition("=")[2]
        elif word.startswith("-"):
            found.opaque("env option", f"env splits or changes a command line: {word.partition('=')[0]}")
            words.pop(0)
            if word in ("-S", "--split-string") and words:
                found.inner.append(tuple(words.pop(0).split()))
        elif "=" in word:
            found.environment.append(words.pop(0))
        else:
            break
    if words:
        found.inner.append(tuple(words))
    elif not found.inner:
        found.remark(Decision.ASK, "env", "prints the environment into the record")


def _shell(program: Program, args: tuple[str, ...], found: Found) -> None:
    """`sh -c TEXT` is read as a script; a file or standard input is not."""
    words = list(args)
    text: str | None = None
    while words and words[0].startswith(("-", "+")) and words[0] != "-":
        word = words.pop(0)
        if word.startswith("--"):
            if word in ("--rcfile", "--init-file") and words:
                words.pop(0)
            found.opaque(f"{program.name} option", f"an option of the shell: {word}")
            continue
        if "c" in word[1:] and word.startswith("-"):
            text = words.pop(0) if words else ""
            break
        if word in ("-o", "+o", "-O", "+O") and words:
            words.pop(0)
        if set(word[1:]) & set("lis"):
            found.opaque(f"{program.name} option", "a login or interactive shell reads start-up files")
    if text is not None:
        found.script.append(text)
        found.opaque(f"{program.name} -c", "a shell inside: use run_shell, which is read as it is")
    elif words:
        found.touches.append(Touch(Verb.RUN, words[0]))
        found.opaque(f"{program.name} script", "runs a shell script whose text was not read")
    else:
        found.opaque(f"{program.name} stdin", "runs what it reads from its input")


def _xargs(program: Program, args: tuple[str, ...], found: Found) -> None:
    inner = tuple(found.operands)
    if inner:
        found.inner.append(inner)
    found.opaque("xargs", "the arguments come from the input and cannot be read")


def _remaining(program: Program, args: tuple[str, ...], found: Found) -> None:
    """Runners of a project's tools: `uv run X`, `npx X`."""
    if found.operands:
        found.inner.append(tuple(found.operands))


def _editor(program: Program, args: tuple[str, ...], found: Found) -> None:
    found.changes = True


_WRAP = {"operands": Operands.COMMAND, "options_first": True, "reader": _wrapped, "reads_only": True}
WRAPPERS = table(
    Program("env", reads_only=True, raw=True, reader=_env),
    Program("timeout", skip=1, options=(takes("-k", "--kill-after", "-s", "--signal"), flags("--preserve-status", "--foreground", "-v", "--verbose")), **_WRAP),  # type: ignore[arg-type]
    Program("nice", options=(takes("-n", "--adjustment"),), **_WRAP),  # type: ignore[arg-type]
    Program("ionice", options=(takes("-c", "-n", "--class", "--classdata"), flags("-t")), **_WRAP),  # type: ignore[arg-type]
    Program("stdbuf", options=(takes("-i", "-o", "-e", "--input", "--output", "--error"),), **_WRAP),  # type: ignore[arg-type]
    Program("time", options=(flags("-p", "-v"), takes("-f")), strict=True, **_WRAP),  # type: ignore[arg-type]
    Program("command", options=(flags("-v", "-V", "-p"),), **_WRAP),  # type: ignore[arg-type]
    Program("builtin", **_WRAP),  # type: ignore[arg-type]
    Program("nohup", Decision.ASK, "detaches from the run", **_WRAP),  # type: ignore[arg-type]
    Program("setsid", Decision.ASK, "leaves the process group of the run", options=(flags("-f", "-w", "-c", "--fork", "--wait", "--ctty"),), **_WRAP),  # type: ignore[arg-type]
    Program("exec", Decision.ASK, "replaces the shell", options=(takes("-a"), flags("-c", "-l")), **_WRAP),  # type: ignore[arg-type]
    Program("flock", Decision.ASK, "runs a command under a lock", skip=1, options=(runs("-c", "--command"), takes("-w", "-E"), flags("-n", "-x", "-s", "-u")), **_WRAP),  # type: ignore[arg-type]
    Program("watch", Decision.ASK, "repeats a command without end", options=(takes("-n", "--interval"), flags("-d", "-t", "-x", "-g", "-e")), **_WRAP),  # type: ignore[arg-type]
    Program("strace", Decision.ASK, "traces a program", options=(takes("-e", "-o", "-s", "-p"), flags("-f")), **_WRAP),  # type: ignore[arg-type]
    Program("ltrace", Decision.ASK, "traces a program", options=(takes("-e", "-o"),), **_WRAP),  # type: ignore[arg-type]
    Program("taskset", Decision.ASK, "binds a program to processors", skip=1, **_WRAP),  # type: ignore[arg-type]
    Program("chrt", Decision.ASK, "changes scheduling", skip=1, **_WRAP),  # type: ignore[arg-type]
    Program("prlimit", Decision.ASK, "changes limits", **_WRAP),  # type: ignore[arg-type]
    Program("setarch", Decision.ASK, "changes the personality", skip=1, **_WRAP),  # type: ignore[arg-type]
    Program("busybox", Decision.ASK, "one file that is many programs", **_WRAP),  # type: ignore[arg-type]
    Program("toybox", Decision.ASK, "one file that is many programs", **_WRAP),  # type: ignore[arg-type]
    Program("parallel", Decision.ASK, "runs commands made from its input", operands=Operands.DATA),
    Program("entr", Decision.ASK, "runs a command whenever files change", **_WRAP),  # type: ignore[arg-type]
    Program("script", Decision.ASK, "records a session, in which it runs a command", operands=Operands.WRITE, options=(runs("-c", "--command"), flags("-q", "-a", "-e", "-f"))),
    Program("expect", Decision.ASK, "drives other programs", operands=Operands.READ),
    Program("xargs", options_first=True, operands=Operands.COMMAND, reader=_xargs, reads_only=True, options=(
        takes("-I", "-n", "-L", "-P", "-d", "-s", "-E", "--max-args", "--max-procs", "--delimiter", "--max-lines"), joined("-i", "--replace", "-l", "-e"), reads("-a", "--arg-file"), flags("-0", "-r", "-t", "-p", "-x", "--null", "--no-run-if-empty"))),
    *(Program(name, raw=True, reader=_shell, stdin_is_code=True) for name in ("sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash", "csh", "tcsh", "pwsh", "elvish", "nu")),
    Program("npx", options_first=True, operands=Operands.COMMAND, reader=_remaining, reads_only=True, options=(flags("--no-install", "--no", "--offline"), flags("--quiet", "-q"), asks("may download and run a package", "--yes", "-y"), asks("may download and run a package", "-p", "--package", value=Value.NEEDED), runs("-c", "--call"))),
    Program("coverage", operands=Operands.DATA),
    *(
        Program(name, Decision.ASK, "an editor or pager that can start a shell", operands=Operands.WRITE, reader=_editor)
        for name in ("vi", "vim", "nvim", "view", "vimdiff", "ex", "ed", "emacs", "emacsclient", "nano", "pico", "joe", "micro", "code", "less", "more", "most", "man", "info", "screen", "tmux", "mc", "ranger", "gdb", "lldb", "pdb")
    ),
)
PROJECT_RUN = Program("run", options_first=True, operands=Operands.COMMAND, reader=_remaining, reads_only=True, strict=True, options=(
    flags("--offline", "--frozen", "--no-sync", "--locked", "--no-progress", "-q", "--quiet", "--dev", "--no-dev", "--all-extras"),
    takes("--group", "--extra", "--package"), moves_to("--directory", "--project"),
    asks("may download and run a package", "--with", "--with-requirements", "--with-editable", "--python", "-p", value=Value.NEEDED)))
"""`uv run …`, `poetry run …`: the command behind it is what counts."""
