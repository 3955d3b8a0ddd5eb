"""One word of a script: its text where it can be known before the script runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import tree_sitter

from .words import Wild

Node = tree_sitter.Node
_KNOWN = re.compile(r"\\.|\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*)|\?)", re.S | re.A)
_SPELLED = re.compile(r"\$\(cat <<'(\w{1,64})'\n(.*\n|)\1\n[ \t]*\)", re.S | re.A)
"""`"$(cat <<'END' …)"`: a quoted here-document in the place of a word is that word."""
_UNSPLIT = re.compile(r"[\w./:@%+,=-]+", re.A)
"""Values that stay one word where they stand without quotes."""
_EXPANDS = re.compile(r"\$[A-Za-z_0-9{(@*#?$!'\"-]|`")
_BRACES = re.compile(r"\{[^{}]*(,|\.\.)[^{}]*\}")
_EXTENDED = re.compile(r"[?*+@!]\(")
_UNQUOTE = re.compile(r"\\(.)", re.S)
_UNQUOTE_DOUBLE = re.compile(r"\\([$`\"\\\n])")


@dataclass(frozen=True, slots=True)
class Word:
    """`text` None: not known. `wild`: the shell expands it to paths. `inner`: nodes that may
    hold commands."""

    text: str | None
    wild: bool
    inner: tuple[Node, ...]

    def path(self) -> str:
        """The word as an argument; wildcards stay marked."""
        text = self.text or ""
        return Wild(text) if self.wild else text


class WordReader:
    """Reads words of one source text. `here` gives the working directory for $PWD, `own` what
    the script itself has put into a variable."""

    def __init__(
        self, source: bytes, home: str, here: Callable[[], str], own: Callable[[str], Word | None]
    ) -> None:
        self._source = source
        self._home = home
        self._here = here
        self._lookup = own
        self._own = True

    def read(self, node: Node, *, own: bool = True) -> Word:
        """The word that a node stands for; without `own`, variables of the script stay unread."""
        self._own = own
        text, wild = self._read(node)
        if (
            text is not None
            and node.type in ("word", "concatenation")
            and _BRACES.search(self._raw(node))
        ):
            text = None
        return Word(text, wild, () if text is not None and not node.child_count else (node,))

    def _raw(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode(errors="replace")

    def _read(self, node: Node) -> tuple[str | None, bool]:
        kind, raw = node.type, self._raw(node)
        if kind in (
            "word",
            "number",
            "variable_name",
            "special_variable_name",
            "file_descriptor",
            "test_operator",
        ):
            return self._bare(raw)
        if kind == "raw_string":
            return raw[1:-1], False
        if kind == "string":
            return self._double(raw)
        if kind in ("simple_expansion", "expansion"):
            known, _ = self._expand(raw, quoted=False)
            return (None, False) if _EXPANDS.search(known) else (known, False)
        if kind == "concatenation":
            return self._joined(node)
        if kind == "command_name" and node.named_child_count == 1:
            return self._read(node.named_children[0])
        return None, False

    def _joined(self, node: Node) -> tuple[str | None, bool]:
        """Pieces without gaps between them."""
        text, wild, end = "", False, node.start_byte
        for child in node.children:
            if child.start_byte != end:
                return None, False
            piece, piece_wild = (
                self._read(child) if child.is_named else self._bare(self._raw(child))
            )
            if piece is None:
                return None, False
            text += piece
            wild = wild or piece_wild
            end = child.end_byte
        return (text, wild) if end == node.end_byte else (None, False)

    def _bare(self, raw: str) -> tuple[str | None, bool]:
        """Unquoted text: backslashes, wildcards, the tilde."""
        raw = raw.replace("\\\n", "")
        naked = _UNQUOTE.sub("", raw)
        known = self._expand(raw, quoted=False)[0] if "$" in naked else raw
        if _EXPANDS.search(_UNQUOTE.sub("", known)) or _EXTENDED.search(naked):
            return None, False
        if re.search(r"[\s;&|<>()'\"`]", naked) or raw.endswith("\\"):
            return None, False
        if naked.startswith("~") and not (naked == "~" or naked.startswith("~/")):
            return None, False
        return _UNQUOTE.sub(r"\1", known), re.search(r"[*?\[]", naked) is not None

    def _double(self, raw: str) -> tuple[str | None, bool]:
        inner, wild = raw[1:-1], False
        if len(raw) < 2 or not (raw.startswith('"') and raw.endswith('"')):
            return None, False
        if (spelled := _SPELLED.fullmatch(inner)) and spelled[1] not in spelled[2].split("\n"):
            return spelled[2].rstrip("\n"), False
        plain = _UNQUOTE_DOUBLE.sub("", inner)
        if "$" in plain or "`" in plain:
            inner, wild = self._expand(inner, quoted=True)
            if _EXPANDS.search(_UNQUOTE_DOUBLE.sub("", inner)):
                return None, False
        text = _UNQUOTE_DOUBLE.sub(lambda found: "" if found[1] == "\n" else found[1], inner)
        return text, wild

    def _expand(self, raw: str, *, quoted: bool) -> tuple[str, bool]:
        """The variables whose values are known: two of the shell's, and the script's own. The
        last exit status is a number."""
        wild = False

        def value(found: re.Match[str]) -> str:
            nonlocal wild
            name = found[1] or found[2]
            if found[0] == "$?":
                return "0"
            if name in ("HOME", "PWD"):
                return self._home if name == "HOME" else self._here()
            word = self._lookup(name) if name and self._own else None
            if word is None or word.text is None:
                return found[0]
            if not quoted and (word.wild or not _UNSPLIT.fullmatch(word.text)):
                return found[0]
            wild = wild or word.wild
            return word.text

        return _KNOWN.sub(value, raw), wild
