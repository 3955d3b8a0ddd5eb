"""F28: rules about paths bind what commands do unseen. What may not be read is not there to be read,
by no door; and without such rules nothing is otherwise."""

from __future__ import annotations

import os
from typing import Any

import pytest

from runtime import approvals
from runtime.agent import walls
from runtime.approvals.regating import regate
from runtime.core.errors import BadInput
from runtime.gating import backtest, policies
from runtime.runs import replay
from runtime.sandbox import Cage
from tests.agent.job_scenes import ends, job, output
from tests.agent.scenes import answer, seen, tool, tree, write
from tests.kit import FINISH, VERIFY, Told, play, repository, with_remote, workspace

SECRET = "the-combination-is-4711"
KEY = "the-key-below-the-mat"
READER = "print(open('sec' + 'ret.txt').read())\n"
OBJECTS = """import glob, zlib
for path in glob.glob('/m31a/git/objects/??/*') + glob.glob('/m31a/git/objects/pack/*.pack'):
    data = open(path, 'rb').read()
    for at in range(len(data)):
        try:
            print(zlib.decompressobj().decompress(data[at:]))
        except zlib.error:
            pass
print('looked')
"""
FILES = {"secret.txt": f"{SECRET}\n", "notes.txt": "first\n", "conf/deep/key": f"{KEY}\n",
         "r.py": READER, "objects.py": OBJECTS, "src/app.py": "x = 1\n"}  # fmt: skip
ASK = {"kind": "ask_human", "question": "Go on?"}


def rule(path: str, more: str = "", decision: str = "DENY") -> str:
    return f'[[rule]]\nid = "closed"\ndecision = "{decision}"\npath = {path}\n{more}\n'


DENIED = rule('"/secret.txt"')


def begun(cast, policy, text: str = DENIED, files: dict[str, str] | None = None) -> None:  # type: ignore[no-untyped-def]
    workspace(cast.alice, repository({**FILES, **(files or {})}))
    if text:
        policy("system.toml", text)


def everything(told: Told) -> str:
    """All that the model was shown."""
    return "\n".join(seen(told))


def read(path: str) -> dict[str, Any]:
    return {"kind": "read_file", "path": path}


NAMED = [
    read("secret.txt"),
    {"kind": "grep", "pattern": "combination"},
    tool("cat", "secret.txt"),
    tool("grep", "-r", "combination"),
    tool("git", "show", "HEAD:secret.txt"),
    tool("git", "show", ":secret.txt"),
    tool("git", "log", "-p"),
    {"kind": "git_show", "rev": "HEAD"},
    {"kind": "git_diff"},
]
UNSEEN = [
    tool("python3", "r.py"),
    tool("python3", "objects.py"),
    tool("git", "log", "--oneline"),
    {"kind": "git_log"},
    {"kind": "git_status"},
    {"kind": "git_show", "rev": "HEAD", "path": "notes.txt"},
]


def test_F28_every_door_that_names_it_is_refused(cast, policy):
    begun(cast, policy)
    told = play(cast.alice, NAMED, mode="autonomous")
    verdicts = [(one["decision"], one["rule"]) for one in told.of("policy.decided")]
    assert verdicts == [("DENY", "closed")] * len(NAMED)
    assert SECRET not in everything(told)


def test_F28_no_script_reads_it_and_no_object_of_git(cast, policy):
    begun(cast, policy)
    told = play(cast.alice, UNSEEN, mode="autonomous")
    script, objects, log, own_log, status, other = seen(told)
    assert SECRET not in everything(told)
    assert "PermissionError" in script and "1 paths hidden" in script
    assert "looked" in objects and "commands have none" in objects
    assert "not a git repository" in log and "use git_status, git_log" in log
    assert "start" in own_log and "exit status 0" in status and "first" in other
    (trace,) = [one["trace"] for one in told.of("action.completed")[:1]]
    assert trace["sandbox"]["path_rules"].startswith("rules closed: 1 paths hidden")
    assert trace["sandbox"]["git_objects"] == "none"
    assert (tree(told) / "secret.txt").read_text() == f"{SECRET}\n"


