"""What a person reads is what is there: nothing hidden, nothing reordered, nothing cut in silence."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core import hints
from runtime.present import actions, ansi, cards, html, text


@pytest.mark.parametrize(
    "character",
    [
        "\u200b",
        "\u202e",
        "\u2028",
        "\x1b",
        "\x00",
        "\x7f",
        "\u00a0",
        "\ufeff",
        "\u3164",
        "\U000e0041",
    ],
)
def test_F20_a_character_that_cannot_be_seen_becomes_a_mark(character: str) -> None:
    shown = text.visible(f"rm -rf a{character}b")
    assert character not in shown
    assert f"‹U+{ord(character):04X}›" in shown
    assert text.hidden(f"a{character}b") != []


def test_F20_four_hundred_blanks_become_their_number() -> None:
    command = "true" + " " * 400 + "; rm -rf ~"
    assert "‹400 blanks›" in text.visible(command)
    assert "rm -rf ~" in text.visible(command)
    assert text.hidden(command) == ["400 blanks"]


def test_ordinary_text_stays_as_it_is() -> None:
    ordinary = "def f():\n\treturn 'grüß dich ✓ 你好'\n" + " " * 60 + "aligned"
    assert text.plain(ordinary) == ordinary
    assert text.hidden(ordinary) == []


def test_markup_is_escaped() -> None:
    assert text.visible("<script>&\"'") == "&lt;script&gt;&amp;&quot;&#x27;"
    assert "<b>" not in text.marked("`<b>`")


def test_an_emoji_keeps_its_style() -> None:
    assert text.hidden("⚠\ufe0f") == []
    assert text.hidden("a\ufe0f") != []


@given(st.text())
def test_no_control_or_format_character_survives(value: str) -> None:
    left = {unicodedata.category(c) for c in text.plain(value) if c not in "\n\t\ufe0f"}
    assert not left & {"Cc", "Cf", "Zl", "Zp", "Cs"}


def test_a_cut_text_says_how_much_is_missing() -> None:
    assert "… 840 more characters" in text.short("x" * 1000, 160)
    assert text.short("x" * 160, 160) == "x" * 160


def test_commands_between_backticks_become_code() -> None:
    assert text.marked("See `git log` now.") == "See <code>git log</code> now."


@pytest.mark.parametrize(
    ("short", "typed"),
    [
        ("`m31a status`", "`python3 manage.py m31a status`"),
        ("`m31a user add NAME --role r`", "`python3 manage.py m31a user add NAME --role r`"),
        ("`m31a up`", "`python3 manage.py up`"),
        ("`up` makes it", "`python3 manage.py up` makes it"),
        ("`demo`", "`python3 manage.py demo`"),
        ("`python3 manage.py up`", "`python3 manage.py up`"),
        ("m31a is a name", "m31a is a name"),
        ("`uptime`, `m31astatus`", "`uptime`, `m31astatus`"),
    ],
)
def test_commands_in_messages_work_where_they_are_typed(short: str, typed: str) -> None:
    assert hints.typed(short) == typed
    assert hints.typed(typed) == typed


@pytest.mark.parametrize(
    ("value", "lines"),
    [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\nb\n", 2), ("\n", 1), ("a\n\n", 2)],
)
def test_an_end_of_line_begins_no_further_line(value: str, lines: int) -> None:
    assert text.lines(value) == lines


def test_every_place_counts_lines_alike() -> None:
    assert 'Output <span class="quiet">2 lines, 8 B' in html.output("one\ntwo\n")
    body = {"path": "a", "content": "one\ntwo\n"}
    assert "(2 lines)" in actions.sentence("write_file", body)
    script = {"kind": "run_shell", "script": "".join(f"echo {n}\n" for n in range(40))}
    assert cards.length(script).startswith("40 lines, ")
    shown = html.pre("".join(f"{n}\n" for n in range(40)), "Output")
    assert "14 more lines" in shown and "39</pre>" in shown


def test_terminal_colours_become_classes_and_the_rest_goes() -> None:
    shown = ansi.render("\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b[2J\x1b[5Aplain <b>")
    assert '<span class="ansi31">red</span>' in shown
    assert "title" not in shown and "\x1b" not in shown
    assert "plain &lt;b&gt;" in shown
    assert "style=" not in shown


def test_a_lone_carriage_return_hides_nothing() -> None:
    shown = ansi.render("rm -rf /\rls      ")
    assert "rm -rf /" in shown and "ls" in shown


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_output_never_becomes_markup(value: str) -> None:
    shown = ansi.render(value + "<i>\x1b[1m<u>")
    assert "<i>" not in shown and "<u>" not in shown
    assert "\x1b" not in shown
