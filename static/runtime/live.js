/* The live part of every page: one WebSocket, rows in, acknowledgements out.

   The page is whole without it. The cursor is the last row that the page holds; after a loss the
   page says where it is and is served from there. Nothing here decides anything. */
(() => {
  "use strict";

  const MOST_ROWS = 2000;
  const NEAR_END = 48; // pixels
  const SOON_MS = 20; // events that come together are drawn together
  const REFRESH_MS = 400; // between two drawings of a region
  const CARD_MS = 100; // a question is for a person, who waits
  const AGAIN_MS = 1000;
  const MOST_WAIT_MS = 30000;
  const OVER = "Finished: nothing changes here any more";
  const ENDINGS = {
    4401: "Signed out",
    4404: "This run cannot be shown any more",
    4409: "This page is ahead of the journal: reload it",
    4429: "Too many open pages: close some, then reload",
  };
  const HEADER = /^(run|task|message|action|approval|answer|verification|finish|delivery|checkpoint)\./;
  const ENDED = /^(succeeded|failed|cancelled)$/;
  const CARD = /^(approval|run|grant)\.|^task\.(waiting|failed|cancelled)$/;

  const byId = (id) => document.getElementById(id);
  const clock = (at) => new Date(at).toISOString().slice(11, 19); // UTC, as on the whole page

  let socket = null;
  let run = null; // the run that is watched, or null: the site only
  let last = 0; // the last row that the page holds
  let list = null; // the <ol> of the timeline, or null on other tabs
  let parts = {}; // last part held of each open message
  let state = null;
  let heard = Date.now();
  let began = 0;
  let beat = 10; // seconds between signs of life; the server says
  let tries = 0;
  let retry = 0;
  let follow = false; // whether the reader is at the end
  let top = 0;
  let unread = 0;
  let over = false;

  /* --- what the page says about itself --- */

  function tell(kind, text) {
    const line = byId("live-status");
    if (!line || line.dataset.live === kind) return;
    line.dataset.live = kind;
    line.textContent = text;
  }

  // A run that has ended is not "live", however good the connection.
  function tellConnected() {
    const known = state ?? byId("live-status")?.dataset.state ?? "";
    if (ENDED.test(known)) tell("over", OVER);
    else tell("live", "Live");
  }

  function announce(text) {
    let line = byId("live-news");
    if (!line) {
      line = document.createElement("p");
      line.id = "live-news";
      line.className = "visually-hidden";
      line.setAttribute("role", "status");
      document.body.append(line);
    }
    line.textContent = text;
  }

  function news(row) {
    const [family, what] = row.type.split(".");
    if (row.type === "action.proposed") return `Step ${row.step}: ${row.kind}`;
    if (row.type === "approval.requested") return "Waiting for an approval";
    if (row.type === "approval.reminded") return "Still waiting for an approval";
    if (family === "approval" && what !== "consumed") return `Approval ${what}`;
    if (/^run\.(succeeded|failed|cancelled)$/.test(row.type)) return `Run ${what}`;
    return null;
  }

  /* --- the end of the timeline --- */

  function box() {
    const frame = list.closest("#timeline");
    const scrolls = /auto|scroll/.test(getComputedStyle(frame).overflowY);
    return scrolls && frame.scrollHeight > frame.clientHeight ? frame : document.scrollingElement;
  }

  function atEnd() {
    const it = box();
    return it.scrollHeight - it.scrollTop - it.clientHeight < NEAR_END;
  }

  function toEnd() {
    const it = box();
    it.scrollTop = it.scrollHeight;
    top = it.scrollTop;
    follow = true;
    unread = 0;
    pill();
  }

  // Rows out of sight have a guessed height, so the end moves while it comes into sight.
  const growth = new ResizeObserver(() => list && follow && toEnd());

  function scrolled() {
    if (!list) return;
    const now = box().scrollTop;
    if (atEnd()) {
      follow = true;
      unread = 0;
      pill();
    } else if (now < top - 1) follow = false; // by hand: growth never goes up
    top = now;
  }

  function pill() {
    let button = byId("live-pill");
    if (!button && unread && list) {
      button = document.createElement("button");
      button.type = "button";
      button.id = "live-pill";
      button.className = "pill";
      button.addEventListener("click", toEnd);
      list.after(button);
    }
    if (!button) return;
    button.hidden = unread === 0;
    button.textContent = `${unread} new ${unread === 1 ? "event" : "events"}`;
  }

  /* --- rows and speech --- */

  function speaking(message) {
    return [...list.querySelectorAll("li.speaking")].find((li) => li.dataset.message === message);
  }

  // What a row ends: a message, or what a command or a background job printed, named by its action.
  function spoken(row) {
    if (row.type === "message.completed" || row.type === "message.cut") return row.message;
    const over = /^(action\.(completed|outcome_unknown)|finish\.refused|job\.ended)$/.test(row.type);
    return over && row.kind !== "start_job" ? row.action : null;
  }

  function takeRows(rows) {
    let text = null;
    let html = "";
    let count = 0;
    let gap = false;
    for (const row of rows) {
      if (row.seq <= last) continue;
      gap = row.seq !== last + 1;
      if (gap) break;
      last = row.seq;
      count += 1;
      html += row.html;
      text = news(row) || text;
      const ended = spoken(row);
      if (ended) {
        delete parts[ended];
        if (list) speaking(ended)?.remove();
      }
      if (HEADER.test(row.type)) refresh("run-state");
      if (CARD.test(row.type)) refresh("run-card");
    }
    if (list && count) show(html, count);
    else if (count && byId("tab-stale")) byId("tab-stale").hidden = false;
    if (text) announce(text);
    if (gap) hello(); // ask again from what is here
    else ack();
  }

  function show(html, count) {
    list.insertAdjacentHTML("beforeend", html);
    const seen = [...list.children].slice(-count).filter((row) => row.checkVisibility()).length;
    list.append(...list.querySelectorAll("li.speaking"));
    if (list.childElementCount > MOST_ROWS) trim();
    list.closest("#timeline").dataset.after = last;
    if (follow) toEnd();
    else {
      unread += seen; // machinery that is hidden is no news
      pill();
    }
  }

  function trim() {
    while (list.childElementCount > MOST_ROWS) list.firstElementChild.remove();
    const first = Number(list.firstElementChild.dataset.seq);
    const place = byId("earlier");
    if (!place || !first) return;
    const link = place.querySelector("a") || place.appendChild(document.createElement("a"));
    const url = `/runs/${run}/earlier/?before=${first}`;
    const wish = { href: url, "hx-get": url, "hx-target": "#timeline > ol", "hx-swap": "afterbegin" };
    for (const [name, value] of Object.entries(wish)) link.setAttribute(name, value);
    link.className = "button ghost small";
    link.textContent = `Show earlier events (${first - 1} before these)`;
    window.htmx?.process(place);
  }

  function takeSpeech(items) {
    for (const { message, part, text } of items) {
      const held = parts[message] || 0;
      if (part <= held) continue;
      if (part !== held + 1) return hello();
      parts[message] = part;
      if (!list) continue;
      let line = speaking(message);
      if (!line) {
        line = document.createElement("li");
        line.className = message.includes(".") ? "event speaking output" : "event speaking";
        line.dataset.message = message;
        line.append("");
        list.append(line);
      }
      line.lastChild.appendData(text);
    }
    if (list && follow) toEnd();
    ack();
  }

  /* --- regions that the server draws --- */

  const due = new Set();
  const drawn = new Map(); // when each was drawn last
  const shown = new Map(); // when the answer that is shown was asked for
  const postponed = new Set(); // a form in them has the focus
  const address = (id) =>
    id === "inbox-count" ? "/approvals/count/" : `/runs/${run}/${id === "run-card" ? "card" : "header"}/`;
  const inUse = (region) =>
    region.contains(document.activeElement) && document.activeElement.closest("form") !== null;

  function refresh(id) {
    if (!byId(id) || due.has(id)) return;
    due.add(id);
    const pause = id === "run-card" ? CARD_MS : REFRESH_MS;
    const rest = (drawn.get(id) ?? -pause) + pause - performance.now();
    setTimeout(redraw, Math.max(SOON_MS, rest), id);
  }

  async function redraw(id) {
    due.delete(id);
    postponed.delete(id);
    const asked = performance.now();
    drawn.set(id, asked);
    try {
      const answer = await fetch(address(id), {
        headers: { "HX-Request": "true" },
        credentials: "same-origin",
        redirect: "error",
      });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const old = byId(id);
      if (!old || shown.get(id) > asked) return; // a later answer was quicker
      if (inUse(old)) return void postponed.add(id);
      const fresh = page.getElementById(id);
      if (!fresh) return;
      const focus = old.contains(document.activeElement) && document.activeElement.id;
      carry(old, fresh);
      old.replaceWith(fresh);
      shown.set(id, asked);
      if (id === "inbox-count") compare(fresh);
      if (focus) byId(focus)?.focus({ preventScroll: true });
      window.htmx?.process(fresh);
    } catch (error) {
      if (socket) setTimeout(refresh, 2000, id); // a lost connection is told by the socket's own end
    }
  }

  // What the reader has opened or typed stays.
  function carry(old, fresh) {
    const [was, now] = [old, fresh].map((region) => region.querySelectorAll("details"));
    if (was.length === now.length) now.forEach((it, at) => (it.open = was[at].open));
    for (const field of old.querySelectorAll("input[id]:not([type=hidden]), textarea[id]")) {
      const same = fresh.querySelector(`#${CSS.escape(field.id)}`);
      if (same && field.value !== field.defaultValue) same.value = field.value;
    }
  }

  const settle = () => setTimeout(() => postponed.forEach(refresh));
  document.addEventListener("focusout", settle);

  let told = null; // how many questions wait

  function count(number) {
    told = number;
    const plain = document.title.replace(/^\(\d+\) /, "");
    document.title = number ? `(${number}) ${plain}` : plain;
    refresh("inbox-count");
  }

  // What was asked and answered between two looks of the server may be seen, and never be told.
  function compare(badge) {
    if (socket && Number(badge.dataset.open) !== told) setTimeout(refresh, AGAIN_MS, "inbox-count");
  }

  /* --- the socket --- */

  const send = (method, params) =>
    socket?.readyState === WebSocket.OPEN &&
    socket.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  const ack = () => send("live.ack", { seq: last });
  const hello = () =>
    send("live.hello", run ? { run, after: last, open: parts } : {});

  function look() {
    const place = byId("timeline") || byId("run-cursor"); // the other tabs have only a cursor
    const found = place?.querySelector("ol") || null;
    const anew = place !== null && (place.dataset.run !== run || found !== list);
    if (anew) {
      run = place.dataset.run;
      last = Number(place.dataset.after) || 0;
      parts = {};
      for (const line of place.querySelectorAll("li.speaking[data-part]"))
        parts[line.dataset.message] = Number(line.dataset.part);
      unread = 0;
      growth.disconnect();
      if (found) growth.observe(found);
    }
    list = found;
    if (anew && list) follow = atEnd();
    return anew;
  }

  function receive(event) {
    heard = Date.now();
    const { method, params } = JSON.parse(event.data);
    if (params.run && params.run !== run) return;
    tries = 0;
    if (method === "live.state") heed(params.state);
    tellConnected();
    if (method === "live.rows") takeRows(params.rows);
    else if (method === "live.deltas") takeSpeech(params.items);
    else if (method === "live.alive") beat = params.seconds;
    else if (method === "live.inbox") count(params.count);
  }

  function heed(now) {
    if (state !== null && state !== now) {
      refresh("run-state");
      refresh("run-card");
    }
    state = now;
  }

  function lost(code) {
    if (socket) socket.onclose = socket.onmessage = null;
    socket = null;
    if (over) return;
    if (ENDINGS[code]) {
      tell("ended", `${ENDINGS[code]}. State as of ${clock(heard)}.`);
      return;
    }
    tell("lost", `State as of ${clock(heard)}, reconnecting`);
    const wait = Math.min(MOST_WAIT_MS, 500 * 2 ** tries++) * (0.5 + Math.random() / 2);
    clearTimeout(retry);
    retry = setTimeout(connect, wait);
  }

  function connect() {
    if (socket || over) return;
    look();
    const url = new URL(document.querySelector("[data-socket]")?.dataset.socket || "/rpc", location);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(url);
    began = Date.now();
    socket.onopen = hello;
    socket.onmessage = receive;
    socket.onclose = (event) => lost(event.code);
  }

  setInterval(() => {
    // A server that stands still closes nothing, so silence counts as loss.
    const silent = Date.now() - Math.max(heard, began);
    if (socket && silent > Math.max(beat * 2500, 2000)) {
      const dead = socket;
      lost(0);
      dead.close();
    }
  }, 500);

  const again = () => {
    if (!socket && byId("live-status")?.dataset.live === "lost") {
      clearTimeout(retry);
      connect();
    }
  };
  window.addEventListener("online", again);
  document.addEventListener("visibilitychange", () => document.hidden || again());
  document.addEventListener("scroll", scrolled, true);
  document.addEventListener("htmx:afterSettle", () => {
    if (look()) hello();
    settle();
  });
  window.addEventListener("pagehide", () => {
    over = true;
    clearTimeout(retry);
    socket?.close();
    socket = null;
  });
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    over = false;
    connect();
  });

  if (byId("live-status") || byId("inbox-count")) connect();
})();
