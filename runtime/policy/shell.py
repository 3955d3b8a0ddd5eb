"""Shell text to parts, by grammar.

Only plain words are taken as read. Everything else (expansions, arithmetic, brace and
extended patterns, constructs on which shells differ, text that the grammar rejects) makes the
script opaque: it is still searched for commands, so that the worst of them counts.

The grammar is loaded with this module, and this module only when there is a script to read.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import tree_sitter
import tree_sitter_bash

from . import environment
from .argv import MAX_DEPTH
from .builtins import QUIET, SPECIAL, judge_test
from .decision import Decision
from .programs.model import Found
from .reading import Part, Remark, Touch, Verb
from .shell_words import Word, WordReader
from .words import UNREAD, Wild

if TYPE_CHECKING:
    from .argv import CommandReader

Node = tree_sitter.Node
MAX_SCRIPT = 64 << 10
MAX_NODES = 20_000
MAX_NESTING = 60
_FORK_BOMB = re.compile(r"([\w:.]+)\s*\(\)\s*\{[^}]*\1\s*\|\s*\1[^}]*&[^}]*\}", re.S)
_DIFFERS = re.compile(r"\|&|&>|<<<|<\(|>\(|\$'|\$\"|\[\[|\(\(|^\s*function\s|\bcoproc\b|;&|;;&", re.M)


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def read_script(reader: CommandReader, text: str, cwd: str, depth: int) -> list[Part]:
    """The parts of a script. There is always at least one."""
    walk = _Walk(reader, cwd, depth)
    if _FORK_BOMB.search(text):
        walk.notes.append(Remark("veto", Decision.DENY, "fork bomb", "starts itself without end"))
    if depth > MAX_DEPTH:
        walk.opaque("too deep", f"more than {MAX_DEPTH} commands within commands")
    elif len(text) > MAX_SCRIPT:
        walk.opaque("too long", f"a script of more than {MAX_SCRIPT} characters is not read")
    else:
        _read(walk, text)
    return walk.finish()


def _read(walk: _Walk, text: str) -> None:
    hidden = sorted({f"U+{ord(char):04X}" for char in text if _hidden(char)})
    if hidden:
        walk.opaque("hidden characters", f"holds invisible or control characters: {', '.join(hidden[:5])}")
    source = text.encode()
    root = _parser().parse(source).root_node
    if root.descendant_count > MAX_NODES:
        walk.opaque("too large", "the script has too many words to be read")
        return
    if root.has_error:
        walk.opaque("not readable", "the shell grammar cannot read the whole script")
    walk.source = source
    walk.words = WordReader(source, walk.reader.context.home, lambda: walk.absolute(walk.scope.cwd))
    walk.statement(root, 0)


def _hidden(char: str) -> bool:
    if char in "\n\t" or " " <= char <= "~":
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Co", "Cn", "Cs")


@dataclass(slots=True)
class _Scope:
    """Where the next command works; `lost`: nobody can say."""

    cwd: str
    lost: bool = False


@dataclass(slots=True)
class _Around:
    """What surrounds one command: redirections and assignments."""

    touches: list[Touch] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)


class _Walk:
    """One pass over the tree, collecting parts."""

    def __init__(self, reader: CommandReader, cwd: str, depth: int) -> None:
        self.reader = reader
        self.depth = depth
        self.scope = _Scope(cwd)
        self.parts: list[Part] = []
        self.notes: list[Remark] = []
        self.source = b""
        self.functions: set[str] = set()
        self.words = WordReader(b"", "", lambda: "")

    def opaque(self, rule: str, reason: str) -> None:
        """Note that something decisive could not be read."""
        self.notes.append(Remark("canonicalise", Decision.ASK, rule, reason))

    def finish(self) -> list[Part]:
        """All parts, with a last one for what belongs to the script as a whole."""
        if self.notes or not self.parts:
            whole = Part(tool=self.reader.tool, cwd=self.scope.cwd, remarks=tuple(dict.fromkeys(self.notes)), mutation=bool(self.notes), capability="run" if self.notes else "read")
            return [*self.parts, whole]
        return self.parts

    def absolute(self, cwd: str) -> str:
        return posixpath.normpath(self.reader.lens.join(cwd))

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def statement(self, node: Node, nesting: int, around: _Around | None = None) -> None:
        """Read one statement and whatever it holds."""
        if nesting > MAX_NESTING:
            self.opaque("too deep", "the script is nested too deeply to be read")
            return
        handler = _HANDLERS.get(node.type)
        if handler is None:
            self.opaque("construct", f"{node.type.replace('_', ' ')} is not read")
            self.children(node, nesting)
            return
        if around is not None and node.type != "command":
            self._surround(around)
            around = None
        handler(self, node, nesting, around or _Around())

    def children(self, node: Node, nesting: int) -> None:
        """Read the statements below a node, whatever it is."""
        for child in node.named_children:
            if child.type in _HANDLERS:
                self.statement(child, nesting + 1)
            elif child.named_child_count:
                self.children(child, nesting + 1)

    def inner(self, word: Word, nesting: int) -> None:
        """Commands inside a word: substitutions."""
        for node in word.inner:
            saved = _Scope(self.scope.cwd, self.scope.lost)
            self.children(node, nesting + 1)
            self.scope = saved

    def _surround(self, around: _Around) -> None:
        """Redirections of a compound statement stand for themselves."""
        found = Found(touches=around.touches, remarks=around.remarks)
        places = self.reader.places(found, self.scope.cwd)
        changes = any(place.touch.verb is Verb.WRITE for place in places)
        if places or found.remarks:
            self.parts.append(Part(self.reader.tool, cwd=self.scope.cwd, places=places, remarks=tuple(found.remarks), mutation=changes, capability="run" if changes else "read"))

    # -- statements -------------------------------------------------------------------

    def sequence(self, node: Node, nesting: int, around: _Around) -> None:
        """Statements in order, in one scope."""
        for child in node.named_children:
            self.statement(child, nesting + 1)

    def isolated(self, node: Node, nesting: int, around: _Around) -> None:
        """Statements whose changes of directory stay inside."""
        saved = _Scope(self.scope.cwd, self.scope.lost)
        for child in node.named_children:
            self.statement(child, nesting + 1)
            if node.type == "pipeline":
                self.scope = _Scope(saved.cwd, saved.lost)
        self.scope = saved

    def branching(self, node: Node, nesting: int, around: _Around) -> None:
        """Statements that may or may not run: a change of directory in them loses the place."""
        before = self.scope.cwd
        for child in node.named_children:
            if child.type in _HANDLERS:
                self.statement(child, nesting + 1)
            elif child.type != "variable_name":
                self.inner(self._word(child), nesting)
        if self.scope.cwd != before:
            self.scope.lost = True

    def function(self, node: Node, nesting: int, around: _Around) -> None:
        self.opaque("function", "defines a function")
        name = node.child_by_field_name("name")
        if name is not None:
            self.functions.add(self.text(name))
        self.branching(node, nesting, around)

    def nothing(self, node: Node, nesting: int, around: _Around) -> None:
        """Comments and the like."""

    def assignment(self, node: Node, nesting: int, around: _Around) -> None:
        """Assignments without a command: variables of the script."""
        targets = [node] if node.type == "variable_assignment" else node.named_children
        for target in targets:
            name, _ = self._assigned(target, nesting)
            judged = environment.judge_own(name)
            if judged:
                self.notes.append(judged)
            if not environment.NAME.fullmatch(name):
                self.opaque("assignment", "assigns to something that is no plain variable")

    def declaration(self, node: Node, nesting: int, around: _Around) -> None:
        """`export A=1` and its kin."""
        if node.type == "declaration_command" and self.text(node).split(None, 1)[0] not in ("export", "readonly", "local"):
            self.opaque("declaration", "declares variables with attributes")
        for child in node.named_children:
            if child.type == "variable_assignment":
                name, _ = self._assigned(child, nesting)
                judged = environment.judge(name)
                if judged:
                    self.notes.append(judged)
            elif child.type != "variable_name":
                word = self._word(child)
                if word.text is None or word.text.startswith("-"):
                    self.opaque("declaration", "declares something that cannot be read")
                self.inner(word, nesting)

    def test(self, node: Node, nesting: int, around: _Around) -> None:
        text = self.text(node)
        if not judge_test(text):
            self.opaque("test", "a condition that is more than plain words")
        self.inner(Word(None, False, (node,)), nesting)

    def redirected(self, node: Node, nesting: int, around: _Around) -> None:
        """A statement with redirections; some statements hide inside a here-document's line."""
        body = node.child_by_field_name("body")
        later: list[Node] = []
        for child in node.named_children:
            if child != body:
                self._redirect(child, around, later, nesting)
        if body is not None:
            self.statement(body, nesting + 1, around)
        else:
            self._surround(around)
        for statement in later:
            self.statement(statement, nesting + 1)

    def command(self, node: Node, nesting: int, around: _Around) -> None:
        """A simple command: assignments, words, redirections."""
        words: list[Word] = []
        later: list[Node] = []
        for child in node.named_children:
            if child.type == "variable_assignment":
                name, value = self._assigned(child, nesting)
                judged = environment.judge(name)
                if judged:
                    around.remarks.append(judged)
                if value.text is None:
                    around.remarks.append(_opaque("assignment", f"the value of {name} cannot be read"))
            elif child.type.endswith("_redirect"):
                self._redirect(child, around, later, nesting)
            elif child.type != "comment":
                words.append(self._word(child.named_children[0] if child.type == "command_name" and child.named_child_count else child))
        for word in words:
            self.inner(word, nesting)
        self._simple(words, around)
        for statement in later:
            self.statement(statement, nesting + 1)

    # -- pieces -----------------------------------------------------------------------

    def _assigned(self, node: Node, nesting: int) -> tuple[str, Word]:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        word = self._word(value) if value is not None else Word("", False, ())
        self.inner(word, nesting)
        if name is not None and name.type != "variable_name":
            return self.text(name), Word(None, False, ())
        return (self.text(name) if name is not None else ""), word

    def _redirect(self, node: Node, around: _Around, later: list[Node], nesting: int) -> None:
        if node.type == "heredoc_redirect":
            self._heredoc(node, around, later, nesting)
            return
        if node.type == "herestring_redirect":
            self.inner(Word(None, False, (node,)), nesting)
            return
        if node.type != "file_redirect":
            self.opaque("redirection", "a redirection that cannot be read")
            self.children(node, nesting)
            return
        operator = next((child.type for child in node.children if not child.is_named), "")
        target = node.child_by_field_name("destination")
        if target is None:
            if not operator.endswith("&-"):
                around.remarks.append(_opaque("redirection", "a redirection without a target"))
            return
        word = self._word(target)
        self.inner(word, nesting)
        if word.text is None:
            around.remarks.append(_opaque("redirection", "the target of a redirection cannot be read"))
        elif operator in (">&", "<&") and re.fullmatch(r"\d+|-", word.text):
            return
        elif operator == "<":
            around.touches.append(Touch(Verb.READ, word.path()))
        else:
            around.touches.append(Touch(Verb.WRITE, word.path()))

    def _heredoc(self, node: Node, around: _Around, later: list[Node], nesting: int) -> None:
        start = next((child for child in node.named_children if child.type == "heredoc_start"), None)
        quoted = start is not None and re.search(r"['\"\\]", self.text(start)) is not None
        for child in node.named_children:
            if child.type == "heredoc_body":
                if not quoted and re.search(r"[$`\\]", self.text(child)):
                    around.remarks.append(_opaque("here-document", "an unquoted here-document is expanded"))
                    self.inner(Word(None, False, (child,)), nesting)
            elif child.type.endswith("_redirect"):
                self._redirect(child, around, later, nesting)
            elif child.type not in ("heredoc_start", "heredoc_end", "comment", "file_descriptor"):
                later.append(child)

    def _word(self, node: Node) -> Word:
        return self.words.read(node)

    def _simple(self, words: list[Word], around: _Around) -> None:
        """Hand a simple command on, or keep to what can be said without its name."""
        if not words:
            self._surround(around)
            return
        if self.scope.lost:
            around.remarks.append(_opaque("directory", "nobody can say in which directory this runs"))
        name = words[0]
        if any(word.text is None for word in words):
            around.remarks.append(_opaque("expansion", "a word is made only when the script runs"))
        if name.text is None or name.wild:
            around.remarks.append(_opaque("program", "the program is named only when the script runs"))
            around.touches += [Touch(Verb.READ, word.path()) for word in words[1:] if word.text]
            self._surround_part(around)
            return
        argv = [word.path() if word.text is not None else UNREAD for word in words]
        argv[0] = str(argv[0])
        self._dispatch(argv, around)

    def _surround_part(self, around: _Around) -> None:
        found = Found(touches=around.touches, remarks=around.remarks)
        places = self.reader.places(found, self.scope.cwd)
        self.parts.append(Part(self.reader.tool, cwd=self.scope.cwd, places=places, remarks=tuple(found.remarks)))

    def _dispatch(self, argv: list[str], around: _Around) -> None:
        name = argv[0]
        if name in self.functions:
            self._surround_part(around)
        elif name == "cd":
            self._cd(argv[1:], around)
            self._surround(around)
        elif name in QUIET:
            self._surround(around)
        elif name in SPECIAL:
            around.remarks.append(_opaque(name, f"{name} {SPECIAL[name]}"))
            self._special(argv, around)
        elif name == "set":
            if not all(re.fullmatch(r"[-+][euxvfn]*o?|pipefail|errexit|nounset|xtrace|--", word) for word in argv[1:]):
                around.remarks.append(_opaque("set", "changes the shell's words or options"))
            self._surround(around)
        else:
            self.parts += self.reader.read(argv, self.scope.cwd, depth=self.depth, remarks=around.remarks, touches=around.touches)

    def _special(self, argv: list[str], around: _Around) -> None:
        """Builtins that run or change what cannot be seen; their text is read where there is one."""
        self._surround_part(around)
        if argv[0] in ("eval", "trap") and len(argv) > 1 and UNREAD not in argv[1:]:
            text = " ".join(argv[1:]) if argv[0] == "eval" else argv[1]
            self.parts += read_script(self.reader, text, self.scope.cwd, self.depth + 1)
        elif argv[0] in (".", "source") and len(argv) > 1:
            found = Found(touches=[Touch(Verb.RUN, argv[1])])
            self.parts.append(Part(self.reader.tool, cwd=self.scope.cwd, places=self.reader.places(found, self.scope.cwd)))

    def _cd(self, args: list[str], around: _Around) -> None:
        words = [word for word in args if word not in ("--", "-P", "-L")]
        if len(words) != 1 or words[0] in ("-", UNREAD) or isinstance(words[0], Wild):
            around.remarks.append(_opaque("cd", "changes to a directory that cannot be told"))
            self.scope.lost = True
            return
        place = self.reader.lens.place(Touch(Verb.LIST, words[0]), self.scope.cwd)
        around.touches.append(Touch(Verb.LIST, words[0]))
        if not place.inside:
            around.remarks.append(Remark("boundary", Decision.ASK, "cd outside", "leaves the worktree"))
        if place.facts.type != "dir":
            self.scope.lost = True
        self.scope.cwd = place.relative if place.inside else place.path


def _opaque(rule: str, reason: str) -> Remark:
    return Remark("canonicalise", Decision.ASK, rule, reason)


Handler = Callable[[_Walk, Node, int, _Around], None]
_HANDLERS: dict[str, Handler] = {
    "program": _Walk.sequence,
    "list": _Walk.sequence,
    "compound_statement": _Walk.sequence,
    "do_group": _Walk.sequence,
    "subshell": _Walk.isolated,
    "pipeline": _Walk.isolated,
    "negated_command": _Walk.sequence,
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
