"""A word with wildcards is judged as all that it becomes, also through links of the worktree."""

from __future__ import annotations

import time

import pytest

from runtime.policy import Decision, Rule, RuleLayer, links
from runtime.policy.testing import Link, World, shell, tool

HELD = (Decision.DENY, Decision.ESCALATE, Decision.ASK)
WORLD = World(
    files={
        "/etc/shadow": "root:x",
        "/srv/words": "a",
        "/tree/README.md": "hello",
        "/tree/src/a.py": "a = 1",
        "/tree/src/b.py": Link("a.py"),
        "/tree/src/round": Link("/tree/src"),
        "/tree/data/secret": Link("/etc/shadow"),
        "/tree/data/words": Link("/srv/words"),
        "/tree/link": Link("/etc"),
        "/tree/ci": Link(".github/workflows"),
        "/tree/.github/workflows/ci.yml": "on: push",
        "/tree/keys/id_rsa": "a secret",
        "/tree/plain/k": Link("../keys/id_rsa"),
        "/tree/many/keys": Link("../keys"),
        "/tree/loops/one": Link("one"),
    }
)
SECRET = (
    "cat li*/shadow",
    "cat l?nk/shadow",
    "cat [l]ink/sha*",
    "cat */secret",
    "cat data/*",
    "cat ./data/s*t",
    "cat src/../data/s*",
    "cat s*/../data/secret",
    "cat src/round/../d*/secret",
    "cd data && cat s*",
    "head -n 1 -- data/s*",
)


@pytest.mark.parametrize("script", SECRET)
def test_a_secret_behind_a_link_is_refused_though_no_word_names_it(script: str) -> None:
    verdict = WORLD.decide(shell(script))
    assert verdict.decision is Decision.DENY and "/etc/shadow" in verdict.reason, verdict.reason


@pytest.mark.parametrize(
    "script",
    [
        "cat data/w*",
        "for f in data/s*; do cat $f; done",
        "cat link/*",
        "cat loops/*",
        "ls l*",
        "cat *",
        "echo x > data/w*",
        "rm data/*",
    ],
)
def test_what_leads_out_is_never_allowed_unasked(script: str) -> None:
    assert WORLD.decide(shell(script)).decision in HELD


@pytest.mark.parametrize(
    "script",
    [
        "cp README.md c*/ci.yml",
        "cp README.md ci/*.yml",
        "cat plain/*",
        "cat p*/k",
        "cat m*/k*/id_rsa",
        "cat many/keys/*_rsa",
    ],
)
def test_links_to_what_is_guarded_or_secret_inside_are_looked_at(script: str) -> None:
    assert WORLD.decide(shell(script)).decision in HELD


FOLLOWING = {
    "grep -R root .": "grep -r root .",
    "grep --dereference-recursive root": "grep -r root",
    "egrep -nR root data": "egrep -nr root data",
    "rg -L root": "rg root",
    "rg --follow root data": "rg root data",
    "find -L . -name shadow": "find . -name shadow",
    "find . -follow -name shadow": "find . -name shadow",
    "tar -chf out.tar .": "tar -cf out.tar .",
    "tar --dereference -cf out.tar data": "tar -cf out.tar data",
    "zip -r out.zip data": "zip -ry out.zip data",
    "zip -r -Pmyy out.zip data": "zip -r --symlinks out.zip data",
    "zip -r -P -y out.zip data": "zip -qry out.zip data",
    "cp -rL data copied": "cp -r data copied",
    "rsync -aL data/ copied/": "rsync -a data/ copied/",
    "diff data src": "diff --no-dereference data src",
    "diff -r data src": "diff -r --no-dereference data src",
    "ls -LR": "ls -R",
    "du -L data": "du data",
    "tree -l": "tree",
    "cd data && grep -R root .": "cd data && grep -r root .",
    "grep -R root da*": "grep -r root da*",
}


@pytest.mark.parametrize(("follows", "plain"), FOLLOWING.items())
def test_a_program_that_follows_links_is_judged_by_where_those_below_a_directory_lead(
    follows: str, plain: str
) -> None:
    verdict = WORLD.decide(shell(follows))
    assert verdict.decision in HELD
    assert "/etc" in verdict.reason or "/srv/words" in verdict.reason, verdict.reason
    assert WORLD.decide(shell(plain)).decision is Decision.ALLOW


@pytest.mark.parametrize("script", FOLLOWING)
def test_nobody_asks_about_links_that_stay_inside(script: str) -> None:
    clean = World(files={"/tree/src/a.py": "a", "/tree/data/b": Link("../src/a.py")})
    verdict = clean.decide(shell(script))
    assert verdict.decision is Decision.ALLOW, verdict.reason


