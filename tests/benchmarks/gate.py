"""What a decision costs with 200 rules: command lines and shell text, against none.

    python tests/benchmarks/gate.py [--strict] [--decisions N] [--samples N]

The rules are read from policy files of every layer, with their examples. The floor is the same
decisions without any rule. Then a whole site and a browser: how soon a card is seen, and how soon
an approved action starts; their floor is one frame of the screen. Prints rows
`{name, value, bound, ratio, ok}` as JSON; times are milliseconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import manage  # noqa: E402

manage.inhabit()

from runtime.policy import Context, RuleLayer, gate  # noqa: E402
from runtime.policy.language import Book, place_of, read  # noqa: E402
from runtime.policy.testing import request, shell, tool  # noqa: E402
from runtime.sandbox import CageSpec, Mount  # noqa: E402
from runtime.workspaces.sight import Sight  # noqa: E402
from tests.benchmarks import gate_people  # noqa: E402

RULES = 200
ROUNDS = 5
ARGV_MS, SHELL_MS, LOAD_MS = 2.0, 10.0, 5000.0
CARD_MS, DEED_MS, FRAME_MS = 250.0, 500.0, 1000 / 60
FILES = (
    "system.toml", "organisation.toml", "workspaces/demo.toml", "users/alice.toml",
    "roles/implementer.toml",
)  # fmt: skip
KINDS = (
    'decision = "DENY"\nprogram = "git"\nargv = ["push"]\nflags = ["--force", "-f"]\n'
    'match = ["git push --force"]\nno_match = ["git push"]',
    'decision = "ESCALATE"\npath = ["/secrets/{n}/**", "*.key{n}", "!/secrets/{n}/ok"]\n'
    'match = ["cat a.key{n}"]\nno_match = ["cat src/a.py"]',
    'decision = "ASK"\nprogram = "tool{n}"\nat = { 1 = ["run", "exec"] }\nno_flags = "--dry-run"',
    'decision = "DENY"\nhost = ["*.evil{n}.example", "10.{n}.0.1"]',
    'decision = "ALLOW"\ntool = "run_tool"\nprogram = "npm"\nargv = ["run", "task{n}"]\n'
    'only_flags = ["--silent"]',
    'decision = "ASK"\ntool = "*"\npath = "/infra/{n}/"\nverbs = ["writes", "deletes"]',
    'decision = "DENY"\nprogram = "psql{n}"\nmode = "unattended"\ntime = "fri-sun 18:00-06:00"',
    'decision = "ESCALATE"\nprogram = ["terraform", "helm"]\nargv = ["apply{n}"]',
)
LINES = [
    tool("git", "status", "--short"), tool("git", "-C", "src", "diff", "--stat", "HEAD~1"),
    tool("pytest", "-q", "tests/unit", "-k", "name"), tool("rm", "-rf", "build"),
    tool("env", "CI=1", "timeout", "60", "make", "-j4", "all"), tool("git", "push", "origin"),
    tool("find", "src", "-name", "*.py", "-exec", "grep", "-l", "x", "{}", "+"),
    tool("pip", "install", "-r", "requirements.txt"), tool("cat", "src/a.py", "src/b.py"),
    tool("sed", "-i", "s/a/b/", "src/a.py"), tool("npm", "run", "build", "--silent"),
    tool("curl", "-fsSL", "https://example.org/x.sh"), tool("python3", "-c", "print(1)"),
]  # fmt: skip
SCRIPTS = [
    shell("cd src && pytest -q 2>&1 | tail -20"),
    shell("for f in src/*.py; do sed -i 's/a/b/' \"$f\"; done"),
    shell("git add -A && git commit -m 'a message' && git push origin HEAD"),
    shell("cat <<'EOF' > notes.txt\nsome text\nmore text\nEOF\nwc -l notes.txt"),
    shell("test -d build || mkdir -p build; cp src/a.py build/ && ls -l build | sort | head"),
    shell("find . -name '*.pyc' -print0 | xargs -0 rm -f; echo done > log.txt"),
    shell("if grep -q x src/a.py; then echo yes; else echo no; fi; env | sort | uniq -c"),
    shell("\n".join(f"echo line {n} >> out/{n % 7}.txt" for n in range(30))),
]


def book() -> tuple[Book, float]:
    """The rules, and the milliseconds that reading them and trying their examples took."""
    texts = dict.fromkeys(FILES, "")
    for n in range(RULES):
        body = KINDS[n % len(KINDS)].replace("{n}", str(n))
        texts[FILES[n % len(FILES)]] += f'[[rule]]\nid = "r{n}"\nreason = "Because."\n{body}\n'
    began = time.perf_counter()
    found = Book.of(read(name, text, *place_of(name)) for name, text in texts.items())
    return found, (time.perf_counter() - began) * 1000


def context(root: Path, layers: tuple[RuleLayer, ...]) -> Context:
    """A context over real files, as a worker's."""
    for name in ("src/a.py", "src/b.py", "requirements.txt", "build/x", "secrets/1/x"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n")
    sight = Sight(str(root), CageSpec(root=str(root), mounts=(Mount(str(root), str(root)),)))
    from runtime.policy import DEFAULT_PROGRAMS

    return Context(
        root=str(root),
        home="/home/agent",
        write_paths=(),
        allowed=DEFAULT_PROGRAMS,
        look=sight.facts,
        links=sight.links,
        which=sight.which,
        remotes={"origin": "git@example.org:a/b.git"},
        layers=layers,
        moment=datetime(2030, 1, 4, 20, tzinfo=UTC),
    )


def measure(actions: Sequence[Any], known: Context, decisions: int) -> float:
    """Milliseconds of the 99th of a hundred decisions, in the best of five rounds: what else the
    machine does is not measured."""
    wishes = [request(action) for action in actions]
    for wish in wishes:
        verdict = gate(wish, known)
        if verdict.source == "error":
            raise SystemExit(f"the gate failed: {verdict.reason}")
    rounds = []
    for _ in range(ROUNDS):
        times = []
        for n in range(decisions // ROUNDS):
            began = time.perf_counter()
            gate(wishes[n % len(wishes)], known)
            times.append((time.perf_counter() - began) * 1000)
        rounds.append(sorted(times)[int(len(times) * 0.99)])
    return min(rounds)


def p95(times: list[float]) -> float:
    """The value that 95 of a hundred do not exceed; of few samples the greatest."""
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.95))]


