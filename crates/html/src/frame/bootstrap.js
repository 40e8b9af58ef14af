"use strict";
// Gets the frame's library from the page, draws, and reports the height of what was drawn.
addEventListener("message", (event) => {
  if (event.source !== parent || !event.data) return;
  // The page's script may start after the frame has loaded.
  if (event.data.hello === true && document.readyState === "complete") report();
  if (!Array.isArray(event.data.sources)) return;
  const say = (error) => {
    document.getElementById("chart")?.append(`The chart cannot be drawn: ${error}`);
    fail();
  };
  try {
    // Where a policy forbids `eval`, the page says that it allows elements.
    const run = event.data.inline === true ? add : (0, eval);
    event.data.sources.forEach((source) => run(source));
    const data = document.getElementById("data");
    if (typeof draw === "function") Promise.resolve(draw(JSON.parse(data.textContent), run)).catch(say);
  } catch (error) {
    say(error);
  }
});
// A link leads where the page lets it: a frame has nowhere to go.
addEventListener("click", (event) => {
  const link = event.target.closest?.("a");
  const href = link?.getAttribute("href") ?? link?.getAttribute("xlink:href");
  if (!event.isTrusted || event.defaultPrevented || typeof href !== "string") return;
  event.preventDefault();
  const named = href.startsWith("#") && document.getElementById(href.slice(1));
  if (named) named.scrollIntoView();
  else if (href !== "#") parent.postMessage({ link: href }, "*");
});
// What needs the network, or fails while it starts, has another form on the page. Later errors are those of a chart that works.
const START = 10000;
function fail() { if (performance.now() < START) parent.postMessage({ failed: true }, "*"); }
addEventListener("securitypolicyviolation", ({ effectiveDirective }) => { if (effectiveDirective.startsWith("script-src")) fail(); });
addEventListener("unhandledrejection", fail);
addEventListener("error", ({ target, message }) => {
  if (target === window ? !String(message).startsWith("ResizeObserver") : target.nodeName === "SCRIPT") fail();
}, true);
function add(source) {
  let failed = null;
  const note = (event) => { failed = event.error ?? event.message; };
  addEventListener("error", note);
  document.head.append(Object.assign(document.createElement("script"), { textContent: source }));
  removeEventListener("error", note);
  if (failed) throw failed;
}
addEventListener("load", () => {
  report();
  // Some scripts wait for others for ever.
  setTimeout(() => {
    const text = document.body.innerText.trim();
    const isDrawn = [...document.body.querySelectorAll("*")].some((it) => it.shadowRoot || it.matches("canvas, svg, img, video, input"));
    if (text ? text.length < 300 && /^loading\b/i.test(text) : !isDrawn) parent.postMessage({ failed: true }, "*");
  }, 5000);
  new ResizeObserver(report).observe(document.body);
});
function report() {
  parent.postMessage({ ready: true, height: document.documentElement.scrollHeight }, "*");
}
