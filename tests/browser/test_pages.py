"""Every page in a real browser: accessible, within its width, within its policy, usable by keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from runtime.approvals import decide, waiting
from runtime.models import Approval, User, Workspace
from tests.web import factories
from tests.web.live_kit import session_for
from tests.web.live_server import Server

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
NAMES = (
    "runs",
    "new",
    "run",
    "finished",
    "diffs",
    "evidence",
    "traces",
    "policytab",
    "report",
    "inbox",
    "asked",
    "escalated",
    "settled",
    "audit",
    "story",
    "policy",
    "workspaces",
    "system",
    "password",
    "nowhere",
)


class Scene:
    """A site with something on every page, seen by somebody with every role."""

    def __init__(self) -> None:
        self.ada = factories.person("ada", "submitter", "reviewer", "security", "admin")
        self.eve = factories.person("eve", "submitter", "reviewer")
        self.place = Workspace.objects.filter(name="calc").first() or factories.workspace()
        self.open = factories.Story(self.ada, self.place, "Mend the sign and push it.")
        self.open.work()
        self.asked = self.open.ask()
        script = "\n".join(f"echo {n}" for n in range(60)) + "\nrm -rf ~/\u202ex"
        other = factories.Story(self.eve, self.place, "Something risky")
        body = {"kind": "run_shell", "script": script}
        self.escalated = other.ask(body, "ESCALATE", verification_inputs=["tests/t.py"])
        self.settled = factories.Story(self.eve, self.place).ask()
        decide(self.settled.pk, by=self.ada, verdict="deny", comment="no")
        self.done = factories.Story(self.ada, self.place, "All done")
        self.done.work()
        self.done.end()

    def address(self, name: str) -> str:
        """Where a page is."""
        run, done = f"/runs/{self.open.run.pk}/", f"/runs/{self.done.run.pk}/"
        return {
            "runs": "/",
            "new": "/runs/new",
            "run": run,
            "finished": done,
            "diffs": f"{run}?tab=artifacts",
            "evidence": f"{done}?tab=evidence",
            "traces": f"{run}?tab=traces",
            "policytab": f"{run}?tab=policy",
            "report": f"{done}?tab=report",
            "inbox": "/approvals/",
            "asked": f"/approvals/{self.asked.pk}/",
            "escalated": f"/approvals/{self.escalated.pk}/",
            "settled": f"/approvals/{self.settled.pk}/",
            "audit": "/audit/",
            "story": f"/audit/?run={self.open.run.pk}&action={self.asked.action}",
            "policy": "/policy/",
            "workspaces": "/workspaces/",
            "system": "/system/",
            "password": "/password/",
            "nowhere": "/nowhere/",
        }[name]


class Site:
    """The server with its scene, and one page of a browser."""

    def __init__(self, page: Page, server: Server, scene: Scene) -> None:
        self.page, self.server, self.scene = page, server, scene
        self.errors: list[str] = []
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, name: str, theme: str = "light", width: int = 1280) -> None:
        """A page in these colours and this width."""
        cookie: Any = {"name": "theme", "value": theme, "url": self.server.url}
        self.page.context.add_cookies([cookie])
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.goto(f"{self.server.url}{self.scene.address(name)}")


@pytest.fixture(scope="module")
def scene(server: Server) -> Scene:
    """Made once: these tests only look at it."""
    return Scene()


def _page(chromium: Browser, server: Server, user: User) -> Page:
    context = chromium.new_context()
    context.add_cookies([{"name": "sessionid", "value": session_for(user), "url": server.url}])
    context.set_default_timeout(15000)
    return context.new_page()


@pytest.fixture
def site(chromium: Browser, server: Server, scene: Scene) -> Iterator[Site]:
    """A page of ada's."""
    page = _page(chromium, server, scene.ada)
    yield Site(page, server, scene)
    page.context.close()


