// The script of a view: speaks with its host, gets the parts that it lacks, and sends what the person does.
(() => {
  const byId = (id) => document.getElementById(id);
  const dialog = byId("dialog"), sections = ["head", "cells", "history"];
  const digests = new Map();
  // What it asks for.
  const asked = { cells: [], runs: [], trusted: [] };
  let input = {}, tool = "", result = null, isList = false, isAsking = false, isOver = false, timer = null;
  // How long an answer may take before the result of the call is shown, in milliseconds.
  const PATIENCE = 3000;
  // What opened the dialog.
  let opener = null;

  // The bridge: JSON-RPC in messages to the host, which is the parent.

  const waiting = new Map();
  let last = 0;
  const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const notify = (method, params = {}) => post({ method, params });
  function request(method, params) {
    const id = ++last;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      post({ id, method, params });
    });
  }

  addEventListener("message", ({ source, data }) => {
    if (source !== parent || data?.jsonrpc !== "2.0") return;
    const { id, method, params } = data;
    if (method === undefined) {
      const call = waiting.get(id);
      waiting.delete(id);
      if (data.error) call?.reject(new Error(data.error.message)); else call?.resolve(data.result);
    } else if (id === undefined) {
      notices[method]?.(params ?? {});
    } else if (method === "ping" || method === "ui/resource-teardown") {
      if (method !== "ping") isOver = true;
      post({ id, result: {} });
    } else {
      post({ id, error: { code: -32601, message: method } });
    }
  });

  const notices = {
    "ui/notifications/tool-input": ({ arguments: given }) => { input = given ?? {}; named(); look(); },
    "ui/notifications/tool-result": (given) => {
      result = { ...given, content: given.content ?? [] };
      found();
      // The answer to what was asked before may never come.
      if (isAsking) setTimeout(() => { if (isAsking) showResult(); }, PATIENCE);
      look();
    },
    "ui/notifications/tool-cancelled": () => { result ??= { content: [] }; look(); },
    "ui/notifications/host-context-changed": adapt,
  };

  function adapt({ theme, styles, toolInfo }) {
    const root = document.documentElement;
    if (theme) root.style.colorScheme = theme;
    for (const [name, value] of Object.entries(styles?.variables ?? {})) if (value) root.style.setProperty(name, value);
    if (toolInfo?.tool?.name) tool = toolInfo.tool.name;
  }

  // The text of an answer to one of our own tools, which is JSON.
  async function call(name, given) {
    const { content, isError } = await request("tools/call", { name, arguments: given });
    const text = content.map((part) => part.text ?? "").join("");
    if (isError) throw new Error(text);
    return JSON.parse(text);
  }

  // With the key that shows that a view has sent it.
  const send = (given) => call("view_act", { ...given, key: document.documentElement.dataset.key });

  // What the call is about.

  function named() {
    const { notebook_name: notebook, cell_id: id, cell_index: index, run_id: run } = input;
    if (notebook) asked.notebook_name = String(notebook);
    const cell = id || String(index ?? "").replace(/^\d+$/, "#$&");
    if (cell && !("cell_source" in input)) asked.cells = [...asked.cells, String(cell)];
    if (run) asked.runs = [...asked.runs, String(run)];
    const source = input.cell_source ?? input.code;
    if (source) asked.source = String(source);
    // `run_cells` names no cell of which the runs are known before it answers.
    asked.live = tool === "run_cells" || ["all", "stale", "from", "through"].some((name) => name in input);
  }

  function found() {
    delete asked.source;
    const text = texts().join("\n");
    // The last line of a reply about a run, or about several; others may name the runs of other calls.
    for (const [, runs] of text.matchAll(/(?:\] run|: runs) ((?:r\d[\w-]*(?:, )?)+)/g)) {
      asked.runs = [...asked.runs, ...runs.split(", ").filter(Boolean)];
    }
    asked.history = ["history", "undo"].includes(tool) || /^(Undone, in |Would undo, in |o\d+ \d{4}-)/m.test(text);
    // The history itself says it better.
    isList = asked.history && !input.id && !/^(Undone|Would undo), in /m.test(text);
  }

  function texts() { return result.content.filter((part) => part.type === "text").map((part) => part.text); }

  // Gets what it lacks: again each second while code runs and somebody can see it.
  async function look() {
    clearTimeout(timer);
    if (isAsking || isOver) return;
    isAsking = true;
    // A host may not pass the question on.
    const silent = setTimeout(() => { if (result) showResult(); }, PATIENCE);
    const had = result, sent = { ...asked, known: known() };
    let answer = {};
    try {
      answer = await call("view_fragment", sent);
      for (const update of answer.updates) apply(update);
      // By the ids that they keep, with what has become known since.
      for (const name of ["cells", "runs"]) asked[name] = [...answer[name], ...asked[name].slice(sent[name].length)];
      if (answer.notebook) asked.notebook_name = answer.notebook;
      asked.live = !!asked.live && (answer.active || !result);
    } catch (error) {
      // The server may be there again later.
      answer.active = true;
      if (result) say(error.message);
    }
    isAsking = false;
    clearTimeout(silent);
    if (byId("cells").childElementCount) byId("result").replaceChildren();
    if (had && had === result) showResult();
    parts.tick();
    if (answer.behind || had !== result) look();
    else if ((answer.active || !result) && !document.hidden) timer = setTimeout(look, 1000);
  }

  function known() {
    return Object.fromEntries(sections.map((section) => [section, [...byId(section).children].map((it) => [it.id, digests.get(it.id)])]));
  }

  function apply({ section, order, parts: changed }) {
    const list = byId(section), template = document.createElement("template");
    for (const [id, digest, html] of changed) {
      template.innerHTML = html;
      const made = template.content.firstElementChild;
      digests.set(id, digest);
      if (byId(id)) parts.morph(byId(id), made); else list.append(made);
    }
    if (!order) return;
    for (const child of [...list.children]) if (!order.includes(child.id)) child.remove();
    order.forEach((id, index) => {
      if (byId(id) && list.children[index] !== byId(id)) list.insertBefore(byId(id), list.children[index] ?? null);
    });
  }

  // What no cell shows: a refusal, a verification, a run that is forgotten.
  function showResult() {
    const place = byId("result");
    if (place.childElementCount || byId("cells").childElementCount || isList) return;
    for (const part of result.content) {
      const made = document.createElement(part.type === "image" ? "img" : "pre");
      if (part.type === "image") Object.assign(made, { alt: "Output image", src: `data:${part.mimeType};base64,${part.data}` });
      else made.textContent = (part.text ?? "").replace(/\x1b\[[0-9;]*m/g, "");
      place.classList.toggle("cb-error", result.isError === true);
      place.append(made);
    }
  }

  // What the person does.

  function say(text) { byId("said").textContent = text; }

  function show(html) {
    if (html && dialog.hidden) opener = document.activeElement;
    dialog.innerHTML = html ?? "";
    dialog.hidden = !html;
    if (html) dialog.focus(); else opener?.focus();
  }

  const ofOperation = ({ operation, cell, sinceOperation }) =>
    ({ notebook: asked.notebook_name, operation: Number(operation), cell, since: !!sinceOperation });
  const actions = {
    interrupt: ({ run }) => ({ run }),
    answer: ({ run, shown }, form) => ({ run, shown, line: form.querySelector("input").value }),
    difference: ({ operation, cell }) => ({ notebook: asked.notebook_name, operation: Number(operation), cell }),
    preview: ofOperation,
    undo: ofOperation,
  };

  async function act(what, element) {
    if (what === "close") return show();
    const offered = [...byId("cells").querySelectorAll('[data-do="trust"]')].map((it) => it.dataset.shown);
    if (what === "trust") { asked.trusted = [...asked.trusted, ...offered]; return look(); }
    if (what === "distrust") { asked.trusted = []; return look(); }
    if (!actions[what]) return;
    const given = JSON.parse(JSON.stringify({ do: what, ...actions[what](element.dataset, element) }));
    const field = element.querySelector("input");
    if (field) field.value = "";
    try {
      const answer = await send(given);
      show(answer.html);
      say(answer.said ?? "");
    } catch (error) {
      say(error.message);
    }
    look();
  }

  // A frame of a host goes nowhere itself.
  function follow(href) {
    const { site, path, part } = parts.target(href, asked.notebook_name ?? "");
    const named = part && byId("cells").querySelector(`#${CSS.escape(part)}`);
    if (site) request("ui/open-link", { url: site }).catch((error) => say(error.message));
    else if (named) named.scrollIntoView();
    else say(`This view shows one call. Open the live page for ${path || href}`);
  }

  // Hosts forbid forms to be sent.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href], area[href]");
    if (link) {
      event.preventDefault();
      return follow(link.getAttribute("href"));
    }
    const button = event.target.closest("button");
    if (!button) return;
    event.preventDefault();
    const form = button.closest("form[data-do]");
    if (form) act(form.dataset.do, form); else if (button.dataset.do) act(button.dataset.do, button);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !dialog.hidden) show();
    const form = event.key === "Enter" && event.target.closest("form[data-do]");
    if (form && event.target.nodeName === "INPUT") { event.preventDefault(); act(form.dataset.do, form); }
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });

  parts.serve((library) => ({
    key: library,
    answer: () => send({ do: "library", notebook: asked.notebook_name, library }),
  }), { isInline: true, follow });

  new ResizeObserver(() => {
    notify("ui/notifications/size-changed", { width: innerWidth, height: Math.ceil(document.body.getBoundingClientRect().height) });
  }).observe(document.body);

  request("ui/initialize", {
    appInfo: { name: "Cellbridge", version: "1" },
    appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    protocolVersion: "2026-01-26",
  }).then(({ hostContext }) => adapt(hostContext ?? {}), () => {}).then(() => notify("ui/notifications/initialized"));
})();
