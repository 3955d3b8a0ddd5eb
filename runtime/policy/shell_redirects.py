"""Redirections: what a script writes and reads beside its programs. Here-documents are data."""

from __future__ import annotations

import re
from collections.abc import Callable

from .reading import Part, Touch, Verb
from .shell_state import Around, Node, State, opaque
from .shell_words import Word

Inner = Callable[[Word], None]
"""Reads the commands inside a word."""
ReadText = Callable[[str], list[Part]]
"""Reads a script within the script."""
_BACKTICKS = re.compile(r"`([^`]*)`")
NUMBER = "a number in front of a redirection is neither word nor file"
_DESCRIPTOR = re.compile(r"\d+-?|-")
_DELIMITER = re.compile(r"(['\"]?)([\w.-]{1,64})\1|\\([\w.-]{1,64})")
_HEREDOC_PARTS = frozenset({"heredoc_start", "heredoc_end", "comment", "file_descriptor"})


def redirect(
    state: State, node: Node, around: Around, inner: Inner, read_text: ReadText
) -> list[Node]:
    """Add what a redirection touches; returns statements that the grammar put inside it."""
    for child in node.named_children:
        if child.type == "file_descriptor" and not state.text(child).isdecimal():
            around.remarks.append(opaque("redirection", "a word is taken for a descriptor"))
    if node.type == "heredoc_redirect":
        return _heredoc(state, node, around, inner, read_text)
    if node.type == "herestring_redirect":
        inner(Word(None, False, (node,)))
        for child in node.named_children:
            if state.word(child).text is None:
                around.remarks.append(opaque("here-string", "a here-string is expanded"))
            if _on_another_line(state, node, "<<<", child) or not ends_a_word(
                state.source, child.end_byte
            ):
                around.remarks.append(opaque("here-string", "what it holds is not certain"))
            elif numbers_the_next(state.source, child):
                around.remarks.append(opaque("here-string", NUMBER))
    elif node.type == "file_redirect":
        _file(state, node, around, inner)
    else:
        around.remarks.append(opaque("redirection", "a redirection cannot be read"))
        inner(Word(None, False, (node,)))
    return []


def _file(state: State, node: Node, around: Around, inner: Inner) -> None:
    operator = next((child.type for child in node.children if not child.is_named), "")
    targets = node.children_by_field_name("destination")
    if not targets:
        if not operator.endswith("&-"):
            around.remarks.append(opaque("redirection", "a redirection without a target"))
        return
    if _on_another_line(state, node, operator, targets[0]):
        around.remarks.append(opaque("redirection", "the target is on another line"))
    if len(targets) > 1:
        around.remarks.append(opaque("redirection", "a redirection with several targets"))
    for target in targets:
        word = state.word(target)
        inner(word)
        if not ends_a_word(state.source, target.end_byte):
            around.remarks.append(opaque("redirection", "the target is longer than it looks"))
        if word.text is None:
            reason = "the target of a redirection is made only when the script runs"
            around.remarks.append(opaque("redirection", reason))
        elif numbers_the_next(state.source, target):
            around.remarks.append(opaque("redirection", NUMBER))
        elif operator in (">&", "<&") and _DESCRIPTOR.fullmatch(word.text):
            continue
        else:
            verb = Verb.READ if operator == "<" else Verb.WRITE
            around.touches.append(Touch(verb, word.path()))


def _on_another_line(state: State, node: Node, operator: str, target: Node) -> bool:
    """Whether a line ends between a redirection and its target, where a shell reads no further."""
    sign = next((child for child in node.children if child.type == operator), node)
    return b"\n" in state.source[sign.end_byte : target.start_byte].replace(b"\\\n", b"")


def ends_a_word(source: bytes, end: int) -> bool:
    """Whether a shell ends a word here; else it is a part of a longer one."""
    return source[end : end + 1] in b" \t\n;&|<>()`"


def numbers_the_next(source: bytes, target: Node) -> bool:
    """Digits right before a redirection are its descriptor (POSIX 2.10.1), so none is left here;
    in some shells a name in braces is one as well."""
    text = source[target.start_byte : target.end_byte]
    descriptor = text.isdigit() or re.fullmatch(rb"\{\w+\}", text) is not None
    return descriptor and source[target.end_byte : target.end_byte + 1] in (b"<", b">")


def _ends_where_it_should(state: State, node: Node, start: str) -> bool:
    """Whether the grammar and a shell agree on the line that ends a here-document."""
    word = _DELIMITER.fullmatch(start)
    if word is None:
        return False
    tabs = any(child.type == "<<-" for child in node.children)
    source = state.source[node.start_byte :].decode(errors="replace")
    lines = source.partition("\n")[2].split("\n")
    end = next(iter([child for child in node.named_children if child.type == "heredoc_end"]), None)
    if end is None:
        return False
    before = state.source[node.start_byte : end.start_byte].decode(errors="replace")
    plain = [line.lstrip("\t") if tabs else line for line in lines]
    last = word[2] or word[3]
    return last in plain and plain.index(last) == before.count("\n") - 1


def _heredoc(
    state: State, node: Node, around: Around, inner: Inner, read_text: ReadText
) -> list[Node]:
    """The body of a quoted here-document is data; of any other one, unless it is expanded."""
    start = next((child for child in node.named_children if child.type == "heredoc_start"), None)
    quoted = start is not None and re.search(r"['\"\\]", state.text(start)) is not None
    if start is None or not (
        ends_a_word(state.source, start.end_byte)
        and _ends_where_it_should(state, node, state.text(start))
    ):
        around.remarks.append(opaque("here-document", "where a here-document ends is not certain"))
    later: list[Node] = []
    for child in node.named_children:
        if child.type == "heredoc_body":
            if not quoted and re.search(r"[$`\\]", state.text(child)):
                around.remarks.append(opaque("here-document", "a here-document is expanded"))
                inner(Word(None, False, (child,)))
                for script in _BACKTICKS.findall(state.text(child)):
                    state.parts += read_text(script)
        elif child.type.endswith("_redirect"):
            later += redirect(state, child, around, inner, read_text)
        elif child.type not in _HEREDOC_PARTS:
            later.append(child)
    return later