@pytest.mark.parametrize(
    "script",
    ["grep -r root data", "rg root data", "find . -name a.py", "du data"],
)
def test_one_that_does_not_follow_them_is_not(script: str) -> None:
    assert WORLD.decide(shell(script)).decision is Decision.ALLOW


def test_the_way_down_ends_where_links_go_round_and_passes_through_those_inside() -> None:
    files: dict[str, str | Link] = {
        "/tree/src/round": Link("/tree/src"),
        "/tree/src/over": Link("../other"),
        "/tree/other/k": Link("/etc/shadow"),
    }
    verdict = World(files=files | {"/etc/shadow": "x"}).decide(shell("grep -R x src"))
    assert verdict.decision is Decision.DENY and "/etc/shadow" in verdict.reason


@pytest.mark.parametrize("script", ["cat p*/k", "cat k*/id_rsa", "cat m*/keys/i*", "cat many/k*/*"])
def test_a_rule_about_a_place_holds_for_links_to_it(script: str) -> None:
    keys = Rule("no-keys", Decision.DENY, path=("/keys/",))
    verdict = WORLD.decide(shell(script), layers=(RuleLayer(1, "system", (keys,)),))
    assert (verdict.decision, verdict.rule) == (Decision.DENY, "no-keys"), verdict.reason


EXPANDED = [
    ("cat [!L]nk/shadow", {"ink": Link("/etc")}),
    ("cat [!Z]ink/shadow", {"link": Link("/etc")}),
    ("cat [[=l=]]ink/shadow", {"link": Link("/etc")}),
    ("cat [!]a]ink/shadow", {"link": Link("/etc")}),
    ("cat [l\\]]ink/shadow", {"link": Link("/etc")}),
    ("cat [A-z]ink/shadow", {"_ink": Link("/etc")}),
    ("cat [Z-a]ink/shadow", {"_ink": Link("/etc")}),
    ('cat "[a]"*', {"[a]foo": Link("/etc/shadow")}),
    ("cat [a]", {"[a]": Link("/etc/shadow")}),
    ("cat [a]/shadow", {"[a]": Link("/etc")}),
    ("cat ?nk/shadow", {"\u00dfnk": Link("/etc"), "\u0130nk": Link("/etc")}),
    ("cat ??nk/shadow", {"\u00e9nk": Link("/etc")}),
    ("cat l*", {"l[1]": Link("/etc/shadow")}),
    ("cat x*/shadow", {"x[1]": Link("/etc")}),
    ("cat d/*", {"d/s*t": Link("/etc/shadow")}),
    ("cat .?/.?/etc/shadow", {}),
    ("cat .[.]/etc/shadow", {}),
    ("cat .[!x]/etc/shadow", {}),
    ("cat ./~/*", {"~/x": Link("/etc/shadow")}),
    ("cp README.md .gi[!T]/hooks/pre-commit", {".git/hooks/x": "x"}),
    ("cp README.md .gi[[:lower:]]/hooks/pre-commit", {".git/hooks/x": "x"}),
    ("cp README.md .git[[:lower:]]ub/workflows/ci.yml", {".github/workflows/ci.yml": "x"}),
    ("cat .gi[!T]/config", {".git/config": "x"}),
    ("cat .en[[:lower:]]", {".env": "x"}),
    ("cat '{l}'/*", {"{l}": Link("/etc")}),
    (
        "cp README.md '{l}'/c*.yml",
        {"{l}": Link(".github/workflows"), ".github/workflows/c.yml": "x"},
    ),
    ("grep -R KEY config/*.json", {"config/credentials.json": "x"}),
    ("grep -R KEY config/*", {"config/id_rsa": "x"}),
    ("diff data config", {"data/a": Link("/etc/shadow"), "config/a": "x"}),
    ("cat foo.p?m", {"foo.pem": "x"}),
    ("cat config/*.json", {"config/credentials.json": "x"}),
    ("cat config/*", {"config/id_rsa": "x"}),
    ("cat foo.p[e]m", {"foo.pem": "x"}),
    ("shellcheck l*nk/shadow", {"link": Link("/etc")}),
    ("ruff check d/*", {"d/s": Link("/etc/shadow")}),
    ("pytest l*nk/shadow", {"link": Link("/etc")}),
    ("env -C c* touch ci.yml", {"ci": Link(".github/workflows"), ".github/workflows/x": "x"}),
    ("env -C d* head k", {"d/k": Link("/etc/shadow")}),
    ("tar cf a.tar -C d* k", {"d/k": Link("/etc/shadow")}),
    ("tar chf a.tar -C d s*", {"d/s": Link("/etc/shadow")}),
    ("sort README.md -oc*/ci.yml", {"-oci/ci.yml": "x", "ci": Link(".github/workflows")}),
    ("sort */*/*", {"--output=.github/workflows/ci.yml": "x"}),
    ("wc *", {"--files0-from=x": "x"}),
    ("head -n 1*", {"1": "x", "1x": Link("/etc/shadow")}),
    ("awk 1*", {"1": "x", "1x": Link(".env"), ".env": "x"}),
    ("grep O*", {"O": "x", "Ox": Link("/etc/shadow")}),
    ("jq 1*", {"1": "x", "1x": Link(".env"), ".env": "x"}),
    ("tar cf a.tar --exclude r* d", {"r": "x", "rx": Link("/etc/shadow"), "d/a": "x"}),
    (
        "touch -d 1*",
        {"1": "x", "1x": Link(".github/workflows/ci.yml"), ".github/workflows/ci.yml": "x"},
    ),
    (
        "uniq d/*",
        {"d/a": "x", "d/b": Link("../.github/workflows/c.yml"), ".github/workflows/c.yml": "x"},
    ),
    (
        "xxd -r d/*",
        {"d/a": "x", "d/b": Link("../.github/workflows/c.yml"), ".github/workflows/c.yml": "x"},
    ),
    ("awk 1 ./a=b", {"a=b": Link("/etc/shadow")}),
    *(
        (way, {"to": Link("sub/deep"), "sub/deep/x": "x", "sub/k": Link("/etc/shadow"), "k": "x"})
        for way in (
            "cd -P to/.. && cat k",
            "cd -P to && cd .. && cat k",
            "cd to && cd -P .. && cat k",
            "cd to && cat ../k",
        )
    ),
]