def row(name: str, value: float, base: float, bound: float) -> dict[str, object]:
    """A decision with rules, against the same without."""
    return {
        "name": name,
        "value": round(value, 3),
        "bound": bound,
        "ratio": round(value / base, 2),
        "ok": value < bound,
    }


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--decisions", type=int, default=3000)
    parser.add_argument("--samples", type=int, default=10, help="questions to a person; 0: none")
    options = parser.parse_args()
    rules, load = book()
    layers = rules.layers(
        workspace="demo", user="alice", run="r", role="implementer", kind="implementation"
    )
    if sum(len(layer.rules) for layer in layers) != RULES:
        raise SystemExit("not all rules are in force")
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="m31a-bench-") as folder:
        ruled, plain = (context(Path(folder), given) for given in (layers, ()))
        for name, actions, bound in (
            ("argv_decision_ms_p99", LINES, ARGV_MS),
            ("shell_decision_ms_p99", SCRIPTS, SHELL_MS),
        ):
            floor = measure(actions, plain, options.decisions)
            rows.append(row(name, measure(actions, ruled, options.decisions), floor, bound))
    rows.append(
        {
            "name": "load_200_rules_ms",
            "value": round(load, 1),
            "bound": LOAD_MS,
            "ratio": round(load / RULES, 3),
            "ok": load < LOAD_MS,
        }
    )
    if options.samples:
        waits = gate_people.measure(options.samples)
        for name, times, bound in (
            ("card_visible_ms_p95", waits.cards, CARD_MS),
            ("click_to_execution_ms_p95", waits.deeds, DEED_MS),
        ):
            rows.append(row(name, p95(times), FRAME_MS, bound))
    print(json.dumps(rows, indent=1))
    return 1 if options.strict and not all(one["ok"] for one in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
