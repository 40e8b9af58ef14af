"use strict";
// Gets the frame's library from the page, draws, and reports the height of what was drawn.
addEventListener("message", (event) => {
  if (event.source !== parent || !event.data || !Array.isArray(event.data.sources)) return;
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
  parent.postMessage({ ready: true }, "*");
  new ResizeObserver(() => {
    parent.postMessage({ height: document.documentElement.scrollHeight }, "*");
  }).observe(document.body);
});
