// The part that both Node clients share: verbs come in as JSON lines, answers and events go out as such.
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

// The packages live outside of this folder, where `import` would look for them in vain.
export const load = createRequire(join(process.env.CELLBRIDGE_E2E_NODE_MODULES, "here.cjs"));

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

export const toolsChanged = () => say({ event: "tools-changed" });

const verbs = {
  tools: (client) => client.listTools(),
  resources: (client) => client.listResources(),
  templates: (client) => client.listResourceTemplates(),
  resource: (client, { uri }) => client.readResource({ uri }),
  prompts: (client) => client.listPrompts(),
  prompt: (client, { name, arguments: given }) => client.getPrompt({ name, arguments: given }),
  async call(client, { name, arguments: given }, callTool) {
    const onprogress = (progress) => say({ event: "progress", progress });
    return { result: await callTool(client, { name, arguments: given }, { onprogress }) };
  },
};

export async function drive(client, revision, callTool) {
  say({ event: "ready", revision });
  const pending = new Set();
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, verb, ...given } = JSON.parse(line);
    const answering = verbs[verb](client, given, callTool).then(
      (answer) => say({ id, ...answer }),
      (error) => say({ id, failure: String(error.stack ?? error) }),
    );
    pending.add(answering);
    answering.finally(() => pending.delete(answering));
  }
  await Promise.all(pending);
  await client.close();
}
