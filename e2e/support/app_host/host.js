// A host of MCP Apps over the official bridge: shows the view of a tool call in a frame of another origin.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

let bridge;

window.openView = async ({ sandbox, html, tool, input, context }) => {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin");
  const capabilities = { serverTools: {}, serverResources: {} };
  bridge = new AppBridge(null, { name: "harness", version: "1" }, capabilities, {
    hostContext: { ...context, ...(tool && { toolInfo: { tool } }) },
  });
  // The official client is left out: the test speaks with the server, and sees all that is asked.
  bridge.oncalltool = (params) => window.mcp("tools/call", params);
  bridge.onreadresource = (params) => window.mcp("resources/read", params);
  bridge.onsizechange = ({ height }) => { frame.style.height = `${height}px`; };
  const loaded = new Promise((done) => { bridge.onsandboxready = done; });
  const initialized = new Promise((done) => { bridge.oninitialized = done; });
  document.body.replaceChildren(frame);
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = sandbox;
  await loaded;
  await bridge.sendSandboxResourceReady({ html });
  await initialized;
  await bridge.sendToolInput({ arguments: input });
};

window.sendResult = (result) => bridge.sendToolResult(result);
document.body.dataset.ready = "true";
