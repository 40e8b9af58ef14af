// Wires the parts into `window.tab`, which is all that the tests touch.
// `window.tabOptions`, set by a test before the page's own scripts, chooses how this page behaves.
import { Connection } from "./connection.js";
import { Notebook } from "./notebook.js";
import { Session } from "./session.js";
import { Toolbox } from "./toolbox.js";

const options = {
  strict: true, // answers nothing before `initialize`, as the protocol asks; false: answers anyway, as Colab seems to
  results: "both", // where a result's JSON goes: "text", "structured" or "both"
  ...window.tabOptions,
};

const notebook = new Notebook(document.getElementById("notebook"));
const toolbox = new Toolbox(notebook, options);
const sessions = [];
const connection = new Connection((send) => {
  const session = new Session(toolbox, send, options);
  sessions.push(session);
  return session;
});

window.tab = {
  notebook,
  toolbox,
  connection,
  // The methods that each session of this page got, in order.
  transcripts: () => sessions.map((session) => session.received),
  offer(tool) {
    toolbox.offer(tool);
    sessions.at(-1)?.toolsChanged();
  },
};
connection.begin();