def test_F28_the_verification_cannot_read_it_for_the_model(cast, policy):
    workspace(cast.alice, repository(FILES), verify=("python3 r.py",))
    policy("system.toml", DENIED)
    told = play(cast.alice, [VERIFY, FINISH])
    assert "PermissionError" in seen(told)[0] and SECRET not in everything(told)


@pytest.mark.parametrize("path", ['"/conf/"', '"conf/deep/key"'])
def test_a_folder_is_empty_and_cannot_be_moved_aside(cast, policy, path):
    begun(cast, policy, rule(path))
    script = (
        "import os\n"
        "for old in ('conf', 'conf/deep'):\n"
        "    try:\n        os.rename(old, old + '-moved')\n"
        "    except OSError as error:\n        print('stays:', error.strerror)\n"
        "for top, _, names in os.walk('.'):\n"
        "    for name in names:\n"
        "        try:\n            print(top, name, open(os.path.join(top, name)).read())\n"
        "        except OSError:\n            pass\n"
    )
    steps = [write("walk.py", script), tool("python3", "walk.py"), tool("python3", "walk.py")]
    told = play(cast.alice, steps)
    assert KEY not in everything(told)
    assert seen(told)[1].count("stays: ") == 2 and "x = 1" in seen(told)[2]


def test_a_file_made_later_is_hidden_from_the_next_command(cast, policy):
    begun(cast, policy, rule('"*.pem"'))
    make = "open('a.p' + 'em', 'w').write('made-by-a-command')\n"
    look = "print(open('a.p' + 'em').read())\n"
    steps = [write("make.py", make), write("look.py", look)]
    told = play(cast.alice, [*steps, *[tool("python3", name) for name in ("make.py", "look.py")]])
    assert "exit status 0" in seen(told)[2] and "PermissionError" in seen(told)[3]
    assert "made-by-a-command" not in everything(told)


def test_another_name_of_the_same_file_is_hidden_too(cast, policy):
    begun(cast, policy, "")
    link = "import os; os.link('secret.txt', 'src/other.txt')\n"
    look = "print(open('src/other.txt').read())\n"
    steps = [write("link.py", link), tool("python3", "link.py"), write("look.py", look), ASK]
    told = play(cast.alice, [*steps, tool("python3", "look.py")])
    policy("system.toml", DENIED)
    answer(told, cast.bob, comment="go on")
    told.work()
    assert "PermissionError" in seen(told)[-1] and "2 paths hidden" in seen(told)[-1]


def test_a_rule_that_comes_while_a_run_is_open_holds_for_its_next_command(cast, policy):
    begun(cast, policy, "")
    told = play(cast.alice, [tool("python3", "r.py"), ASK, tool("python3", "r.py")])
    assert SECRET in seen(told)[0]
    policy("system.toml", DENIED)
    answer(told, cast.bob, comment="go on")
    told.work()
    assert "PermissionError" in seen(told)[-1]


def test_without_such_rules_commands_run_in_the_cage_that_git_has(cast, policy, monkeypatch):
    made = []
    plain_start = Cage.__init__

    def counted(self: Cage, *args: Any, **more: Any) -> None:
        made.append(more)
        plain_start(self, *args, **more)

    monkeypatch.setattr(Cage, "__init__", counted)
    monkeypatch.setattr(walls, "find", lambda *_: pytest.fail("nothing is looked for"))
    text = rule('"/secret.txt"', decision="ASK") + rule('"/x"', 'tool = "read_file"').replace(
        "closed", "other"
    )
    begun(cast, policy, text)
    made.clear()
    told = play(cast.alice, [tool("python3", "r.py"), tool("git", "log", "--oneline")])
    assert SECRET in seen(told)[0] and "start" in seen(told)[1]
    assert len(made) == 1 and not made[0]["covers"] and not made[0]["noted"]
    assert "path_rules" not in told.last("action.completed")["trace"]["sandbox"]


