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
    event.data.sources.forEach((source) => (0, eval)(source));
    const data = document.getElementById("data");
    if (typeof draw === "function") Promise.resolve(draw(JSON.parse(data.textContent))).catch(say);
  } catch (error) {
    say(error);
  }
});
addEventListener("load", () => {
  report();
  new ResizeObserver(report).observe(document.body);
});
function report() {
  parent.postMessage({ ready: true, height: document.documentElement.scrollHeight }, "*");
}
