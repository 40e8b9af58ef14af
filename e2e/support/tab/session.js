// One MCP session, this page being the server: lives and dies with its WebSocket.

const NOT_INITIALIZED = -32002;
const METHOD_NOT_FOUND = -32601;

export class Session {
  #toolbox;
  #send;
  #strict;
  #stage = "new";
  #running = new Map();

  received = [];

  constructor(toolbox, send, { strict }) {
    this.#toolbox = toolbox;
    this.#send = send;
    this.#strict = strict;
  }

  async receive(text) {
    const message = JSON.parse(text);
    this.received.push(message.method ?? "response");
    if (message.id === undefined) return this.#notified(message);
    if (message.method === undefined) return;
    const answer = await this.#answer(message);
    if (this.#stage !== "closed") this.#send({ jsonrpc: "2.0", id: message.id, ...answer });
  }

  toolsChanged() {
    this.#send({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
  }

  close() {
    this.#stage = "closed";
  }

  #notified({ method, params }) {
    if (method === "notifications/initialized" && this.#stage === "greeted") this.#stage = "ready";
    if (method === "notifications/cancelled") this.#running.get(params.requestId)?.abort(params.reason);
  }

  async #answer({ id, method, params }) {
    if (method === "initialize") {
      this.#stage = "greeted";
      return { result: this.#greeting(params) };
    }
    if (method === "ping") return { result: {} };
    if (this.#strict && this.#stage !== "ready") {
      return { error: { code: NOT_INITIALIZED, message: `Server not initialized: ${method} refused` } };
    }
    if (method === "tools/list") return { result: { tools: this.#toolbox.definitions() } };
    if (method === "tools/call") return { result: await this.#call(id, params) };
    return { error: { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` } };
  }

  #greeting({ protocolVersion }) {
    return {
      protocolVersion,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: "tab-stand-in", version: "1.0.0" },
    };
  }

  async #call(id, { name, arguments: given = {}, _meta }) {
    const cancelled = new AbortController();
    this.#running.set(id, cancelled);
    const progressToken = _meta?.progressToken;
    const progress = (done, total, message) => {
      if (progressToken === undefined) return;
      const params = { progressToken, progress: done, total, message };
      this.#send({ jsonrpc: "2.0", method: "notifications/progress", params });
    };
    try {
      return await this.#toolbox.call(name, given, { progress, signal: cancelled.signal });
    } finally {
      this.#running.delete(id);
    }
  }
}