FAST = rule('["/docs/**", "/src/app.py"]', 'verbs = ["writes", "deletes"]')
CHANGES = """import os, sys
for path, text in (('do' + 'cs/guide.md', 'x'), ('do' + 'cs/new.md', 'x'), ('sr' + 'c/app.py', 'x')):
    try:
        open(path, 'w').write(text)
    except OSError as error:
        print(path, error.strerror)
try:
    os.rename('sr' + 'c', 'old')
except OSError as error:
    print('src', error.strerror)
"""
DOCS = {"docs/guide.md": "guide\n", "change.py": CHANGES, "made/x.md": "x\n"}


def test_what_may_not_be_written_is_read_only_for_a_script(cast, policy):
    begun(cast, policy, FAST, DOCS)
    told = play(
        cast.alice, [tool("python3", "change.py"), tool("git", "status", "--short"), FINISH]
    )
    said, status, _ = seen(told)
    assert said.count("Read-only file system") == 3 and "src Device or resource busy" in said
    assert "0 paths hidden, 2 held fast" in said and "git's objects" not in said
    assert "exit status 0" in status, "git's view is there where nothing is hidden"
    assert told.state == "succeeded" and told.of("checkpoint.created") == []


MAKE = {"make.py": "open('docs/ne' + 'w.md', 'w').write('made\\n')\n", "docs/guide.md": "guide\n"}
NEW = rule('"/docs/*.md"', 'verbs = ["writes"]')
PUSH = {"kind": "git_push"}
COMMIT = {"kind": "git_commit", "message": "work"}


def verdict(told: Told, kind: str) -> tuple[str, str]:
    """The last one about such an action."""
    actions = [one["action"] for one in told.of("action.proposed") if one["kind"] == kind]
    found = [one for one in told.of("policy.decided") if one["action"] == actions[-1]]
    return found[-1]["decision"], found[-1]["rule"]


def test_a_new_file_that_no_rule_lets_be_written_is_not_delivered(cast, policy):
    begun(cast, policy, NEW, MAKE)
    told = play(cast.alice, [tool("python3", "make.py"), VERIFY, COMMIT, FINISH])
    assert [one["paths"] for one in told.of("guarded_files.changed")] == [["docs/new.md"]]
    assert verdict(told, "git_commit") == verdict(told, "finish") == ("DENY", "closed")
    for said in seen(told)[2:]:
        assert "docs/new.md was changed" in said and "rule closed" in said and "put it back" in said
    assert "delivery.completed" not in told.types
    assert replay.check(told.run.pk) == ""
    found = backtest.run(backtest.document("system.toml", ""))
    assert (found.drifted, {one.kind for one in found.changes}) == (0, {"git_commit", "finish"})


@pytest.mark.thorough
@pytest.mark.parametrize("extra", ['tool = ["run_tool", "run_shell"]', 'program = "*"'])
def test_a_rule_about_commands_alone_lets_edits_be_delivered(cast, policy, extra):
    begun(cast, policy, NEW + extra + "\n", MAKE)
    told = play(cast.alice, [write("docs/guide.md", "better\n"), VERIFY, COMMIT, FINISH])
    assert told.state == "succeeded" and told.of("guarded_files.changed") == []
    told = play(cast.alice, [tool("python3", "make.py"), VERIFY, FINISH])
    assert verdict(told, "finish") == ("DENY", "closed")


def test_what_was_put_back_is_delivered(cast, policy):
    begun(cast, policy, NEW, MAKE)
    back = tool("python3", "-c", "import os, glob; [os.remove(p) for p in glob.glob('docs/n*')]")
    told = play(cast.alice, [tool("python3", "make.py"), back, write("a.txt", "a"), VERIFY, FINISH])
    while told.state == "waiting":
        answer(told, cast.bob)
        told.work()
    assert told.of("guarded_files.changed") and told.state == "succeeded"


