// The official TypeScript SDK 2.x: knows both eras and speaks the one that it is started with.
import { drive, load, toolsChanged } from "./driver.mjs";

const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");

const { url, command, args, env, cwd, mode } = JSON.parse(process.argv[2]);
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command, args, env, cwd: cwd ?? undefined });

const client = new Client(
  { name: "e2e-typescript-v2", version: "1.0.0" },
  {
    versionNegotiation: { mode: ["legacy", "auto"].includes(mode) ? mode : { pin: mode } },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: toolsChanged } },
  },
);
await client.connect(transport);
await drive(client, client.getNegotiatedProtocolVersion(), (connected, call, options) =>
  connected.callTool(call, options),
);
