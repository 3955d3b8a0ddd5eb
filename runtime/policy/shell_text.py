"""What is said about a script before its grammar is asked, and whether the grammar saw all of it."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import tree_sitter
import tree_sitter_bash

Node = tree_sitter.Node
_SIGNS = re.compile(r"[(){}\[\]<>|&;$`\"'#!*=\\]")
_DATA = re.compile(r"[^'\"#]*<<-?(['\"])(\w{1,64})\1[^'\"]*")
_PLAIN = re.compile(rb"[\x80-\xff]")
"""Bytes that the grammar is not shown: its scanner looks characters past U+00FF up beyond the end
of a C table and takes the process down. To a shell they are word characters, as `%` is; places
stay the same, and the words themselves are taken from the script as it was given."""
_WHOLE = frozenset({"simple_expansion", "expansion", "concatenation", "variable_assignment"})
"""What has no blanks between its pieces for a shell; the grammar lets some stand there."""
_BETWEEN = re.compile(rb"(?:[ \t\n]|\\\n)*")


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(source: bytes) -> Node:
    """The tree of a script."""
    return _parser().parse(_PLAIN.sub(b"%", source)).root_node


def signs(text: str) -> int:
    """How many signs the grammar has to make sense of; quoted here-documents are data."""
    count = 0
    end: str | None = None
    for line in text.split("\n"):
        if end is not None:
            end = None if line.lstrip("\t") == end else end
            continue
        count += len(_SIGNS.findall(line))
        data = _DATA.fullmatch(line)
        if data is not None:
            end = data[2]
    return count


def hidden(char: str) -> bool:
    """Whether a character shows nothing, or acts on what is around it."""
    if char in "\n\t" or " " <= char <= "~":
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Co", "Cn", "Cs")


def _is_its_type(node: Node, source: bytes) -> bool:
    """Whether an operator or keyword is spelled as what it is taken for."""
    return source[node.start_byte : node.end_byte].strip() == node.type.encode().strip()


def _seamless(node: Node) -> bool:
    """Whether the pieces of a node follow each other without a gap."""
    end = node.start_byte
    for child in node.children:
        if child.start_byte != end:
            return False
        end = child.end_byte
    return end == node.end_byte


def covered(root: Node, source: bytes) -> bool:
    """Whether nothing but blanks lies between the leaves: no text was dropped unseen."""
    end = 0
    cursor = root.walk()
    while True:
        node = cursor.node
        if node is None:
            return False
        if node.child_count == 0 or node.type in ("string", "heredoc_body"):
            if not _BETWEEN.fullmatch(source, end, max(end, node.start_byte)):
                return False
            if not (node.is_named or node.child_count or _is_its_type(node, source)):
                return False
            end = max(end, node.end_byte)
        elif node.type in _WHOLE and not _seamless(node):
            return False
        elif cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return _BETWEEN.fullmatch(source, end) is not None