@pytest.mark.parametrize("decision", ["ASK", "ESCALATE"])
def test_what_rules_ask_about_is_asked_about_before_delivery(cast, policy, decision):
    begun(cast, policy, NEW.replace("DENY", decision), MAKE)
    told = play(cast.alice, [tool("python3", "make.py"), VERIFY, FINISH], mode="autonomous")
    assert (told.pending.action_kind, told.pending.rule) == ("finish", "closed")
    assert told.pending.decision == decision
    card = approvals.card(told.pending)
    assert card["guarded_files"] == ["docs/new.md"] and "+made" in card["diff"]
    assert not regate(told.pending.pk, policies.current())
    answer(told, cast.bob if decision == "ASK" else cast.sol)
    told.work()
    assert told.state == "succeeded" and replay.check(told.run.pk) == ""


def test_a_rule_that_comes_after_the_change_keeps_it_from_going_out(cast, policy):
    root = repository({**FILES, **MAKE})
    with_remote(root)
    workspace(cast.alice, root)
    told = play(cast.alice, [tool("python3", "make.py"), VERIFY, COMMIT, ASK, PUSH, FINISH])
    policy("system.toml", NEW)
    answer(told, cast.bob, comment="go on")
    told.work()
    assert verdict(told, "git_push") == verdict(told, "finish") == ("DENY", "closed")
    assert "docs/new.md was changed" in seen(told)[-1]


def test_a_job_ends_when_something_else_is_to_be_covered(cast, policy):
    begun(cast, policy, rule('"*.pem"'), {"make.py": "open('a.p' + 'em', 'w')"})
    told = play(
        cast.alice, [job("sleep", "60"), tool("python3", "make.py"), tool("ls"), output(), FINISH]
    )
    assert ends(told) == [("j1", "rules")]
    assert "was ended, for rules deny other paths now" in seen(told)[3]


def test_a_workspace_without_walls_cannot_hold_such_a_rule_and_runs_nothing(cast, policy):
    workspace(cast.alice, repository(FILES), sandbox="none")
    policy("system.toml", DENIED)
    told = play(cast.alice, [tool("python3", "r.py"), VERIFY, FINISH], mode="autonomous")
    while told.state == "waiting":
        answer(told, cast.bob)
        told.work()
    for said in seen(told)[:2]:
        assert "none can hide or hold none of them" in said, said
    assert SECRET not in everything(told)


def test_a_file_that_an_edit_replaced_is_hidden_in_kept_namespaces_too(cast, policy):
    look = {"look.py": "print(open('notes' + '.txt').read())\n"}
    begun(cast, policy, rule('"/notes.txt"', 'verbs = ["reads"]'), look)
    looks = [tool("python3", "look.py")] * 4
    told = play(cast.alice, [*looks, write("notes.txt", "first\nsecond\n"), *looks[:2], FINISH])
    said = seen(told)
    assert all("PermissionError" in said[at] for at in (0, 1, 2, 3, 5, 6))
    assert (tree(told) / "notes.txt").read_text() == "first\nsecond\n"


def test_a_folder_that_a_command_has_shut_is_opened_and_looked_into(cast, policy, monkeypatch):
    looked = walls.find

    def as_a_person(root: str, *others: Any) -> Any:
        if os.path.exists(f"{root}/shut") and not os.stat(f"{root}/shut").st_mode & 0o700:
            raise BadInput("shut cannot be searched for what rules deny.")
        return looked(root, *others)

    monkeypatch.setattr(walls, "find", as_a_person)
    shut = "import os\nos.mkdir('shut')\nopen('shut/b.p' + 'em', 'w')\nos.chmod('shut', 0)\n"
    begun(cast, policy, rule('"*.pem"'), {"shut.py": shut})
    told = play(cast.alice, [tool("python3", "shut.py"), tool("ls", "shut")])
    assert "b.pem" in seen(told)[1] and "1 paths hidden" in seen(told)[1]
