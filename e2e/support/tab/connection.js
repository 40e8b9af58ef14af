// The way a Colab tab comes to connect: parameters in the URL's fragment, then sessionStorage,
// then a person's consent on every load of the page, then one WebSocket and no second try.

const TOKEN = "mcp_proxy_token";
const PORT = "mcp_proxy_port";
const STATUS_BUSY = "Only one notebook session can be connected at a time";

function keepFragmentParameters() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get("mcpProxyToken");
  const port = fragment.get("mcpProxyPort");
  if (!token || !port) return;
  sessionStorage.setItem(TOKEN, token);
  sessionStorage.setItem(PORT, port);
  history.replaceState(null, "", location.pathname + location.search);
}

export class Connection {
  #dialog = document.querySelector(".local-mcp-connect-dialog");
  #field = document.getElementById("token-field");
  #status = document.getElementById("status");
  #openSession;

  // What happened, in order, with the browser's clock.
  history = [];
  sockets = 0;

  constructor(openSession) {
    this.#openSession = openSession;
    document.getElementById("cancel").addEventListener("click", () => this.#dialog.close("cancel"));
    this.#dialog.addEventListener("close", () => {
      if (this.#dialog.returnValue !== "ok") return;
      const [token, port] = this.#field.value.split("&");
      this.#connect(token, port);
    });
  }

  begin() {
    keepFragmentParameters();
    if (!sessionStorage.getItem(TOKEN)) return;
    this.ask(`${sessionStorage.getItem(TOKEN)}&${sessionStorage.getItem(PORT)}`);
  }

  ask(tokenAndPort) {
    this.#field.value = tokenAndPort;
    this.#dialog.showModal();
    document.getElementById("ok").focus();
  }

  #connect(token, port) {
    this.sockets += 1;
    this.#say("Connecting");
    const socket = new WebSocket(`ws://localhost:${port}/?access_token=${token}`, "mcp");
    const session = this.#openSession((message) => socket.send(JSON.stringify(message)));
    socket.addEventListener("open", () => this.#say("Connected"));
    socket.addEventListener("message", (event) => session.receive(event.data));
    socket.addEventListener("close", (event) => {
      session.close();
      this.#say(event.code === 1013 ? STATUS_BUSY : "Disconnected", event.code);
    });
  }

  #say(status, code) {
    this.history.push({ status, code, at: Date.now() });
    this.#status.textContent = status;
  }
}
