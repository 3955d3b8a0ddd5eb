"""What an action is, in words: the same sentence in the timeline, on a card and in the audit."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from runtime.core import patches
from runtime.core.patch_names import InvalidPatch
from runtime.workspaces.paths import shown

from . import diffs, html, text, units

Body = Mapping[str, Any]

NAMED = 3
"""Files of a patch that its sentence names."""
MAX_COMPARED = 1000
"""Lines of a replacement that are compared; none of them is left out of the table."""
ICONS = {
    "read_file": "file",
    "list_files": "folder",
    "glob": "search",
    "grep": "search",
    "replace_text": "pen",
    "write_file": "pen",
    "apply_patch": "pen",
    "start_job": "play",
    "job_output": "terminal",
    "stop_job": "stop",
    "run_tool": "terminal",
    "run_shell": "terminal",
    "verify": "seal",
    "ask_human": "person",
    "finish": "check",
    "create_artifact": "box",
    "read_artifact": "box",
}


def icon_of(kind: str) -> str:
    """The name of the icon of a kind of action."""
    if kind.startswith("git_"):
        return "branch"
    return ICONS.get(kind, "dot")


def _string(body: Body, name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else "" if value is None else str(value)


def command(body: Body) -> str:
    """Program and arguments as one would type them. For display only, never for execution."""
    args = body.get("args")
    words = [_string(body, "program"), *(str(arg) for arg in args or ())]
    return shlex.join(words) if args is None or isinstance(args, list) else " ".join(words)


def _lines(body: Body) -> str:
    first, limit = body.get("offset"), body.get("limit")
    if not isinstance(first, int) and not isinstance(limit, int):
        return ""
    start = first if isinstance(first, int) else 1
    return f" from line {start}" + (f", {units.count(limit, 'line')}" if limit else "")


def _in(body: Body, name: str = "path") -> SafeString:
    return format_html(" in {}", html.code(_string(body, name))) if body.get(name) else html.EMPTY


def _named(verb: str, name: str) -> Callable[[Body], SafeString]:
    return lambda body: format_html("{} {}", verb, html.code(_string(body, name)))


def _push(body: Body) -> SafeString:
    words = ["git push", _string(body, "remote"), _string(body, "ref")]
    return format_html("run {}", html.code(" ".join(word for word in words if word)))


def _write(body: Body) -> SafeString:
    lines = text.lines(_string(body, "content"))
    return format_html(
        "write {} ({})", html.code(_string(body, "path")), units.count(lines, "line")
    )


def _patch(body: Body) -> SafeString:
    """The files of a patch, as far as a sentence can hold them."""
    try:
        files = patches.parse(_string(body, "patch"))
    except InvalidPatch:
        return html.fixed("apply a patch")
    paths = [path for change in files for path in change.paths]
    named = format_html_join(", ", "{}", ((html.code(path),) for path in paths[:NAMED]))
    more = f" and {units.count(len(paths) - NAMED, 'more file')}" if len(paths) > NAMED else ""
    return format_html("apply a patch to {}{}", named, more)


def _shell(body: Body) -> SafeString:
    first, *rest = _string(body, "script").strip("\n").split("\n")
    more = f" and {units.count(len(rest), 'more line')}" if rest else ""
    return format_html("run the shell script {}{}{}", html.code(first), more, _in(body, "cwd"))


_VERBS: dict[str, Callable[[Body], SafeString]] = {
    "read_file": lambda b: format_html("read {}{}", html.code(_string(b, "path")), _lines(b)),
    "list_files": lambda b: format_html("list files{}", _in(b)),
    "glob": lambda b: format_html("find files {}{}", html.code(_string(b, "pattern")), _in(b)),
    "grep": lambda b: format_html("search for {}{}", html.code(_string(b, "pattern")), _in(b)),
    "replace_text": _named("edit", "path"),
    "write_file": _write,
    "apply_patch": _patch,
    "run_tool": lambda b: format_html("run {}{}", html.code(command(b)), _in(b, "cwd")),
    "run_shell": _shell,
    "verify": lambda b: html.fixed("run the verification"),
    "git_status": lambda b: html.fixed("see what changed"),
    "git_diff": lambda b: format_html("see the changes{}", _in(b)),
    "git_log": lambda b: html.fixed("see the last commits"),
    "git_show": _named("see the commit", "rev"),
    "git_commit": _named("commit with the message", "message"),
    "git_push": _push,
    "create_artifact": _named("keep the artifact", "name"),
    "read_artifact": _named("read the artifact", "id"),
    "start_job": lambda b: format_html("start {} in the background", html.code(command(b))),
    "job_output": _named("read the output of job", "job"),
    "stop_job": _named("stop job", "job"),
    "ask_human": lambda b: html.fixed("ask a person"),
    "finish": lambda b: html.fixed("finish"),
    "network": lambda b: format_html(
        "send {} to {}", html.code(_string(b, "method")), html.code(_string(b, "target"))
    ),
}


def sentence(kind: str, body: Body | None) -> SafeString:
    """What an action does, starting with a verb. `body` is None where it lies elsewhere."""
    verb = _VERBS.get(kind)
    if verb is None or body is None:
        return format_html("do {}", html.code(kind))
    return verb(body)


def whole(kind: str, body: Body) -> SafeString:
    """Every field of an action, in full: what a person decides on."""
    if kind == "replace_text":
        return _replacement(body)
    blocks: list[SafeString] = []
    if kind in {"run_tool", "start_job"}:
        blocks.append(html.pre(command(body), "Command"))
        blocks.append(_arguments(body))
    elif kind == "run_shell":
        blocks.append(html.coloured(_string(body, "script"), "script.sh", "Shell script"))
    elif kind == "write_file":
        path = _string(body, "path")
        blocks.append(html.coloured(_string(body, "content"), path, f"New content of {path}"))
    elif kind == "apply_patch":
        patch = _string(body, "patch")
        blocks += [diffs.render(patch), html.fold("The patch as text", html.pre(patch, "Patch"))]
    blocks.append(_others(kind, body))
    return html.join(blocks)


_SHOWN = {
    "run_tool": {"program", "args"},
    "start_job": {"program", "args"},
    "run_shell": {"script"},
    "write_file": {"content"},
    "apply_patch": {"patch"},
}


def _others(kind: str, body: Body) -> SafeString:
    """The fields that no block above shows. None is left out, not even an unknown one."""
    left = [name for name in body if name not in _SHOWN.get(kind, set()) and name != "kind"]
    short = [(name, _value(body[name])) for name in left if not _is_long(body[name])]
    long = [html.pre(_string(body, name), name) for name in left if _is_long(body[name])]
    return html.join([html.facts(short), *long])


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and ("\n" in value or len(value) > 160)


def _value(value: Any) -> SafeString:
    return format_html("<code>{}</code>", text.visible(str(value)))


def _arguments(body: Body) -> SafeString:
    """The arguments one by one, where a blank or a line break in one could mislead."""
    args = body.get("args")
    if not isinstance(args, list) or not any(
        not arg or any(c.isspace() for c in str(arg)) for arg in args
    ):
        return html.EMPTY
    items = html.join(format_html("<li><code>{}</code></li>", text.visible(str(a))) for a in args)
    body_html = format_html('<ol class="arguments">{}</ol>', items)
    return html.fold(units.count(len(args), "argument") + ", one by one", body_html)


def _replacement(body: Body) -> SafeString:
    """As a diff; both texts in full where a diff would leave something out."""
    path = shown(_string(body, "path"))
    before = _string(body, "expected").split("\n")
    after = _string(body, "replacement").split("\n")
    if len(before) + len(after) > MAX_COMPARED or any(
        len(line) > diffs.MAX_LINE for line in (*before, *after)
    ):
        return html.join(
            [
                html.facts([("path", _value(path))]),
                html.pre("\n".join(before), "Expected text"),
                html.pre("\n".join(after), "Replacement"),
            ]
        )
    lines = difflib.unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm="", n=10_000)
    diff = "\n".join(lines)
    if not diff:
        return html.join(
            [
                html.pre(_string(body, "expected"), "Expected text"),
                html.facts([("path", _value(path))]),
            ]
        )
    return diffs.render(diff + "\n", numbers=False)
