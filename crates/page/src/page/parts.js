"use strict";
// What the live page and the views of MCP Apps have in common: parts that change in place, times, and the frames of outputs.
const parts = (() => {
  // Makes an element like another one, and leaves what is alike: focus, selection, scroll positions and typed text stay.
  function morph(from, to) {
    if (from.isEqualNode(to)) return;
    if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName) return from.replaceWith(to);
    // What a frame has drawn stays, and what is shown because it could not.
    if (from.nodeType === Node.ELEMENT_NODE && from.matches(".cb-live")) { if (shown(from) !== shown(to)) from.replaceWith(to); return; }
    // What is typed is for the question that was seen.
    if (from.nodeName === "FORM" && from.dataset.shown !== to.dataset.shown) return from.replaceWith(to);
    if (from.nodeType !== Node.ELEMENT_NODE) { from.data = to.data; return; }
    for (const { name } of [...from.attributes]) {
      // The person has opened it.
      if (!to.hasAttribute(name) && !(name === "open" && from.nodeName === "DETAILS") && name !== "style") from.removeAttribute(name);
    }
    for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    if (from.nodeName === "TIME") return;
    const [old, made] = [[...from.childNodes], [...to.childNodes]];
    made.forEach((child, index) => (old[index] ? morph(old[index], child) : from.append(child)));
    old.slice(made.length).forEach((child) => child.remove());
  }

  function shown(live) {
    const frame = live.querySelector("iframe");
    return frame && `${frame.dataset.library} ${frame.dataset.document ?? frame.getAttribute("srcdoc")}`;
  }

  // Where a link in a notebook leads: to a site, or to a path in the notebook's place and a part there; nowhere otherwise.
  function target(href, notebook) {
    const escaped = notebook.split("/").map(encodeURIComponent).join("/");
    const [, fromRoot] = /^\/(?![/\\])(.*)/s.exec(href.trim()) ?? [];
    try {
      const url = new URL(fromRoot === undefined ? href : `/in/${fromRoot}`, `http://place.invalid/in/${escaped}`);
      if (["http:", "https:", "mailto:"].includes(url.protocol) && url.host !== "place.invalid") return { site: url.href };
      if (url.origin !== "http://place.invalid" || !url.pathname.startsWith("/in/")) return {};
      return { path: decodeURIComponent(url.pathname.slice(4)), part: decodeURIComponent(url.hash.slice(1)) };
    } catch {
      return {};
    }
  }

  // Times. Only text that differs is written.

  function tick() {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-since]")) write(time, duration(now - Number(time.dataset.since)));
    for (const time of document.querySelectorAll("time[data-ago]")) write(time, since(now - Number(time.dataset.ago)));
    for (const time of document.querySelectorAll("time[data-at]")) write(time, new Date(Number(time.dataset.at)).toLocaleTimeString());
  }
  function write(time, text) { if (time.textContent !== text) time.textContent = text; }
  function duration(millis) {
    const seconds = Math.max(0, Math.floor(millis / 1000));
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    const two = (number) => String(number).padStart(2, "0");
    return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
  }
  function since(millis) {
    const minutes = Math.floor(millis / 60000);
    if (minutes < 1) return "just now";
    if (minutes < 60) return `${minutes} min ago`;
    if (minutes < 1440) return `${Math.floor(minutes / 60)} h ago`;
    return `${Math.floor(minutes / 1440)} d ago`;
  }
  setInterval(tick, 1000);

  // Frames: each gets its library once, and its height. `ask` gets the scripts of a library, `filled` what the frame says before, and
  // `follow` a link that the person has clicked in it.
  function serve(ask, { isInline = false, filled = () => {}, follow = () => {} } = {}) {
    const libraries = new Map();
    addEventListener("message", (event) => {
      const frame = [...document.querySelectorAll("iframe.cb-frame")].find((it) => it.contentWindow === event.source);
      if (!frame || !event.data || typeof event.data !== "object") return;
      filled(frame, event.data);
      // A click elsewhere is none on the frame's link.
      const isClicked = document.activeElement === frame && navigator.userActivation?.isActive;
      if (isClicked && typeof event.data.link === "string") follow(event.data.link);
      if (event.data.failed === true) frame.closest(".cb-live")?.classList.add("cb-failed");
      if (event.data.ready === true && !frame.dataset.ready) {
        frame.dataset.ready = "true";
        sources(frame.dataset.library).then((found) => frame.contentWindow?.postMessage({ sources: found, inline: isInline }, "*"));
      }
      const height = Number(event.data.height);
      if (height > 20) frame.style.height = `${Math.min(Math.ceil(height), 4000)}px`;
    });

    // The scripts of a library, which are asked for once.
    function sources(library) {
      if (!library) return Promise.resolve([]);
      const { key, answer } = ask(library);
      if (!libraries.has(key)) libraries.set(key, answer().then((found) => found.sources ?? []).catch(() => []));
      return libraries.get(key);
    }
  }

  return { morph, tick, serve, target };
})();