def _faults(page: Page, **options: Any) -> list[str]:
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{fault['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for fault in found
        for node in fault["nodes"][:3]
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_no_rule_of_accessibility_is_broken_in_any_colour_or_width(site: Site, name: str) -> None:
    site.open(name)
    assert _faults(site.page, runOnly=RULES) == []
    site.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert _faults(site.page, runOnly=["color-contrast"]) == []
    site.page.set_viewport_size({"width": 320, "height": 900})
    wide = site.page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert wide <= 0
    assert [e for e in site.errors if "404 (Not Found)" not in e] == []


TOUCHING = """() => {
  const shown = (e) => e.checkVisibility() && !e.closest(".visually-hidden");
  const boxes = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.data.trim() || !shown(node.parentElement)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) if (box.width > 2) boxes.push([node.parentElement, box]);
  }
  const buttons = [...document.querySelectorAll("main button:not(.id), main .button")].filter(shown);
  for (const e of buttons) boxes.push([e, e.getBoundingClientRect()]);
  const found = [];
  for (const button of buttons) {
    const a = button.getBoundingClientRect();
    for (const [other, b] of boxes) {
      if (other === button || button.contains(other)) continue;
      const x = Math.max(a.left - b.right, b.left - a.right);
      const y = Math.max(a.top - b.bottom, b.top - a.bottom);
      if (x < 3 && y < 3) found.push(`${button.textContent.trim()} | ${other.textContent.trim()}`);
    }
  }
  return found;
}"""


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_nothing_sticks_to_a_button(site: Site, name: str) -> None:
    for width in (1280, 400):
        site.open(name, width=width)
        site.page.evaluate("document.querySelectorAll('details').forEach((it) => (it.open = true))")
        assert site.page.evaluate(TOUCHING) == [], width


@pytest.mark.thorough
def test_nothing_sticks_to_a_button_before_the_sign_in(chromium: Browser, server: Server) -> None:
    page = chromium.new_context().new_page()
    for address in ("/login/", "/login/?link=spent"):
        page.goto(f"{server.url}{address}")
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        assert page.evaluate(TOUCHING) == [], address
    page.context.close()


@pytest.mark.parametrize("name", ["asked", "run"])
def test_a_reviewer_sees_action_reason_reach_and_buttons_without_scrolling(
    site: Site, name: str
) -> None:
    site.open(name)
    card = site.page.locator(".card.open")
    for part in (".asked", ".why >> nth=0", ".why >> nth=1", "button.approve", "button.deny"):
        expect(card.locator(part)).to_be_in_viewport(ratio=1)


def test_several_are_answered_by_a_bar_that_is_there_when_something_is_chosen(site: Site) -> None:
    site.open("inbox")
    bar = site.page.locator("#batch")
    expect(bar).to_be_hidden()
    site.page.locator("[name=chosen]").first.check()
    expect(bar).to_be_in_viewport()
    expect(bar.get_by_role("button", name="Deny the chosen")).to_be_visible()


def test_only_the_chosen_reach_is_explained(site: Site) -> None:
    site.open("asked")
    expect(site.page.get_by_text("This one time; asked again next time.")).to_be_visible()
    site.page.get_by_label("For the run").check()
    expect(site.page.get_by_text("in every task of this run")).to_be_visible()
    expect(site.page.get_by_text("This one time; asked again next time.")).to_be_hidden()


def test_the_wish_to_see_machinery_is_remembered(site: Site) -> None:
    site.open("finished")
    quiet = site.page.locator(".event.quiet").first
    expect(quiet).to_be_hidden()
    site.page.get_by_label("Show machinery too").check()
    expect(quiet).to_be_visible()
    site.open("run")
    expect(site.page.get_by_label("Show machinery too")).to_be_checked()
    site.page.get_by_label("Show machinery too").uncheck()
    site.page.reload()
    expect(site.page.get_by_label("Show machinery too")).not_to_be_checked()


def test_a_link_to_hidden_machinery_shows_it(site: Site) -> None:
    site.open("finished")
    name = site.page.locator(".event.quiet").first.get_attribute("id")
    site.page.goto(f"{site.page.url}#{name}")
    expect(site.page.locator(f"#{name}")).to_be_visible()


def test_a_finished_run_is_never_called_live(site: Site) -> None:
    site.open("finished")
    line = site.page.locator("#live-status")

    def told() -> None:
        count = waiting(site.scene.ada).open
        expect(site.page).to_have_title(re.compile(rf"^\({count}\) "))

    told()
    asked = factories.Story(site.scene.eve, site.scene.place, "Meanwhile").ask()
    told()  # what the socket says after its greeting
    expect(line).to_have_attribute("data-live", "over")
    expect(line).to_have_text("Finished: nothing changes here any more")
    decide(asked.pk, by=site.scene.ada, verdict="deny", comment="no")


def test_an_example_is_filled_in_and_faults_are_named_at_the_field(site: Site) -> None:
    site.open("policy")
    page = site.page
    page.get_by_text("The 24 kinds of actions").click()
    page.get_by_label("Mode").select_option("plan")
    page.get_by_role("button", name="Fill in an example of write_file").click()
    area = page.get_by_label("Action", exact=True)
    expect(area).to_have_value(re.compile('"kind": "write_file"'))
    expect(page.get_by_label("Mode")).to_have_value("plan")
    page.get_by_role("button", name="Ask the gate").click()
    expect(page.locator(".verdict")).to_contain_text("DENY")
    area.fill('{"kind": "write_file", "path": "a"}')
    page.get_by_role("button", name="Ask the gate").click()
    expect(page.locator("#lab")).to_contain_text("content: this field is needed")
    expect(page.locator(".verdict")).to_have_count(0)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["runs", "run", "inbox", "audit", "policy"])
def test_every_target_is_large_enough(site: Site, name: str) -> None:
    site.open(name)
    small = site.page.evaluate(
        """[...document.querySelectorAll("button, summary, select, input:not([type=hidden])")]
        .filter((e) => e.checkVisibility() && e.getBoundingClientRect().height > 0)
        .filter((e) => !["checkbox", "radio"].includes(e.type))
        .filter((e) => e.getBoundingClientRect().height < 24)
        .map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert small == []


@pytest.mark.thorough
def test_every_page_has_one_heading_and_a_way_past_the_navigation(site: Site) -> None:
    for name in NAMES:
        site.open(name)
        assert site.page.locator("h1").count() == 1, name
        site.page.keyboard.press("Tab")
        expect(site.page.locator(".skip")).to_be_focused()


@pytest.mark.thorough
def test_the_system_chooses_the_colours_where_nobody_did(site: Site) -> None:
    site.page.emulate_media(color_scheme="dark")
    site.open("runs", "")
    dark = site.page.evaluate("getComputedStyle(document.body).backgroundColor")
    site.open("runs", "dark")
    assert site.page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    site.page.get_by_role("button", name="Light").click()
    expect(site.page.locator("html")).to_have_attribute("data-theme", "light")


LOOK = """() => [...document.querySelectorAll("main *")].filter((e) => e.checkVisibility()).map((e) => {
  const it = getComputedStyle(e);
  return [e.tagName, it.color, it.backgroundColor, it.borderColor, it.boxShadow].join(" ");
})"""


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["asked", "policy"])
def test_the_systems_colours_are_the_chosen_ones(site: Site, name: str, scheme: Any) -> None:
    site.page.emulate_media(color_scheme=scheme)
    site.open(name, scheme)
    chosen = site.page.evaluate(LOOK)
    site.open(name, "")
    assert [a for a, b in zip(site.page.evaluate(LOOK), chosen, strict=True) if a != b] == []


def test_a_reviewer_works_by_keys_alone(chromium: Browser, server: Server, scene: Scene) -> None:
    mine = [factories.Story(scene.eve, scene.place, f"keys {n}").ask() for n in range(2)]
    page = _page(chromium, server, scene.eve)
    page.goto(f"{server.url}/approvals/")
    page.wait_for_timeout(600)
    for _ in range(10):
        page.keyboard.press("j")
        if page.evaluate("document.activeElement.closest('.card').dataset.card") == mine[0].pk:
            break
    card = page.locator(f"#card-{mine[0].pk}")
    page.keyboard.press("a")
    expect(card.locator("button.approve")).to_have_class(re.compile("armed"))
    page.keyboard.press("a")
    expect(card).to_have_class(re.compile("settled"))
    expect(card).to_contain_text("eve approved this once")
    expect(page.locator(f"#title-{mine[1].pk}")).to_be_focused()
    page.keyboard.press("d")
    page.keyboard.type("a a j k")
    expect(page.locator(f"#comment-{mine[1].pk}")).to_have_value("a a j k")
    assert Approval.objects.get(pk=mine[1].pk).state == "pending"
    page.context.close()


def test_keys_can_be_switched_off(chromium: Browser, server: Server, scene: Scene) -> None:
    asked = factories.Story(scene.eve, scene.place, "no keys").ask()
    page = _page(chromium, server, scene.eve)
    page.goto(f"{server.url}/approvals/")
    page.wait_for_timeout(600)
    page.get_by_label("keys on").uncheck()
    page.locator(f"#title-{asked.pk}").focus()
    page.keyboard.press("a")
    page.keyboard.press("a")
    page.wait_for_timeout(300)
    assert Approval.objects.get(pk=asked.pk).state == "pending"
    page.context.close()


def test_an_answer_on_the_runs_page_needs_no_reload(
    chromium: Browser, server: Server, scene: Scene
) -> None:
    story = factories.Story(scene.eve, scene.place, "answered in place")
    asked = story.ask()
    page = _page(chromium, server, scene.eve)
    page.goto(f"{server.url}/runs/{story.run.pk}/")
    page.locator(f"#comment-{asked.pk}").fill("not today")
    page.get_by_role("button", name="Deny").click()
    expect(page.locator("#timeline")).to_contain_text("eve denied it")
    expect(page.locator("#timeline")).to_contain_text("not today")
    expect(page.get_by_role("button", name="Deny")).to_have_count(0)
    assert Approval.objects.get(pk=asked.pk).state == "denied"
    page.context.close()


def test_without_scripts_every_wish_still_works(
    chromium: Browser, server: Server, scene: Scene
) -> None:
    asked = factories.Story(scene.eve, scene.place, "plain").ask()
    context = chromium.new_context(java_script_enabled=False)
    value = session_for(scene.eve)
    context.add_cookies([{"name": "sessionid", "value": value, "url": server.url}])
    page = context.new_page()
    page.goto(f"{server.url}/approvals/{asked.pk}/")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("h1")).to_have_text("This was approved")
    assert page.url.endswith(f"/approvals/{asked.pk}/")
    context.close()
