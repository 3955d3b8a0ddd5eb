#!/usr/bin/env python3
"""A stand-in for AGY's command line that honours its contract, arguments included.

What it does is the `task` of the prompt: one of the functions at the end. Arguments that are not
as agreed end it with status 64. `FAKE_OLD` in its name: a version without standard input.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

OLD = "old" in os.path.basename(sys.argv[0])


def refuse(why):
    sys.stderr.write(f"usage: {why}\n")
    sys.exit(64)


def options(words):
    """Long options in order; a value is the next word, or stands after `=`."""
    flags = {"--sandbox", "--dangerously-skip-permissions", "--disable-slash-commands"}
    found = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            refuse(f"unexpected {word[:40]!r}")
        if name in flags:
            found.append((name, None))
        elif equals:
            found.append((name, value))
        elif rest:
            found.append((name, rest.pop(0)))
        else:
            refuse(f"{name} needs a value")
    return found


def expect(given, names):
    got = [name for name, _ in given if name != "--model"]
    if got != names:
        refuse(f"options {got}")


if sys.argv[1:] == ["--help"]:
    print("--print, --model, --effort" + ("" if OLD else ", --input-format text|stream-json"))
    sys.exit(0)

given = options(sys.argv[1:])
value = dict(given)
common = ["--effort", "--sandbox"]
piped = "--input-format" in value
streamed = value.get("--output-format") == "stream-json"
if piped:
    if OLD:
        refuse("unknown flag --input-format")
    expect(
        given,
        [
            "--input-format",
            *common,
            "--dangerously-skip-permissions",
            "--disable-slash-commands",
            "--output-format",
            "--json-schema",
            "--print-timeout",
            "--print",
        ],
    )
    event = json.loads(sys.stdin.readline())
    prompt = event["message"]["content"]
    if sys.stdin.read():
        refuse("more than one line on standard input")
else:
    prompt = value.get("--print", "")
    if sys.stdin.read():
        refuse("standard input is not empty")
    if streamed:
        expect(
            given,
            ["--print", *common, "--disable-slash-commands", "--output-format", "--print-timeout"],
        )
    else:
        expect(
            given,
            [
                "--print",
                *common,
                "--dangerously-skip-permissions",
                "--disable-slash-commands",
                "--output-format",
                "--json-schema",
                "--print-timeout",
            ],
        )
if value["--effort"] != "low" or not value["--print-timeout"].endswith("s"):
    refuse("effort or timeout")
if not streamed and value["--output-format"] != "json":
    refuse("output format")

head, mark, context = prompt.partition("Context JSON: ")
if mark:
    facts = json.loads(context)
    if list(facts) != ["task", "allowed_programs", "verification_programs", "observations"]:
        refuse("context")
    task = facts["task"]
else:
    facts, task = {}, prompt


def emit(**event):
    print(json.dumps(event), flush=True)


def say(text):
    emit(event="step_update", step_update={"text_delta": text})


def answer(action, status="SUCCESS", **more):
    envelope = {"status": status, **more}
    if action is not None:
        envelope["structured_output"] = action
    if streamed:
        emit(event="result", result=envelope)
    else:
        print(json.dumps(envelope))


def read():
    usage = {"input_tokens": 812, "output_tokens": 19}
    answer({"kind": "read_file", "path": "app/views.py"}, usage=usage, extra=1)


def speak():
    emit(event="init", init={})
    say("I look ")
    time.sleep(0.05)
    say("first.\n")
    emit(event="note", anything="ignored")
    answer({"kind": "verify"}, usage={"input_tokens": 40, "output_tokens": 2})


def surroundings():
    found = {
        "cwd": sorted(os.listdir(".")),
        "env": dict(os.environ),
        "argv": sys.argv,
        "home": sorted(os.listdir(os.environ["HOME"])),
        "uid": os.getuid(),
        "root": sorted(os.listdir("/")),
        "facts": facts,
        "model": value.get("--model"),
        "timeout": value["--print-timeout"],
        "schema": json.loads(value["--json-schema"]),
        "command_lines": [
            pathlib.Path(f"/proc/{p}/cmdline").read_text()
            for p in os.listdir("/proc")
            if p.isdigit()
        ],
    }
    with open(os.path.join(os.environ["HOME"], "seen.json"), "w") as file:
        json.dump(found, file)
    answer({"kind": "verify"})


def linger():
    """A descendant holds the pipes open."""
    subprocess.Popen(["sleep", "30"], start_new_session=True)
    read()


def unavailable():
    sys.stderr.write("upstream answered 503 Service Unavailable\n")
    sys.exit(1)


def fail():
    """The task's second line is a status to complain of."""
    sys.stderr.write(f"upstream answered {task.split()[1]}\n")
    sys.exit(1)


def half():
    """The first half of an envelope."""
    print('{"status": "SUCCESS", "structured_output": {"kind": "verify"}', flush=True)


def endless_output():
    while True:
        print("x" * 500, flush=True)
        time.sleep(0.01)


def endless():
    while True:
        say("word " * 100)
        time.sleep(0.01)


def bad_line():
    say("I be")
    print("this is no JSON", flush=True)
    time.sleep(30)


def blank_line():
    say("I be")
    print(flush=True)
    time.sleep(30)


def cut():
    say("I be")


def killed():
    os.kill(os.getpid(), 9)


def output():
    """The task's second line, word for word."""
    sys.stdout.write(task.split("\n", 1)[1])


def act():
    """The task's second line is the action."""
    answer(json.loads(task.split("\n", 1)[1]))


FUNCTIONS = {
    "read": read,
    "speak": speak,
    "surroundings": surroundings,
    "linger": linger,
    "unavailable": unavailable,
    "bad line": bad_line,
    "blank line": blank_line,
    "cut": cut,
    "killed": killed,
    "output": output,
    "act": act,
    "sleep": lambda: time.sleep(5),
    "say and sleep": lambda: (say("I be"), time.sleep(5)),
    "flood": lambda: print("x" * 1000),
    "endless": endless,
    "endless output": endless_output,
    "fail": fail,
    "half": half,
    "read verify": lambda: answer({"kind": "verify"}),
    "error": lambda: answer(None, status="ERROR"),
    "nothing": lambda: answer(None),
    "null": lambda: answer(None, structured_output=None),
}
FUNCTIONS[task.split("\n", 1)[0]]()
