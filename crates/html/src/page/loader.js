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
    const { link } = event.data;
    // A click elsewhere is none on the frame's link.
    const isClicked = document.activeElement === frame && navigator.userActivation?.isActive;
    if (isClicked && typeof link === "string" && /^https?:/i.test(link)) open(link, "_blank", "noopener");
    if (event.data.failed === true) frame.closest(".cb-live")?.classList.add("cb-failed");
    const height = Number(event.data.height);
    // A chart that is not drawn yet has no height.
    if (height > 20) frame.style.height = `${Math.min(Math.ceil(height), 4000)}px`;
  });
  frames.forEach((it) => it.contentWindow.postMessage({ hello: true }, "*"));
})();
