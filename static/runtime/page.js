/* Small comforts of every page: copied identifiers, current relative times, and no polling under
   somebody's hands. Each page is complete without them. */
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

  /* --- the choice to see machinery is kept in this browser --- */

  const storage = (wish) => {
    try {
      return wish(localStorage);
    } catch {
      return null; // the browser keeps nothing: each page begins without machinery
    }
  };
  document.addEventListener("change", (event) => {
    if (event.target.id !== "show-machinery") return;
    const shown = event.target.checked ? "on" : "off";
    storage((kept) => kept.setItem("machinery", shown));
  });
  function recall() {
    const box = document.getElementById("show-machinery");
    if (box && storage((kept) => kept.getItem("machinery")) === "on") box.checked = true;
  }
  document.addEventListener("htmx:afterSettle", recall);
  recall();
})();
