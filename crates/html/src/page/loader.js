"use strict";
// Gives each frame its library once, and its height. Frames reach nothing else.
(() => {
  const frames = [...document.querySelectorAll("iframe.cb-frame")];
  addEventListener("message", (event) => {
    const frame = frames.find((it) => it.contentWindow === event.source);
    if (!frame || !event.data || typeof event.data !== "object") return;
    if (event.data.ready === true && !frame.dataset.ready) {
      frame.dataset.ready = "true";
      const library = document.getElementById(frame.dataset.library);
      const sources = library ? JSON.parse(library.textContent) : [];
      frame.contentWindow.postMessage({ sources }, "*");
    }
    const height = Number(event.data.height);
    if (height > 0) frame.style.height = `${Math.min(Math.ceil(height), 4000)}px`;
  });
})();
