// The official TypeScript SDK 1.x: knows only the revisions that begin with `initialize`.
import { drive, load, toolsChanged } from "./driver.mjs";

const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { ToolListChangedNotificationSchema } = load("@modelcontextprotocol/sdk/types.js");

const { url, command, args, env, cwd } = JSON.parse(process.argv[2]);
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command, args, env, cwd: cwd ?? undefined });

let revision;
const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  revision = version;
  setProtocolVersion?.(version);
};

const client = new Client({ name: "e2e-typescript-v1", version: "1.0.0" });
client.setNotificationHandler(ToolListChangedNotificationSchema, toolsChanged);
await client.connect(transport);
await drive(client, revision, (connected, call, options) => connected.callTool(call, undefined, options));