@pytest.mark.parametrize(("script", "files"), EXPANDED, ids=[script for script, _ in EXPANDED])
def test_what_some_shell_makes_of_a_word_is_never_allowed_unasked(
    script: str, files: dict[str, str | Link]
) -> None:
    there: dict[str, str | Link] = {f"/tree/{name}": one for name, one in files.items()}
    world = World(files=there | {"/tree/README.md": "hello", "/etc/shadow": "root:x"})
    assert world.decide(shell(script)).decision in HELD


LINKED: dict[str, str | Link] = {
    ".venv": Link("/m31a/env/.venv"),
    "node_modules": Link("/m31a/env/node_modules"),
    "src/a.py": "x",
    ".gitignore": "x",
}
ORDINARY = [
    (
        "ls node_modules/.bin/*",
        {f"node_modules/.bin/t{n}": Link(f"../t{n}/cli.js") for n in range(90)},
    ),
    ("ls .venv/bin/*", {".venv/bin/python": Link("/usr/bin/python3")}),
    ("grep -rn x --include=*.py .", {"a.py": "x"}),
    ("find . -name *.py", {"a.py": "x", "b.py": "x"}),
    ("wc -l src/*.py docs/*.md", {"src/a.py": "x", "docs/r.md": Link("../README.md")}),
    ("cat packages/*/package.json", {"packages/a/package.json": "{}", "packages/b": Link("a")}),
    ("cat app/[slug]/page.tsx", {"app/[slug]/page.tsx": "x"}),
    ("echo *", {"a.py": "x"}),
    *(
        (script, LINKED)
        for script in (
            "ls *",
            "ls -d */",
            "echo *",
            "grep -n foo *",
            "grep -rn foo */",
            "wc -l *",
            "du -sh *",
            "git add *",
            "tar czf out.tgz *",
            "ls node_modules/*",
            "ls .venv/bin/*",
            "grep -Rn foo .",
            "find -L . -name a",
            "tr [a-z] [A-Z] < README.md",
            "ls [A-Z]*",
            "grep [0-9] README.md",
            "grep -n [[:space:]] README.md",
            "ls -lL README.md a b c d e f g h i j k l m n o p q r s t u v w x y z",
        )
    ),
    ("wc -l *.json", {"a.json": "x"}),
    ("ls -la .*", {".gitignore": "x"}),
]


