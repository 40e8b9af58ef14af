"use strict";
// The page's script: opens the stream, puts parts where they belong, and sends what the person does.
(() => {
  const byId = (id) => document.getElementById(id);
  const said = byId("said"), dialog = byId("dialog"), cells = byId("cells");
  const sections = ["runs", "questions", "agents", "kernels", "notebooks", "source", "cells", "verified", "history"];
  const digests = new Map();
  const place = new URLSearchParams(location.hash.slice(1));
  // Whether the page is in a server that knows the person by its own login.
  const hasLogin = document.documentElement.dataset.login === "server";
  const token = hasLogin ? null : takeToken();
  if (hasLogin) takeQuery();
  const root = place.get("root") ?? "";
  let notebook = place.get("notebook") ?? "";
  let page = null, stream = null, near = null, pending = null;

  // The token is in the address only until this line.
  function takeToken() {
    const given = place.get("token");
    if (given) {
      sessionStorage.setItem("token", given);
      place.delete("token");
      history.replaceState(null, "", `#${place}`);
    }
    return sessionStorage.getItem("token");
  }

  // A login page keeps the query of an address, and not what is behind the "#". Jupyter's own token can be in it.
  function takeQuery() {
    const given = new URLSearchParams(location.search).get("notebook");
    if (given && !place.has("notebook")) place.set("notebook", given);
    if (location.search) history.replaceState(null, "", `${location.pathname}#${place}`);
  }

  function cookie(name) {
    const found = document.cookie.split("; ").find((each) => each.startsWith(`${name}=`));
    return found ? found.slice(name.length + 1) : "";
  }

  function request(path, body, signal) {
    const headers = { "Content-Type": "application/json" };
    if (token) headers.Authorization = `Bearer ${token}`;
    if (hasLogin) headers["X-XSRFToken"] = cookie("_xsrf");
    const credentials = hasLogin ? "same-origin" : "omit";
    return fetch(`view/${path}`, { method: "POST", headers, body: JSON.stringify({ ...body, root }), signal, credentials });
  }

  // The stream.

  async function follow() {
    for (let pause = 250; ; pause = Math.min(pause * 2, 5000)) {
      stream = new AbortController();
      try {
        const answer = await request("events", { notebook, known: known(), near }, stream.signal);
        if (answer.status === 401 || answer.status === 403) {
          connection(hasLogin ? "You are not logged in, or may not see this. Log in to the Jupyter server, then load this page again."
            : "This address is no longer valid. Run `cellbridge view` again.");
          return;
        }
        if (answer.status === 409) {
          connection((await answer.json()).error);
          return;
        }
        if (!answer.ok) throw new Error(answer.statusText);
        connection("Connected");
        pause = 125;
        await read(answer.body);
      } catch (error) {
        if (stream.signal.reason === "other notebook") { pause = 1; continue; }
        if (error instanceof TypeError === false && error.name !== "AbortError") console.error(error);
      }
      connection("Not connected; trying again");
      await new Promise((done) => setTimeout(done, pause));
    }
  }

  async function read(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      const events = text.split("\n\n");
      text = events.pop();
      for (const event of events) if (event.startsWith("data: ")) receive(JSON.parse(event.slice(6)));
    }
  }

  function known() {
    return Object.fromEntries(sections.map((section) => [
      section, [...byId(section).children].filter((it) => digests.has(it.id)).map((it) => [it.id, digests.get(it.id)]),
    ]));
  }

  function receive(event) {
    if (event.page) page = event.page;
    if ("problem" in event) {
      byId("problem").hidden = !event.problem;
      byId("problem").textContent = event.problem ?? "";
    }
    for (const update of event.updates ?? []) apply(update);
    watchQuestions();
    for (const notice of event.notices ?? []) notify(notice);
    parts.tick();
  }

  function apply({ section, order, parts: changed }) {
    const list = byId(section);
    const template = document.createElement("template");
    for (const [id, digest, html] of changed) {
      template.innerHTML = html;
      const made = template.content.firstElementChild;
      prepare(made);
      digests.set(id, digest);
      const present = byId(id);
      if (!present) list.append(made);
      else if (section === "cells" && present.classList.contains("v-far") !== made.classList.contains("v-far")) exchange(present, made);
      else parts.morph(present, made);
      if (section === "cells") observe(byId(id));
    }
    if (section === "cells") reveal();
    if (!order) return;
    for (const child of [...list.children]) {
      if (order.includes(child.id) || child.matches(".v-closed")) continue;
      digests.delete(child.id);
      if (child.matches(".v-question")) close(child); else child.remove();
    }
    // New questions come last, below those that were closed.
    if (section !== "questions") order.forEach((id, index) => {
      const child = byId(id);
      if (child && list.children[index] !== child) list.insertBefore(child, list.children[index] ?? null);
    });
  }

  // Scrolls to what a link has named once that is there: first to its cell, then to the element in it.
  function reveal() {
    for (const name of ["part", "element"]) {
      const named = place.has(name) && byId(place.get(name));
      if (!named) continue;
      named.scrollIntoView();
      place.delete(name);
    }
  }

  // A cell that is far keeps its height, so that nothing moves.
  function exchange(present, made) {
    if (made.classList.contains("v-far")) made.style.minHeight = `${present.offsetHeight}px`;
    const hadFocus = present.contains(document.activeElement);
    watcher.unobserve(present);
    present.replaceWith(made);
    if (hadFocus) made.focus({ preventScroll: true });
  }

  // Outputs with scripts are documents of their own, without this origin.
  function prepare(part) {
    for (const frame of part.querySelectorAll("iframe.cb-frame")) {
      frame.dataset.document = frame.getAttribute("srcdoc");
      frame.removeAttribute("srcdoc");
      frame.setAttribute("src", "view/frame");
    }
  }

  // Questions. A click is for what was seen: a question takes none before it has stood still for a while, and none stands at once where
  // another one stood.

  const STILL = 700, CLOSED = 10000;
  let stood = new WeakMap(), isWatching = false;

  function settle() {
    const open = document.querySelectorAll(".v-question"), now = performance.now();
    for (const question of open) {
      const { left, top, width, height } = question.getBoundingClientRect();
      const shown = [left, top, width, height, question.textContent].join(" ");
      if (stood.get(question)?.shown !== shown) stood.set(question, { shown, since: now });
      const isStill = now - stood.get(question).since >= STILL;
      for (const button of question.querySelectorAll("button")) button.disabled = !isStill || "busy" in button.dataset;
    }
    return open.length > 0;
  }
  function watchQuestions() {
    if (isWatching) return;
    const watch = () => {
      isWatching = settle();
      if (isWatching) requestAnimationFrame(watch);
    };
    watch();
  }
  function close(question) {
    question.style.minHeight = `${question.offsetHeight}px`;
    question.removeAttribute("id");
    question.className = "v-closed v-none";
    question.textContent = "This question is closed.";
    setTimeout(() => question.remove(), CLOSED);
  }
  // Nobody has seen what came while the page was hidden.
  document.addEventListener("visibilitychange", () => { stood = new WeakMap(); });

  // Which cells are near.

  const visible = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) visible.add(target.id); else visible.delete(target.id);
    }
    clearTimeout(pending);
    pending = setTimeout(look, 60);
  }, { rootMargin: "1200px 0px" });

  function observe(part) {
    watcher.unobserve(part);
    watcher.observe(part);
  }

  function look() {
    const present = [...visible].filter(byId);
    const kept = (near ?? []).filter((id) => byId(id) && !visible.has(id));
    // Cells that were near stay for a while.
    const next = [...kept, ...present].slice(-150);
    if (near && next.length === near.length && next.every((id) => near.includes(id))) return;
    near = next;
    if (page) request("act", { do: "look", page, near }).catch(() => {});
  }

  // What the person does.

  async function act(action, button) {
    const isInDialog = dialog.contains(button);
    if (button && !isInDialog) opener = button;
    if (button) { button.disabled = true; button.dataset.busy = ""; }
    try {
      const answer = await request("act", action);
      const result = await answer.json().catch(() => ({ error: answer.statusText }));
      const isHere = (action.notebook ?? notebook) === notebook;
      if (result.html && isHere) show(result.html); else if (isInDialog) dialog.close();
      say(result.error ?? result.said, action.notebook);
    } catch {
      say("Nothing was done: the page is not connected.");
    } finally {
      if (button) { button.disabled = false; delete button.dataset.busy; }
    }
  }

  // Says what was done, for a while, and in which notebook: another one may be open by then.
  let spoken = null;
  function say(text, of) {
    if (!text) return;
    said.textContent = of ? `${of}: ${text}` : text;
    clearTimeout(spoken);
    spoken = setTimeout(() => { said.textContent = ""; }, 15000);
  }
  function connection(text) { byId("connection").textContent = text; }

  // The element that opened the dialog gets the focus back. The browser forgets it, because it is disabled while it waits for an answer.
  let opener = null;
  dialog.addEventListener("close", () => (opener?.isConnected ? opener : byId("title")).focus({ preventScroll: true }));

  function show(html) {
    if (!dialog.open && document.activeElement !== document.body) opener = document.activeElement;
    dialog.innerHTML = html;
    if (!dialog.open) dialog.showModal();
    // Enter does nothing that the person has not chosen.
    dialog.querySelector('[data-do="close"]')?.focus();
  }

  const actions = {
    interrupt: (data) => ({ run: data.run }),
    difference: (data) => ({ notebook, operation: Number(data.operation), cell: data.cell }),
    preview: (data) => ({ notebook, operation: Number(data.operation), cell: data.cell, since: !!data.sinceOperation }),
    undo: (data) => ({ notebook, operation: Number(data.operation), cell: data.cell, since: !!data.sinceOperation }),
    trust: () => ({ notebook, shown: [...cells.querySelectorAll('[data-do="trust"]')].map((it) => it.dataset.shown) }),
    distrust: () => ({ notebook }),
    accept: ({ question, shown }) => ({ question: Number(question), shown }),
    decline: ({ question, shown }) => ({ question: Number(question), shown }),
    "ask-verify": () => ({}),
    verify: () => ({ notebook }),
  };

  // Links. Nothing of a notebook leads this page away: a part is scrolled to, a notebook opens here, a site in a tab of its own.

  function followLink(href, inTab) {
    const { site, path, part } = parts.target(href, notebook);
    if (site) window.open(site, "_blank", "noopener");
    else if (path === undefined) say(`${href} leads out of what this page shows.`);
    else if (!inTab && path === notebook) goTo(part);
    else if (/\.ipynb$/i.test(path)) { if (inTab) openTab({ root, notebook: path, to: part }); else open(path, null, part); }
    else showFile(path);
  }

  const address = (given) => `#${new URLSearchParams(Object.entries(given).filter(([, value]) => value))}`;
  // With its opener, a tab of this page gets a copy of its session, and so the token.
  function openTab(given) { window.open(address(given), "_blank"); }

  // The server of a place has a route for its files; this page has none.
  function showFile(path) {
    const server = hasLogin ? new URL("..", location.href).href : root;
    const escaped = path.split("/").map(encodeURIComponent).join("/");
    if (server.startsWith("http")) window.open(`${server}files/${escaped}`, "_blank", "noopener");
    else say(`This page shows notebooks only. The link names ${root}/${path}`);
  }

  async function goTo(part) {
    if (!part) return;
    const named = cells.querySelector(`#${CSS.escape(part)}`);
    if (named) return named.scrollIntoView();
    const of = notebook, sought = { do: "find", notebook, part: part.replace(/^content-/, "") };
    const { error, part: cell, element } = await request("act", sought).then((answer) => answer.json()).catch(() => ({}));
    if (of !== notebook) return;
    say(error, of);
    if (!cell) return;
    place.set("part", cell);
    place.set("element", element);
    reveal();
  }

  for (const click of ["click", "auxclick"]) document.addEventListener(click, (event) => {
    const link = event.target.closest("a[href], area[href]");
    if (!link || link.target === "_blank" || event.button > 1) return;
    event.preventDefault();
    const inTab = event.button === 1 || event.ctrlKey || event.metaKey || event.shiftKey;
    if (cells.contains(link)) followLink(link.getAttribute("href"), inTab);
    else if (link.matches(".v-skip")) cells.scrollIntoView();
    else if (inTab) openTab({ root, ...link.dataset });
    else if ((link.dataset.root ?? root) !== root) showElsewhere(link.dataset);
    else open(link.dataset.notebook, link.dataset.part);
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-do]");
    // What has moved since it was last looked at has not stood still.
    settle();
    if (!button || button.disabled) return;
    const what = button.dataset.do;
    if (what === "close") dialog.close();
    else if (what === "keys") show(byId("key-help").innerHTML);
    else if (actions[what]) {
      if (what === "verify") { dialog.close(); say("Verifying: the code runs again in a fresh kernel.", notebook); }
      act({ do: what, ...actions[what](button.dataset) }, button);
    }
  });

  document.addEventListener("submit", (event) => {
    event.preventDefault();
    const form = event.target;
    if (form.dataset.do !== "answer") return;
    act({ do: "answer", run: form.dataset.run, shown: form.dataset.shown, line: form.elements.line.value });
    form.elements.line.value = "";
  });

  // Opens a notebook, at a cell or at a part of its text.
  function open(path, cell, part) {
    for (const name of ["part", "element"]) place.delete(name);
    if (cell) place.set("part", cell);
    if (path === notebook) return reveal();
    notebook = path;
    place.set("notebook", path);
    history.pushState(null, "", address({ root, notebook }));
    entitle();
    for (const section of ["source", "cells", "verified", "history"]) {
      for (const child of byId(section).children) digests.delete(child.id);
      byId(section).replaceChildren();
    }
    visible.clear();
    near = null;
    page = null;
    stream?.abort("other notebook");
    byId("title").focus({ preventScroll: true });
    goTo(part);
  }

  // What another program shows is another page.
  function showElsewhere({ root, notebook, part }) {
    history.pushState(null, "", address({ root, notebook, part }));
    location.reload();
  }

  addEventListener("popstate", () => {
    const given = new URLSearchParams(location.hash.slice(1));
    if ((given.get("root") ?? "") !== root) { location.reload(); return; }
    const path = given.get("notebook");
    if (path && path !== notebook) open(path);
  });

  function entitle() {
    byId("title").textContent = notebook || "No notebook is open";
    byId("verify").hidden = !notebook;
    document.title = notebook ? `${notebook} – Cellbridge` : "Cellbridge";
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open || event.target.closest("input, textarea, select")) return;
    const all = [...cells.children];
    const at = all.indexOf(document.activeElement?.closest(".v-cell"));
    const click = (selector) => all[at]?.querySelector(selector)?.click();
    const go = (cell) => { cell?.focus({ preventScroll: true }); cell?.scrollIntoView({ block: "start" }); };
    const key = { j: () => go(all[at + 1]), k: () => go(all[Math.max(at - 1, 0)]), d: () => click('[data-do="difference"]'),
      i: () => click('[data-do="interrupt"]'), n: () => byId("runs").querySelector("a, button")?.focus(),
      h: () => byId("history").querySelector("button")?.focus(), "?": () => show(byId("key-help").innerHTML) }[event.key];
    if (key) { event.preventDefault(); key(); }
  });

  // Notifications: asked for by a click, and only while the person looks elsewhere. A notebook has one, which the next replaces.

  const offer = byId("notify");
  offer.hidden = !("Notification" in window) || Notification.permission !== "default";
  offer.addEventListener("click", async () => {
    const answer = await Notification.requestPermission();
    offer.hidden = answer !== "default";
    if (answer === "granted") say("While you look elsewhere, you are notified when a run ends or something waits for you.");
  });

  function notify({ title, body }) {
    if (!("Notification" in window) || Notification.permission !== "granted" || (!document.hidden && document.hasFocus())) return;
    const shown = new Notification(title, { body, tag: `${root} ${title}` });
    shown.onclick = () => { focus(); shown.close(); };
  }

  parts.serve((library) => ({
    key: `${notebook} ${library}`,
    answer: () => request("act", { do: "library", notebook, library }).then((answer) => answer.json()),
  }), {
    filled(frame, said) {
      if (said.empty !== true || frame.dataset.filled) return;
      frame.dataset.filled = "true";
      frame.contentWindow.postMessage({ document: frame.dataset.document }, "*");
    },
    follow: (href) => followLink(href),
  });

  byId("root").textContent = root.startsWith("tabs:") ? "Colab tabs" : root;
  entitle();
  follow();
  goTo(place.get("to"));
})();
