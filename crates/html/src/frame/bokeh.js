"use strict";
function draw(script, run) {
  // The element is in another output.
  for (const [, roots] of script.matchAll(/"roots":\s*(\{[^{}]*\})/g)) {
    for (const [root, id] of Object.entries(JSON.parse(roots))) {
      if (document.getElementById(id)) continue;
      const element = Object.assign(document.createElement("div"), { id, style: "display: contents" });
      element.dataset.rootId = root;
      document.getElementById("chart").append(element);
    }
  }
  run(script);
}
