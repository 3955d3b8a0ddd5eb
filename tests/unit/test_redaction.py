"""What must never be written: shapes, known values, arguments, and streams in pieces."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runtime.secrets.redaction import MAX_HELD, Redactor, known_values

GITHUB = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
BEARER = "eyAbCdEfGhIjKlMnOpQrStUv.w"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA75cnv\nqJ8Zp9PHgh4fs=\n"
    "-----END RSA PRIVATE KEY-----"
)
SHAPED = {
    "github-token": GITHUB,
    "gitlab-token": "glpat-AbCd1234_-EfGh5678ij",
    "model-key": "sk-proj-abcdefghijklmnop1234567890",
    "google-key": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "aws-key-id": "AKIAIOSFODNN7EXAMPLE",
    "slack-token": "xoxb-123456789012-abcdefghij",
    "stripe-key": "sk_live_abcdefghijklmnop1234",
    "package-token": "npm_" + "a1B2" * 9,
    "hub-token": "hf_" + "aB3d" * 9,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmnop",
    "private-key": PEM,
}
HEX = "0123456789abcdef" * 8
MIXED = "aB3dE5gH7jK9mN1pQ2sT4vW6xY8z" * 10
VENDORS = [
    f"SG.{MIXED[:22]}.{MIXED[:43]}", f"NzA{MIXED[:21]}.GabCde.{MIXED[:27]}", f"SK{HEX[:32]}",
    f"123456789:AA{MIXED[:33]}", f"dop_v1_{HEX[:64]}", f"shpat_{HEX[:32]}", f"sq0csp-{MIXED[:43]}",
    f"{HEX[:32]}-us12", f"key-{HEX[:32]}", f"dckr_pat_{MIXED[:27]}", f"ATATT3{MIXED[:180]}",
    f"figd_{MIXED[:40]}", f"lin_api_{MIXED[:40]}", f"ntn_{MIXED[:46]}", f"NRAK-{MIXED[:27]}",
    f"PMAK-{HEX[:24]}-{HEX[:34]}", f"rubygems_{HEX[:48]}", f"sbp_{HEX[:40]}", f"dapi{HEX[:32]}",
    f"glsa_{MIXED[:32]}_{HEX[:8]}", f"glc_{MIXED[:60]}", f"hvs.{MIXED[:90]}",
    f"{MIXED[:14]}.atlasv1.{MIXED[:67]}", f"cio{MIXED[:32]}", f"AGE-SECRET-KEY-1{'QPZRY9X8GF' * 5}2TVDW0S3",
    f"AKCp{MIXED[:69]}", f"pul-{HEX[:40]}", f"pscale_tkn_{MIXED[:43]}", f"fm2_{MIXED[:120]}",
    f"tskey-auth-{MIXED[:12]}-{MIXED[:32]}", f"ops_eyJ{MIXED[:200]}", f"dp.pt.{MIXED[:43]}",
    f"gsk_{MIXED[:52]}", f"r8_{MIXED[:37]}", f"pplx-{MIXED[:48]}", f"xai-{MIXED[:80]}",
    f"sntrys_{MIXED[:90]}", f"nfp_{MIXED[:36]}", f"vcp_{MIXED[:56]}", f"HRKU-{MIXED[:58]}",
    f"pat{MIXED[:14]}.{HEX[:64]}", f"dt0c01.{'A1B2C3D4' * 3}.{'A1B2C3D4' * 8}",
    f"GOCSPX-{MIXED[:28]}", f"ya29.{MIXED[:120]}", f"xapp-1-A0123-{HEX[:60]}", f"whsec_{MIXED[:32]}",
    f"sk_test_{MIXED[:24]}", f"glrt-{MIXED[:20]}", f"GR1348941{MIXED[:20]}", f"xoxe.xoxp-1-{MIXED[:60]}",
    f"sk-ant-api03-{MIXED[:90]}", f"github_pat_{MIXED[:82]}", f"pypi-AgEIcHlwaS5vcmc{MIXED[:90]}",
]  # fmt: skip
plain = Redactor({})


@pytest.mark.parametrize("token", VENDORS, ids=lambda token: token[:10])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_F55_a_token_of_a_known_vendor_is_hidden_whole_and_in_pieces(token, size):
    text = f"It says: {token} and goes on"
    shown = plain.text(text)
    assert shown.startswith("It says: [redacted:") and shown.endswith("] and goes on")
    stream = plain.stream()
    pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join([*pieces, stream.end()]) == shown


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"https://hooks.slack.com/services/T0ABC/B0DEF/{MIXED[:24]}", MIXED[:24]),
        (f"https://discord.com/api/webhooks/123456789012/{MIXED[:68]}", MIXED[:68]),
        (f"AccountName=x;AccountKey={MIXED[:86]}==;Endpoint=y", MIXED[:86]),
    ],
)
def test_F55_a_credential_within_an_address_is_hidden(text, secret):
    assert secret not in plain.text(text)
    assert "[redacted:" in plain.text(text)


@pytest.mark.parametrize("name", SHAPED)
@pytest.mark.parametrize("around", ["{}", "x = '{}'\n", "[{}]", 'curl -H "X-A: {}" x', "a {} b"])
def test_F55_a_credential_of_a_known_shape_is_replaced_by_its_name(name, around):
    shown = plain.text(around.format(SHAPED[name]))
    assert shown == around.format(f"[redacted:{name}]")


@pytest.mark.parametrize("around", ["x{}", "_{}", "{}x_{}", "TOKEN{}"])
def test_F55_a_credential_is_found_where_it_is_glued_to_a_word(around):
    assert GITHUB[:12] not in plain.text(around.replace("{}", GITHUB))
    assert GITHUB[:12] not in plain.text(GITHUB * 3)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"Authorization: Bearer {BEARER}", BEARER),
        (f"  h = {{'authorization': 'bearer {BEARER}'}}", BEARER),
        ("Authorization: Basic dXNlcjpodW50ZXIyMTIz", "dXNlcjpodW50ZXIyMTIz"),
        ("git clone https://bob:hunter2hunter@host/x.git", "hunter2hunter"),
        ("postgresql://m31a:s3cr3t-pass@db:5432/x", "s3cr3t-pass"),
        ("PASSWORD=correct7horse7battery", "correct7horse7battery"),
        ('{"api_key": "abcdef123456789"}', "abcdef123456789"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "wJalrXUtnFEMI/K7MDENG"),
        ("client-secret: 'abcdef-123456-xyz'", "abcdef-123456-xyz"),
        ("password:\n  hunter2hunter2", "hunter2hunter2"),
    ],
)
def test_F55_a_credential_is_found_by_what_stands_before_it(text, secret):
    shown = plain.text(text)
    assert secret not in shown
    assert "[redacted:" in shown
    assert shown.split("[redacted:")[0] == text.split(secret)[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "short",
        "The password is checked in login.py",
        "token = get_token()",
        "class global-settings-provider-for-all and glob-pattern-matcher-module",
        "vcs_info = patch.parts.somewhere; key-value-store; ops_team; fm2_radio",
        "a basic example of the bearer protocol",
        "import secrets\nsecret = secrets.token_urlsafe()",
        "https://example.org:8080/path?q=1@2",
        "def tokenize(text): return text.split()",
        "2f5b8c0d" * 8,
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "ghp_short",
        "sk-learn and sk-image",
    ],
)
def test_ordinary_text_stays_as_it_is(text):
    assert plain.text(text) == text
    assert plain.value({"a": [text]}) == {"a": [text]}


def test_R9_known_values_are_replaced_longest_first_and_short_ones_left_alone():
    redactor = Redactor({"A": "hunter22", "B": "hunter22-and-more", "C": "tiny"})
    assert redactor.text("tiny hunter22-and-more hunter22!") == "tiny [redacted:B] [redacted:A]!"


def test_known_values_are_those_of_the_environment_that_look_like_secrets():
    env = {
        "OPENAI_API_KEY": "a",
        "GH_TOKEN": "b",
        "db_password": "c",
        "M31A_DATABASE_URL": "d",
        "PATH": "e",
        "KEYBOARD": "f",
    }
    found = known_values(env)
    assert found.keys() == {"OPENAI_API_KEY", "GH_TOKEN", "db_password", "M31A_DATABASE_URL"}


def test_R9_an_argument_after_an_option_for_a_secret_is_hidden_whole():
    args = [
        "--user",
        "bob",
        "--password",
        "a b",
        "--api-key=xyz",
        "--token",
        "t",
        "--db-secret",
        "x",
    ]
    assert plain.value(args) == [
        "--user",
        "bob",
        "--password",
        "[redacted:argument]",
        "--api-key=[redacted:argument]",
        "--token",
        "[redacted:argument]",
        "--db-secret",
        "[redacted:argument]",
    ]


def test_an_option_without_a_value_hides_nothing_behind_it():
    args = ["--password", "--verbose", "file", "--password", ""]
    assert plain.value(args) == args


def test_a_value_in_which_nothing_is_hidden_is_the_same_object():
    value = {"a": ["x", {"b": 1, "c": None, "d": True}], "e": "f"}
    assert plain.value(value) is value
    changed = plain.value({"a": value, "b": [GITHUB]})
    assert changed == {"a": value, "b": ["[redacted:github-token]"]}
    assert changed["a"] is value


def _in_pieces(redactor: Redactor, pieces: list[str]) -> str:
    stream = redactor.stream()
    return "".join([*(stream.feed(piece) for piece in pieces), stream.end()])


TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "x.py", line 3, in <module>\n'
    f"    raise Error('Authorization: Bearer {BEARER} was refused')\n"
    f"Error: {GITHUB}\nthe password:\n  hunter2hunter2\nso it is.\n"
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 64, 10_000])
def test_F55_a_stream_hides_what_the_whole_text_hides_wherever_it_is_cut(size):
    for text in (TRACEBACK, f"a\n{PEM}\nb\n{PEM}", f"Bearer\n{BEARER} ok", f"x://u:{'p' * 40}@h y"):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert _in_pieces(plain, pieces) == plain.text(text)


def test_F55_two_chunks_with_the_border_at_every_place_of_a_secret():
    redactor = Redactor({"PHRASE": "open sesame\nand close"})
    for secret in (
        GITHUB,
        f"Bearer {BEARER}",
        PEM,
        "open sesame\nand close",
        "PASSWORD = aaa111bbb222",
    ):
        text = f"before {secret} after\n"
        for at in range(len(text) + 1):
            assert _in_pieces(redactor, [text[:at], text[at:]]) == redactor.text(text), at


FRAGMENTS = [
    *SHAPED.values(),
    "Bearer ",
    "bearer\n",
    BEARER,
    "password",
    '"token": "',
    "api_key=",
    "abc123def456ghi",
    "open sesame and close",
    "open sesame",
    " ",
    "\n",
    "\t \n",
    "word ",
    "x" * 700,
    "https://bob:",
    "pass7word@host ",
    "é…\U0001f600 ",
    "-----BEGIN CERTIFICATE-----\n",
    "-----END PRIVATE KEY-----",
]


@pytest.mark.parametrize("before", ["", "see ", "token.", "x=", "-eyJ", "a.b.c "])
@pytest.mark.parametrize("size", [1, 7, 100, 700])
@pytest.mark.parametrize("payload", [300, 900, 3_000])
def test_F55_a_long_token_is_held_back_until_its_last_part_is_there(
    payload: int, size: int, before: str
) -> None:
    token = f"eyJhbGciOiJIUzI1NiJ9.eyJ{'b' * payload}.{'s' * 43}"
    text = f"{before}{token} and more words"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    shown = _in_pieces(plain, pieces)
    assert "bbbb" not in shown and "ssss" not in shown and shown.endswith(" and more words")


@pytest.mark.parametrize("size", [1, 7, 100, 700])
@pytest.mark.parametrize(
    "before", ["https", "see https", "a://b https", "-https", "my_scheme", "x=", "", "1"]
)
def test_F55_a_long_password_in_an_address_is_held_back_until_its_host_is_there(
    before: str, size: int
) -> None:
    text = f"{before}://{'u' * 100}:{'p' * 900}@host/path and more words"
    shown = _in_pieces(plain, [text[at : at + size] for at in range(0, len(text), size)])
    assert "pppp" not in shown and shown.endswith("@host/path and more words")


class Looking(Redactor):
    """Counts the characters among which it looks for a place to cut."""

    looked = 0

    def safe_cut(self, text: str) -> int:
        self.looked += len(text)
        return super().safe_cut(text)


@pytest.mark.thorough
def test_many_beginnings_of_tokens_take_no_long_time() -> None:
    redactor, fed, began = Looking({}), 0, time.process_time()
    stream = redactor.stream()
    for piece in ("-eyJ.eyJ", "a://a:", "://a:eyJ."):
        for _ in range(400):
            stream.feed(piece * 5)
            fed += len(piece * 5)
        stream.feed(" ")
    stream.end()
    assert redactor.looked < 10 * fed, "what is held back is not looked at again and again"
    assert time.process_time() - began < 20


@settings(max_examples=200)
@example([GITHUB, SHAPED["jwt"], *["x" * 700] * 3, BEARER, BEARER], random.Random(1))
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12), st.randoms(use_true_random=False))
def test_F55_no_secret_leaves_a_stream_in_any_pieces(fragments: list[str], chance: random.Random):
    redactor = Redactor({"PHRASE": "open sesame and close"})
    text = "".join(fragments)
    whole = redactor.text(text)
    pieces, at = [], 0
    while at < len(text):
        size = chance.choice([1, 4, 30, 600])
        pieces.append(text[at : at + size])
        at += size
    shown = _in_pieces(redactor, pieces)
    for secret in [*SHAPED.values(), BEARER, "abc123def456ghi", "open sesame and close"]:
        assert shown.count(secret) <= whole.count(secret)
    assert "MIIEpAIBAAKCAQEA75cnv" not in shown or "MIIEpAIBAAKCAQEA75cnv" in whole


TOUCHING = [
    # The second package token is seen only once the first has lost its beginning to another.
    "".join([GITHUB, SHAPED["aws-key-id"], *[SHAPED["package-token"]] * 2, "x" * 700]),
    # Blanks end an address, and a known value that holds some does not.
    f"{SHAPED['stripe-key']}https://bob:abc123def456ghiopen sesame and close{GITHUB}x@host ",
]


@pytest.mark.parametrize("text", TOUCHING)
def test_F55_secrets_that_touch_are_hidden_in_pieces_as_they_are_in_the_whole(text: str):
    redactor = Redactor({"PHRASE": "open sesame and close"})
    hidden = (SHAPED["package-token"], "abc123def456ghi")
    assert not any(secret in redactor.text(text) for secret in hidden)
    for seed in range(300):
        chance, pieces, at = random.Random(seed), [], 0
        while at < len(text):
            size = chance.choice([1, 4, 30, 600])
            pieces.append(text[at : at + size])
            at += size
        shown = _in_pieces(redactor, pieces)
        assert not any(secret in shown for secret in hidden), pieces


def test_a_stream_shows_ordinary_words_as_soon_as_they_are_decided():
    stream = plain.stream()
    assert stream.feed("I will read ") == "I will read "
    assert stream.feed("the fi") == "the "
    assert stream.feed("le.\nThen ") == "file.\nThen "
    assert stream.feed("the password ") == "the "
    assert stream.feed("is checked ") == "password is checked "
    assert (
        stream.feed("-----BEGIN CERTIFICATE-----\nMIIB\n") == "-----BEGIN CERTIFICATE-----\nMIIB\n"
    )
    assert stream.end() == ""


def test_text_after_a_private_key_is_shown_when_the_key_has_ended():
    stream = plain.stream()
    shown = stream.feed(f"{PEM}\nand then ") + stream.feed("more ")
    assert shown == "[redacted:private-key]\nand then more "


def test_a_stream_holds_back_a_bounded_tail_and_hides_the_rest():
    stream = plain.stream()
    assert stream.feed("-----BEGIN PRIVATE KEY-----\n") == ""
    shown = "".join(stream.feed("MIIEpAIBAAKCAQEA\n" * 100) for _ in range(100))
    shown += stream.feed("-----END PRIVATE KEY-----\nafter\n") + stream.end()
    assert "MIIE" not in shown
    assert "[redacted:" in shown
    assert len(stream._tail) <= MAX_HELD


def test_text_without_blanks_is_passed_on_after_a_while():
    stream = plain.stream()
    shown = "".join(stream.feed("x" * 100) for _ in range(100))
    assert len(shown) > 9000
    assert shown + stream.end() == "x" * 10_000


@pytest.mark.thorough
@pytest.mark.parametrize(
    "unit", ["token=", "a.", "eyJ-", "bearer ", "basic  ", "a://b:", "-----BEGIN ", "password"]
)
def test_no_text_takes_longer_than_its_length(unit: str) -> None:
    redactor = Redactor({})
    began = time.process_time()
    redactor.text(f"{unit * (200_000 // len(unit))}://")
    stream = redactor.stream()
    for _ in range(20_000 // len(unit)):
        stream.feed(unit)
    assert time.process_time() - began < 50  # it was hours
