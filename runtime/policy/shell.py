"""Shell text to parts, by grammar.

Only plain words are taken as read. Everything else (expansions, arithmetic, brace and extended
patterns, text that the grammar rejects) makes the script opaque: it is still searched for
commands, so that the worst of them counts.

The grammar is loaded with this module, and this module only when there is a script to read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import tree_sitter
import tree_sitter_bash

from . import environment
from .argv import MAX_DEPTH
from .decision import Decision
from .reading import Part, Remark
from .shell_builtins import judge_test
from .shell_commands import simple
from .shell_redirects import redirect
from .shell_state import Around, Node, State, opaque
from .shell_words import Word

if TYPE_CHECKING:
    from .argv import CommandReader

MAX_SCRIPT = 64 << 10
MAX_SIGNS = 2_000
"""Signs of the grammar outside quoted here-documents: recovery from errors takes quadratic time."""
MAX_NODES = 20_000
MAX_NESTING = 60
_FORK_BOMB = re.compile(r"([\w:.]{1,64})\s*\(\)\s*\{[^}]*\1\s*\|\s*\1[^}]*&[^}]*\}")
_SIGNS = re.compile(r"[(){}\[\]<>|&;$`\"'#!*=\\]")
_DATA = re.compile(r"[^'\"#]*<<-?(['\"])(\w{1,64})\1[^'\"]*")
_PLAIN = re.compile(rb"[\x80-\xff]")
"""Bytes that the grammar is not shown: its scanner looks characters past U+00FF up beyond the end
of a C table and takes the process down. To a shell they are word characters, as `%` is; places
stay the same, and the words themselves are taken from the script as it was given."""
_FOREIGN_END = re.compile(r"<<[^\n]*[^\x00-\x7f]")
_BETWEEN = re.compile(rb"(?:[ \t\n]|\\\n)*")


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def read_script(reader: CommandReader, text: str, cwd: str, depth: int) -> list[Part]:
    """The parts of a script. There is always at least one."""
    source = text.encode()
    state = State(reader, source, cwd, depth)
    if depth > MAX_DEPTH:
        state.note("too deep", f"more than {MAX_DEPTH} commands within commands")
        return state.finish()
    if len(text) > MAX_SCRIPT:
        state.note("too long", f"a script of more than {MAX_SCRIPT} characters is not read")
        return state.finish()
    if _signs(text) > MAX_SIGNS:
        state.note("too large", "the script has too many signs to be read")
        return state.finish()
    if _FORK_BOMB.search(text):
        reason = "starts itself without end"
        state.notes.append(Remark("veto", Decision.DENY, "fork bomb", reason))
    hidden = sorted({f"U+{ord(char):04X}" for char in text if _hidden(char)})
    if hidden:
        shown = ", ".join(hidden[:5])
        state.note("hidden characters", f"holds invisible or control characters: {shown}")
    if _FOREIGN_END.search(text):
        state.note("not readable", "the end of a here-document is not plain ASCII")
    root = _parser().parse(_PLAIN.sub(b"%", source)).root_node
    if root.descendant_count > MAX_NODES:
        state.note("too large", "the script has too many words to be read")
        return state.finish()
    if root.has_error or not _covered(root, source):
        state.note("not readable", "the shell grammar cannot read the whole script")
    _Walk(state).statement(root, 0)
    return state.finish()


def _signs(text: str) -> int:
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


def _hidden(char: str) -> bool:
    if char in "\n\t" or " " <= char <= "~":
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Co", "Cn", "Cs")


def _covered(root: Node, source: bytes) -> bool:
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
            end = max(end, node.end_byte)
        elif cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return _BETWEEN.fullmatch(source, end) is not None


class _Walk:
    """One pass over the tree."""

    def __init__(self, state: State) -> None:
        self.state = state

    def statement(self, node: Node, nesting: int, around: Around | None = None) -> None:
        """Read one statement and whatever it holds."""
        if nesting > MAX_NESTING:
            self.state.note("too deep", "the script is nested too deeply to be read")
            return
        handler = _HANDLERS.get(node.type)
        if handler is None:
            self.state.note("construct", f"{node.type.replace('_', ' ')} is not read")
            self._search(node, nesting)
        elif handler == _Walk.command:
            self.command(node, nesting, around)
        else:
            if around is not None:
                self.state.surround(around)
            handler(self, node, nesting, None)

    def _search(self, node: Node, nesting: int) -> None:
        """Read the statements below a node, whatever it is."""
        if nesting > MAX_NESTING:
            self.state.note("too deep", "the script is nested too deeply to be read")
            return
        for child in node.named_children:
            if child.type in _HANDLERS:
                self.statement(child, nesting + 1)
            elif child.named_child_count:
                self._search(child, nesting + 1)

    def _inner(self, word: Word, nesting: int) -> None:
        """Commands inside a word: substitutions."""
        for node in word.inner:
            saved = self.state.scope.copy()
            self._search(node, nesting + 1)
            self.state.scope = saved

    def sequence(self, node: Node, nesting: int, around: Around | None) -> None:
        """Statements in order, in one scope."""
        if node.type == "compound_statement" and not node.named_child_count:
            self.state.note("construct", "a group without a command is not read")
        for child in node.named_children:
            self.statement(child, nesting + 1)

    def isolated(self, node: Node, nesting: int, around: Around | None) -> None:
        """Subshells and pipelines: changes of directory stay inside."""
        saved = self.state.scope.copy()
        for child in node.named_children:
            self.statement(child, nesting + 1)
            if node.type == "pipeline":
                self.state.scope = saved.copy()
        self.state.scope = saved

    def branching(self, node: Node, nesting: int, around: Around | None) -> None:
        """Statements that may or may not run: a change of directory in them loses the place."""
        before = self.state.scope.cwd
        for child in node.named_children:
            if child.type in _HANDLERS:
                self.statement(child, nesting + 1)
            elif child.type == "variable_name":
                self._judge(environment.judge_own(self.state.text(child)))
            else:
                self._inner(self.state.word(child), nesting)
        if self.state.scope.cwd != before:
            self.state.scope.lost = True

    def function(self, node: Node, nesting: int, around: Around | None) -> None:
        """A definition may give any word another meaning."""
        self.state.note("function", "defines a function")
        name = node.child_by_field_name("name")
        if name is not None:
            self.state.functions.add(self.state.text(name))
        self.branching(node, nesting, around)

    def nothing(self, node: Node, nesting: int, around: Around | None) -> None:
        """Comments."""

    def assignment(self, node: Node, nesting: int, around: Around | None) -> None:
        """Assignments without a command: variables of the script itself."""
        targets = [node] if node.type == "variable_assignment" else node.named_children
        for target in targets:
            name, _ = self._assigned(target, nesting)
            self._judge(environment.judge_own(name))
            if not environment.NAME.fullmatch(name):
                self.state.note("assignment", "assigns to something that is no plain variable")

    def declaration(self, node: Node, nesting: int, around: Around | None) -> None:
        """`export A=1` and its kin."""
        command = self.state.text(node).split(None, 1)[0]
        if command not in ("export", "readonly", "local", "unset"):
            self.state.note("declaration", "declares variables with attributes")
        for child in node.named_children:
            if child.type == "variable_assignment":
                name, _ = self._assigned(child, nesting)
                self._judge(environment.judge(name))
            elif child.type == "variable_name":
                self._judge(environment.judge_own(self.state.text(child)))
            else:
                word = self.state.word(child)
                self.state.note("declaration", "declares something that cannot be read")
                self._inner(word, nesting)

    def _judge(self, remark: Remark | None) -> None:
        if remark is not None:
            self.state.notes.append(remark)

    def test(self, node: Node, nesting: int, around: Around | None) -> None:
        """A condition in brackets."""
        if not judge_test(self.state.text(node)):
            self.state.note("test", "a condition is more than plain words")
        self._inner(Word(None, False, (node,)), nesting)

    def redirected(self, node: Node, nesting: int, around: Around | None) -> None:
        """A statement with redirections; statements can hide in a here-document's line."""
        body = node.child_by_field_name("body")
        later: list[Node] = []
        outside = Around()
        for child in node.named_children:
            if child != body:
                later += self._redirect(child, outside, nesting)
        if body is None:
            self.state.surround(outside)
        else:
            self.statement(body, nesting + 1, outside)
        for statement in later:
            self.statement(statement, nesting + 1)

    def command(self, node: Node, nesting: int, around: Around | None) -> None:
        """A simple command: assignments, words, redirections."""
        outside = around or Around()
        words: list[Word] = []
        later: list[Node] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._prefix(child, nesting, outside)
            elif child.type.endswith("_redirect"):
                later += self._redirect(child, outside, nesting)
            elif child.type != "comment":
                words.append(self.state.word(child))
        for word in words:
            self._inner(word, nesting)
        simple(self.state, words, outside, self._text)
        for statement in later:
            self.statement(statement, nesting + 1)

    def _redirect(self, node: Node, around: Around, nesting: int) -> list[Node]:
        return redirect(
            self.state, node, around, lambda word: self._inner(word, nesting), self._text
        )

    def _text(self, text: str) -> list[Part]:
        """A script within the script."""
        state = self.state
        return read_script(state.reader, text, state.scope.cwd, state.depth + 1)

    def _prefix(self, node: Node, nesting: int, around: Around) -> None:
        name, value = self._assigned(node, nesting)
        judged = environment.judge(name)
        if judged is not None:
            around.remarks.append(judged)
        if value.text is None:
            around.remarks.append(opaque("assignment", f"the value of {name} cannot be read"))

    def _assigned(self, node: Node, nesting: int) -> tuple[str, Word]:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        word = self.state.word(value) if value is not None else Word("", False, ())
        self._inner(word, nesting)
        plain = name is not None and name.type == "variable_name"
        if name is not None and not plain:
            self._inner(Word(None, False, (name,)), nesting)
        text = self.state.text(name) if name is not None else ""
        if b"+=" in self.state.source[node.start_byte : node.end_byte] or not plain:
            return text, Word(None, False, ())
        return text, word


Handler = Callable[[_Walk, Node, int, Around | None], None]
_HANDLERS: dict[str, Handler] = {
    "program": _Walk.sequence,
    "list": _Walk.sequence,
    "compound_statement": _Walk.sequence,
    "do_group": _Walk.sequence,
    "negated_command": _Walk.sequence,
    "subshell": _Walk.isolated,
    "pipeline": _Walk.isolated,
    "if_statement": _Walk.branching,
    "elif_clause": _Walk.branching,
    "else_clause": _Walk.branching,
    "while_statement": _Walk.branching,
    "for_statement": _Walk.branching,
    "case_statement": _Walk.branching,
    "case_item": _Walk.branching,
    "function_definition": _Walk.function,
    "redirected_statement": _Walk.redirected,
    "command": _Walk.command,
    "variable_assignment": _Walk.assignment,
    "variable_assignments": _Walk.assignment,
    "declaration_command": _Walk.declaration,
    "unset_command": _Walk.declaration,
    "test_command": _Walk.test,
    "comment": _Walk.nothing,
}