@pytest.mark.parametrize(("script", "files"), ORDINARY, ids=[script for script, _ in ORDINARY])
def test_ordinary_words_with_wildcards_are_asked_about_by_nobody(
    script: str, files: dict[str, str | Link]
) -> None:
    there: dict[str, str | Link] = {f"/tree/{name}": one for name, one in files.items()}
    verdict = World(files=there | {"/tree/README.md": "hello"}).decide(shell(script))
    assert verdict.decision is Decision.ALLOW, verdict.reason


@pytest.mark.parametrize(
    "script",
    [
        "python x.py docs/*.md tests/*.py",
        "eslint *",
        "pytest --deselect tests/*",
        "npx prettier --check *",
    ],
)
def test_words_of_a_program_that_does_not_write_are_not_written(script: str) -> None:
    world = World(files={"/tree/docs/a.md": "x", "/tree/tests/a.py": "x"})
    bound = world.decide(shell(script), write_paths=("docs/",))
    assert (bound.decision, bound.rule) == (world.decide(shell(script)).decision, bound.rule)
    assert bound.rule != "write paths"


def test_a_decision_from_before_is_repeated_without_new_questions() -> None:
    for script in (
        "echo src/*",
        "ls -lL",
        "grep [0-9] README.md",
        "pytest tests/test_*.py",
        "cat li*",
    ):
        verdict = WORLD.decide(shell(script), links=None)
        assert not [name for name, _ in verdict.facts if name.startswith("met ")]
        assert verdict.decision is Decision.ALLOW, (script, verdict.reason)


@pytest.mark.parametrize("word", ["d/*a*a*a*a*a*a*b", "s*/" + "y/" * 3000 + "*", "*/" * 500])
def test_a_word_takes_no_long_time(word: str) -> None:
    world = World(files={f"/tree/d/{'a' * 200}": "x", "/tree/s/y/y/y": "x"})
    began = time.process_time()
    world.decide(shell(f"cat {word}"))
    assert time.process_time() - began < 0.5


def test_many_words_are_too_many() -> None:
    words = " ".join(f"a{n}*" for n in range(30))
    assert WORLD.decide(shell(f"cat {words}")).decision is Decision.ASK


def test_a_person_reads_which_name_leads_where() -> None:
    verdict = WORLD.decide(shell("cat data/w*"))
    assert "data/words (that is /srv/words)" in verdict.reason
    assert verdict.decision is Decision.ASK


@pytest.mark.parametrize(
    "script",
    [
        "cat *.md",
        "cat '(plain)'/*.txt",
        "cat '(plain)/a{1}'*",
        "cat src/*",
        "cat s*/*.py",
        "wc -l src/round/*.py",
        "cat l*.txt",
        "ls src/*",
        "cat no*/x",
    ],
)
def test_links_that_stay_inside_are_as_good_as_files(script: str) -> None:
    verdict = WORLD.decide(shell(script))
    assert verdict.decision is Decision.ALLOW, verdict.reason


def test_hidden_names_are_no_part_of_a_bare_star_unless_the_shell_is_told_otherwise() -> None:
    world = World(files={"/tree/.env-link": Link("/usr/lib/python3"), "/tree/a.py": "a = 1"})
    assert world.decide(shell("wc -l *")).decision is Decision.ALLOW
    for script in ("wc -l .e*", "GLOBIGNORE=x; wc -l *", "shopt -s dotglob; wc -l *"):
        assert world.decide(shell(script)).decision in HELD, script


@pytest.mark.parametrize("name", ["GLOBIGNORE", "EXECIGNORE", "POSIXLY_CORRECT", "BASH_COMPAT"])
def test_variables_that_change_what_the_shell_makes_of_words_are_looked_at(name: str) -> None:
    for script in (f"{name}=x; cat README.md", f"{name}=x cat README.md", f"export {name}=x; ls"):
        assert WORLD.decide(shell(script)).decision in HELD, script


def test_a_word_of_a_plain_command_is_no_pattern() -> None:
    verdict = WORLD.decide(tool("cat", "data/s*"))
    assert verdict.decision is Decision.ALLOW, "nobody expands it"


def test_too_many_names_are_for_a_person_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MAX_NAMES", 3)
    verdict = WORLD.decide(shell("cat src/*"))
    assert verdict.decision is Decision.ASK and "nobody can tell" in verdict.reason


def test_of_too_many_links_nobody_can_tell() -> None:
    names = range(links.MAX_MET + 1)
    files: dict[str, str | Link] = {f"/tree/l{n}": Link("README.md") for n in names}
    world = World(files=files | {"/tree/README.md": "hello"})
    assert world.decide(shell("cat l*")).decision is Decision.ASK
    assert world.decide(shell("cat l10*")).decision is Decision.ALLOW
