"""Programs that pack and unpack: archives and compressed files."""

from __future__ import annotations

import re

from ..decision import Decision
from ..reading import Touch, Verb
from ..words import Wild
from .model import (
    Found,
    Operands,
    Option,
    Program,
    Value,
    asks,
    flags,
    follows,
    letters,
    looker,
    moves_to,
    ordinary,
    reads,
    runs,
    table,
    takes,
    writes,
)

_TAR_OPTIONS = (
    Option(("-f", "--file"), Value.NEEDED),
    runs("--checkpoint-action --to-command --use-compress-program --info-script -I -F"),
    runs("--new-volume-script --rsh-command --rmt-command"),
    moves_to("-C --directory"),
    takes("--exclude --strip-components --transform --xform --owner --group --mode --mtime"),
    takes("--checkpoint --format"),
    reads("-T --files-from -X --exclude-from"),
    asks("follows absolute names", "-P --absolute-names"),
    asks("removes what it packs", "--remove-files"),
    letters("cxtruzjJvkpmOaAdnSWU"),
    follows("-h --dereference"),
    flags("--extract --get --create --list --gzip --bzip2 --xz --zstd --verbose --append --update"),
    flags("--keep-old-files --no-same-owner --diff --to-stdout --auto-compress"),
)


_ZIP_KEEPS = re.compile(r"-[0-9jlqrTvy]+")
"""Bundles of options none of which has a value."""


def _zip(program: Program, args: tuple[str, ...], found: Found) -> None:
    """What goes into the archive can be read out of it. Links are followed, unless `-y` is surely
    an option and not another one's value."""
    found.changes = True
    found.touches += [Touch(Verb.WRITE, path) for path in found.operands[:1] if path != "-"]
    found.touches += [Touch(Verb.READ, path, deep=True) for path in found.operands[1:]]
    options = [word for word in args if word.startswith("-") and word not in ("-", "--symlinks")]
    plain = all(map(_ZIP_KEEPS.fullmatch, options))
    found.follows = not (plain and ("--symlinks" in args or any("y" in one for one in options)))


MAX_BUNDLE = 32


def _tar(program: Program, args: tuple[str, ...], found: Found) -> None:
    """The first word may be a bundle without its dash; -C decides where extraction writes."""
    from ..options import read_options

    words = args
    if words and not words[0].startswith("-"):
        if len(words[0]) > MAX_BUNDLE:
            found.opaque("tar bundle", "the bundle of options is too long to be read")
        words = _unbundled(words)
    plain = Program("tar", options=_TAR_OPTIONS, strict=True, operands=Operands.DATA)
    members = read_options(plain, words, found)
    modes = {
        letter
        for word in words
        if word.startswith("-") and not word.startswith("--")
        for letter in word
    }
    long = {word.partition("=")[0] for word in words if word.startswith("--")}
    archive = _after(words, "f", "--file")
    target, found.cwd = found.cwd or ".", None
    if isinstance(target, Wild):
        found.opaque("tar directory", "tar changes to a directory that cannot be told")
    extracts = "x" in modes or long & {"--extract", "--get"}
    lists = "t" in modes or "--list" in long
    if extracts and not ("O" in modes or "--to-stdout" in long):
        found.touches.append(Touch(Verb.WRITE, target, deep=True))
        found.changes = True
        if target in ("/", "~", ".."):
            found.veto("tar extract", "unpacks over the system")
    if not lists and not extracts:
        found.changes = True
        found.touches += [Touch(Verb.READ, _below(target, name), deep=True) for name in members]
    if archive and archive != "-":
        verb = Verb.READ if extracts or lists else Verb.WRITE
        found.touches.append(Touch(verb, archive))
        if ":" in archive:
            found.remark(Decision.ASK, "tar remote", "the archive's name means another host")


def _below(folder: str, name: str) -> str:
    """What the shell makes of a word with wildcards elsewhere is among what it would make here."""
    if folder == "." or name.startswith("/"):
        return name
    path = f"{folder}/{name}"
    return Wild(path) if isinstance(name, Wild) else path


def _unbundled(words: tuple[str, ...]) -> tuple[str, ...]:
    """`cfC a.tar dir x` as `-c -f a.tar -C dir x`."""
    rest = list(words[1:])
    out: list[str] = []
    for letter in words[0][:MAX_BUNDLE]:
        out.append(f"-{letter}")
        if letter in "fCTXIFbgKLNV" and rest:
            out.append(rest.pop(0))
    return (*out, *rest)


def _after(words: tuple[str, ...], letter: str, long: str) -> str:
    for index, word in enumerate(words):
        if word.startswith(f"{long}="):
            return word.partition("=")[2]
        cluster = word.startswith("-") and not word.startswith("--") and letter in word
        if word == long or (cluster and word.endswith(letter)):
            return words[index + 1] if index + 1 < len(words) else ""
        if cluster:
            return word.partition(letter)[2]
    return ""


ARCHIVES = table(
    Program("tar", raw=True, reads_only=True, reader=_tar),
    *ordinary("gzip gunzip bzip2 bunzip2 xz unxz", operands=Operands.WRITE),
    *ordinary("zstd", writes("-o"), operands=Operands.WRITE),
    *looker("zcat bzcat xzcat zstdcat"),
    *ordinary(
        "zip",
        runs("-TT --unzip-command"),
        asks("removes what it packs", "-m --move"),
        asks("takes names from its input", "-@ --names-stdin"),
        takes("-P --password -n --suffixes -t -tt -x --exclude -i --include"),
        writes("-b --temp-path -O --output-file -lf --logfile-path"),
        operands=Operands.DATA,
        reader=_zip,
    ),
    *ordinary(
        "unzip",
        writes("-d"),
        letters("oqlnj"),
        asks("follows names that lead out", "-:"),
        operands=Operands.READ,
    ),
)
