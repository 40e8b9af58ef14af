"use strict";
// Gets the frame's library from the page, draws, and reports the height of what was drawn.
addEventListener("message", (event) => {
  if (event.source !== parent || !event.data) return;
  // The page's script may start after the frame has loaded.
  if (event.data.hello === true && document.readyState === "complete") report();
  if (!Array.isArray(event.data.sources)) return;
  const say = (error) => {
    document.getElementById("chart")?.append(`The chart cannot be drawn: ${error}`);
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
  new ResizeObserver(report).observe(document.body);
});
function report() {
  parent.postMessage({ ready: true, height: document.documentElement.scrollHeight }, "*");
}
