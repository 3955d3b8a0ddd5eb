/* Small comforts of every page: copied identifiers, current relative times, keys for reviewers.
   Each page is complete without them. */
(() => {
  "use strict";

  /* --- copy an identifier --- */

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      return; // without that right the whole identifier still stands in the title
    }
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 1500);
  });

  /* --- relative times stay true while the page is open --- */

  function rough(seconds) {
    if (seconds < 60) return `${seconds} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} d`;
  }

  function tick() {
    for (const time of document.querySelectorAll("time[data-relative]")) {
      const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
      const text = rough(Math.floor(Math.abs(seconds)));
      const words =
        Math.abs(seconds) < 5 ? "just now" : seconds > 0 ? `${text} ago` : `in ${text}`;
      if (time.textContent !== words) time.textContent = words;
    }
  }
  setInterval(tick, 5000);

  /* --- a region that somebody uses is not replaced under their hands by polling --- */

  document.addEventListener("htmx:beforeRequest", (event) => {
    const place = event.detail.elt;
    const polls = (place.getAttribute("hx-trigger") || "").startsWith("every");
    const held = place.contains(document.activeElement) && document.activeElement !== place;
    if (polls && (document.hidden || held)) event.preventDefault();
  });

  /* --- the answer is in: the outcome gets the focus, or the next open card --- */

  document.addEventListener("htmx:afterSwap", (event) => {
    const swapped = event.detail.target;
    if (!swapped?.dataset?.card) return;
    const now = document.getElementById(swapped.id);
    const heading = now?.querySelector("h3.asked");
    const next = [...document.querySelectorAll(".card.open h3.asked")].find(
      (other) => now && now.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING
    );
    (now?.classList.contains("open") ? heading : next || heading)?.focus();
  });

  /* --- keys on the inbox; never in a field, and they can be switched off --- */

  const inbox = () => document.getElementById("inbox");
  const HOLD_MS = 500; // a card that slides in under the key is not answered
  const arrived = new WeakMap();
  let armed = null;

  const cards = () => [...inbox().querySelectorAll(".card.open")];
  const current = () => document.activeElement?.closest(".card.open") || null;

  function disarm() {
    armed?.classList.remove("armed");
    armed = null;
  }

  function move(step) {
    const all = cards();
    if (!all.length) return;
    const at = all.indexOf(current());
    const next = all[Math.min(all.length - 1, Math.max(0, at + step))] || all[0];
    next.querySelector("h3.asked").focus();
    next.scrollIntoView({ block: "nearest" });
  }

  function approve(card) {
    const button = card.querySelector("button.approve");
    if (!button || Date.now() - (arrived.get(card) || 0) < HOLD_MS) return;
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
    if (!document.getElementById("keys-on")?.checked) return;
    const card = current();
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "o" && card) card.querySelector("h3.asked a").click();
    else if (event.key === "a" && card) return approve(card);
    else if (event.key === "d" && card) card.querySelector("textarea")?.focus();
    else return disarm();
    disarm();
    event.preventDefault();
  });

  function note() {
    for (const card of document.querySelectorAll(".card.open"))
      if (!arrived.has(card)) arrived.set(card, Date.now());
  }
  new MutationObserver(note).observe(document.body, { childList: true, subtree: true });
  note();

  /* --- the choice to hide machinery is kept for this tab --- */

  document.addEventListener("change", (event) => {
    if (event.target.id === "show-machinery")
      sessionStorage.setItem("machinery", event.target.checked ? "on" : "off");
  });
  const machinery = document.getElementById("show-machinery");
  if (machinery && sessionStorage.getItem("machinery") === "off") machinery.checked = false;
})();
