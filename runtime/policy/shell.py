"""Shell text to parts, by grammar.

Only plain words are taken as read. Everything else (expansions, arithmetic, brace and extended
patterns, text that the grammar rejects) makes the script opaque: it is still searched for
commands, so that the worst of them counts.

The grammar is loaded with this module, and this module only when there is a script to read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from . import environment
from .argv import MAX_DEPTH
from .decision import Decision
from .reading import Part, Remark
from .shell_builtins import judge_test
from .shell_commands import simple
from .shell_redirects import NUMBER, ends_a_word, numbers_the_next, redirect
from .shell_state import Around, Node, State, opaque
from .shell_text import covered, hidden, parse, signs
from .shell_words import Word

if TYPE_CHECKING:
    from .argv import CommandReader

MAX_SCRIPT = 64 << 10
MAX_SIGNS = 2_000
"""Signs of the grammar outside quoted here-documents: recovery from errors takes quadratic time."""
MAX_NODES = 20_000
MAX_NESTING = 60
_FORK_BOMB = re.compile(r"([\w:.]{1,64})\s*\(\)\s*\{[^}]*\1\s*\|\s*\1[^}]*&[^}]*\}")
_FOREIGN_END = re.compile(r"<<[^\n]*[^\x00-\x7f]")


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
    if signs(text) > MAX_SIGNS:
        state.note("too large", "the script has too many signs to be read")
        return state.finish()
    if _FORK_BOMB.search(text):
        reason = "starts itself without end"
        state.notes.append(Remark("veto", Decision.DENY, "fork bomb", reason))
    unseen = sorted({f"U+{ord(char):04X}" for char in text if hidden(char)})
    if unseen:
        shown = ", ".join(unseen[:5])
        state.note("hidden characters", f"holds invisible or control characters: {shown}")
    if "$\\\n" in text:
        state.note("not readable", "a dollar sign goes on behind the end of its line")
    if _FOREIGN_END.search(text):
        state.note("not readable", "the end of a here-document is not plain ASCII")
    root = parse(source)
    if root.descendant_count > MAX_NODES:
        state.note("too large", "the script has too many words to be read")
        return state.finish()
    if root.has_error or not covered(root, source):
        state.note("not readable", "the shell grammar cannot read the whole script")
    _Walk(state).statement(root, 0)
    return state.finish()


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
            self._step(child, nesting)

    def _step(self, child: Node, nesting: int) -> None:
        """One statement of several. In the background it has a scope of its own."""
        saved = self.state.scope.copy()
        self.statement(child, nesting + 1)
        if child.next_sibling is not None and child.next_sibling.type == "&":
            self.state.scope = saved
        self.state.scope.settle()

    def chain(self, node: Node, nesting: int, around: Around | None) -> None:
        """`A && B`: B runs where A succeeded; `A || B`: where it failed, and is then elsewhere."""
        sides = node.named_children
        both = any(child.type == "&&" for child in node.children)
        if len(sides) != 2 or both == any(child.type == "||" for child in node.children):
            self.state.note("construct", "a list of commands is not read")
        for side in sides[:1]:
            self.statement(side, nesting + 1)
        first = self.state.scope.copy()
        for side in sides[1:]:
            self.state.scope.take(first.place if both else first.failed)
            if not both:
                self.state.scope.forget(_assigned_in(node))
            self.statement(side, nesting + 1)
        if both:
            self.state.scope.after_both(first)
        elif _leaves(self.state.text(sides[-1])):
            self.state.scope.take(first.place)
        else:
            self.state.scope.after_either(first)
        if not both or node.parent is None or node.parent.type != "list":
            self.state.scope.forget(_assigned_in(node))

    def isolated(self, node: Node, nesting: int, around: Around | None) -> None:
        """Subshells and pipelines: changes of directory stay inside."""
        saved = self.state.scope.copy()
        for child in node.named_children:
            self._step(child, nesting)
            if node.type == "pipeline":
                self.state.scope = saved.copy()
        self.state.scope = saved

    def branching(self, node: Node, nesting: int, around: Around | None) -> None:
        """Statements that may or may not run: a change of directory in them loses the place, and
        what they assign is not known behind them."""
        scope = self.state.scope
        before, assigned = scope.place, _assigned_in(node)
        scope.forget(assigned)
        for child in node.named_children:
            if child.type in _CLAUSES:
                self._lose(before)
                self.state.scope.forget(assigned)
            if child.type in _HANDLERS:
                self._step(child, nesting)
            else:
                self._inner(self.state.word(child), nesting)
        self._lose(before)
        self.state.scope.forget(assigned)

    def _lose(self, before: tuple[str, bool]) -> None:
        if self.state.scope.place != before:
            self.state.scope.lost = True

    def loop(self, node: Node, nesting: int, around: Around | None) -> None:
        """Statements that run again and again, so that nothing may carry a place along."""
        before = self.state.scope.place
        self.branching(node, nesting, around)
        if self.state.scope.place != before:
            self.state.note("directory", "a loop changes the directory")

    def each(self, node: Node, nesting: int, around: Around | None) -> None:
        """`for NAME in WORDS`: the body once for each word, where they are few and known."""
        name = next((self.state.text(one) for one in node.children_by_field_name("variable")), "")
        self._judge(environment.judge_own(name))
        if node.children and node.children[0].type != "for":
            self.state.note("construct", "a menu is not read")
        words = [self.state.word(one) for one in node.children_by_field_name("value")]
        for word in words:
            self._inner(word, nesting)
        items: list[Word | None] = list(words) if self.state.unroll(words) else [None]
        body = node.child_by_field_name("body")
        before, assigned = self.state.scope.place, _assigned_in(node)
        for item in items:
            self.state.scope.forget(assigned)
            if item is not None:
                self.state.scope.bind(name, item, wild=True)
            if body is not None:
                self._step(body, nesting)
        self.state.scope.forget({*assigned, name})
        if self.state.scope.place != before:
            self.state.note("directory", "a loop changes the directory")
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
            name, word = self._assigned(target, nesting)
            self._judge(environment.judge_own(name))
            self.state.scope.bind(name, word)
            if not environment.NAME.fullmatch(name):
                self.state.note("assignment", "assigns to something that is no plain variable")

    def declaration(self, node: Node, nesting: int, around: Around | None) -> None:
        """`export A=1` and its kin."""
        command = self.state.text(node).split(None, 1)[0]
        if command not in ("export", "readonly", "local", "unset"):
            self.state.note("declaration", "declares variables with attributes")
        if not node.named_children:
            self.state.note("declaration", "prints every variable into the record")
        for child in node.named_children:
            if child.type == "variable_assignment":
                name, word = self._assigned(child, nesting)
                self._judge(environment.judge(name))
                self.state.scope.bind(name, word)
                if command == "readonly":
                    self.state.scope.freeze(name)
            elif child.type == "variable_name":
                self.state.scope.freeze(self.state.text(child))
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
        self._later(later, nesting)

    def _later(self, statements: Iterable[Node], nesting: int) -> None:
        """Statements behind a here-document's first line: whether they run, nobody can say."""
        before = self.state.scope.place
        for statement in statements:
            if b"\n" in self.state.source[statement.start_byte : statement.end_byte]:
                self.state.note("not readable", "words of a here-document's line go on behind it")
            self.statement(statement, nesting + 1)
            self.state.scope.settle()
            self.state.scope.forget(_assigned_in(statement))
        self._lose(before)

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
            elif child.type == "command_name":
                words.append(self.state.words.read(child, own=False))
            elif child.type != "comment":
                if numbers_the_next(self.state.source, child):
                    outside.remarks.append(opaque("redirection", NUMBER))
                words.append(self.state.word(child))
                if not ends_a_word(self.state.source, child.end_byte):
                    self.state.note("not readable", "a word is longer than it seems")
        if any(not child.is_named for child in node.children):
            self.state.note("not readable", "a sign between the words of a command is none of them")
        for word in words:
            self._inner(word, nesting)
        simple(self.state, words, outside, self._text)
        self._later(later, nesting)

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
        self.state.scope.freeze(name)
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
    "list": _Walk.chain,
    "compound_statement": _Walk.sequence,
    "do_group": _Walk.sequence,
    "negated_command": _Walk.sequence,
    "subshell": _Walk.isolated,
    "pipeline": _Walk.isolated,
    "if_statement": _Walk.branching,
    "elif_clause": _Walk.branching,
    "else_clause": _Walk.branching,
    "while_statement": _Walk.loop,
    "for_statement": _Walk.each,
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
_CLAUSES = frozenset({"elif_clause", "else_clause", "case_item"})
_LEAVES = re.compile(r"exit(\s+\d{1,3})?")


def _leaves(text: str) -> bool:
    """Whether a command ends the script, so that nothing comes behind it."""
    return _LEAVES.fullmatch(text) is not None


def _assigned_in(node: Node) -> set[str]:
    """Names of the variables that something below a node sets."""
    names: set[str] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type in ("variable_assignment", "for_statement"):
            for field in ("name", "variable"):
                target = one.child_by_field_name(field)
                if target is not None and target.text is not None:
                    names.add(target.text.decode(errors="replace").partition("[")[0])
        waiting += one.named_children
    return names
