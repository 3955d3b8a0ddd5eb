/* Cards of questions: where the focus goes after an answer, what was settled elsewhere, and keys.

   Answers are forms that the server takes; nothing here decides anything. */
(() => {
  "use strict";

  const byId = (id) => document.getElementById(id);
  const inbox = () => byId("inbox");
  const openCards = () => [...document.querySelectorAll(".card.open")];

  /* --- the answer is in: the next open card gets the focus, or the outcome --- */

  // Before it has settled, a swapped element still wears the classes of the one it replaced.
  document.addEventListener("htmx:afterSettle", (event) => {
    const id = event.detail.target?.dataset?.card;
    const now = id && byId(`card-${id}`);
    if (!now) return;
    const next = openCards().find(
      (card) => now.compareDocumentPosition(card) & Node.DOCUMENT_POSITION_FOLLOWING
    );
    const chosen = now.classList.contains("open") ? now : next || now;
    chosen.querySelector(".asked")?.focus();
  });

  // A link to the fold of a card opens it.
  const fold = location.hash === "#edit" && byId("edit");
  if (fold) {
    fold.open = true;
    // Going to the fragment takes the focus away; that is over when the page has loaded.
    addEventListener("load", () => setTimeout(() => fold.querySelector("textarea")?.focus()));
  }

  /* --- settled elsewhere: a card turns into its outcome; a new one is added at the end; one that
     became overdue says so and stays where it is --- */

  const LOOK_MS = 10000;
  const page = async (address) => {
    const answer = await fetch(address, {
      headers: { "HX-Request": "true" },
      credentials: "same-origin",
      redirect: "error",
    });
    if (!answer.ok) throw new Error(`${answer.status}`);
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  async function settle(card) {
    const fresh = (await page(`/approvals/${card.dataset.card}/`)).querySelector("article.card");
    if (!fresh || fresh.classList.contains("open")) return remind(card, fresh);
    card.replaceWith(fresh);
    window.htmx?.process(fresh);
  }

  function add(found) {
    const group = found.closest(".group");
    const heading = group.querySelector("h2");
    let place = byId(heading.id)?.closest(".group");
    if (!place) {
      place = group.cloneNode(false);
      place.append(heading.cloneNode(true));
      inbox().append(place);
    }
    place.append(found);
    window.htmx?.process(found);
    inbox().querySelector(".empty")?.remove();
  }

  function remind(card, fresh) {
    const line = fresh?.querySelector(".reminder");
    const old = card.querySelector(".reminder");
    if (!line || old?.className === line.className) return;
    old?.remove();
    card.querySelector("header").append(line);
  }

  let looking = false;
  let due = false; // also while it is looking: what came meanwhile was not seen

  async function look() {
    if (document.hidden) return;
    due = true;
    if (looking) return;
    looking = true;
    while (due) {
      due = false;
      await lookOnce();
    }
    looking = false;
  }

  async function lookOnce() {
    try {
      if (inbox()) {
        const there = await page("/approvals/");
        for (const card of openCards()) {
          const fresh = there.getElementById(card.id);
          if (fresh) remind(card, fresh);
          else await settle(card);
        }
        for (const card of there.querySelectorAll(".card.open")) if (!byId(card.id)) add(card);
      } else for (const card of openCards()) await settle(card);
    } catch {
      // a lost connection is told by the live part; the next look tries again
    }
  }

  const runPage = byId("run-card") !== null; // there the live part redraws the card
  if (!runPage) {
    setInterval(() => looking || look(), LOOK_MS);
    new MutationObserver((changes) => {
      if (changes.some((change) => [...change.addedNodes].some((node) => node.id === "inbox-count")))
        look();
    }).observe(document.querySelector(".rail") || document.body, { childList: true, subtree: true });
  }

  /* --- keys on the inbox; never in a field, and they can be switched off --- */

  const HOLD_MS = 500; // a card that slides in under the key is not answered
  const arrived = new WeakMap();
  let armed = null;

  function disarm() {
    armed?.classList.remove("armed");
    armed = null;
  }

  function move(step) {
    const all = openCards();
    if (!all.length) return;
    const at = all.indexOf(document.activeElement?.closest(".card.open"));
    const next = all[Math.min(all.length - 1, Math.max(0, at + step))];
    next.querySelector(".asked").focus();
    next.scrollIntoView({ block: "nearest" });
  }

  function approve(card) {
    const button = card.querySelector("button.approve");
    if (!button || Date.now() - (arrived.get(card) ?? Infinity) < HOLD_MS) return;
    if (armed === button) {
      disarm();
      button.click();
      return;
    }
    disarm();
    armed = button;
    button.classList.add("armed");
  }

  document.addEventListener("keydown", (event) => {
    if (!inbox() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (!byId("keys-on")?.checked) return;
    const card = document.activeElement?.closest(".card.open");
    if (event.key === "a" && card) {
      event.preventDefault();
      if (!event.repeat) approve(card);
      return;
    }
    disarm();
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "o" && card) card.querySelector(".asked a")?.click();
    else if (event.key === "d" && card) card.querySelector("textarea")?.focus();
    else if (event.key === "e" && card) card.querySelector("a.edit")?.click();
    else return;
    event.preventDefault();
  });

  function note() {
    for (const card of openCards()) if (!arrived.has(card)) arrived.set(card, Date.now());
  }
  new MutationObserver(note).observe(byId("main"), { childList: true, subtree: true });
  note();
})();
