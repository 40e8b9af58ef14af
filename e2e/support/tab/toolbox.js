// The tools that the page offers, and the shapes of what they answer.
import { definitions } from "./definitions.js";

const EXTRA = {
  name: "colab_extra",
  description: "A tool that Cellbridge knows nothing of.",
  inputSchema: { type: "object", properties: { word: { type: "string" } } },
  "x-page": { kept: [1, 2.5, null] },
};

export class Toolbox {
  #notebook;
  #results;
  #offered = [...definitions, EXTRA];

  constructor(notebook, { results }) {
    this.#notebook = notebook;
    this.#results = results;
  }

  definitions() {
    return this.#offered;
  }

  offer(tool) {
    this.#offered = [...this.#offered, tool];
  }

  async call(name, given, hooks) {
    const tool = this.#offered.find((candidate) => candidate.name === name);
    try {
      if (!tool) throw new Error(`Tool ${name} not found`);
      requireArguments(tool, given);
      const handler = this[name];
      return handler ? this.#shape(await handler.call(this, given, hooks)) : echo(name, given);
    } catch (error) {
      return { content: [{ type: "text", text: error.message }], isError: true };
    }
  }

  add_code_cell({ cellIndex, language, code }) {
    const metadata = { language };
    const cell = { cell_type: "code", source: code, metadata, outputs: [], execution_count: null };
    return { newCellId: this.#notebook.insert(cellIndex, cell) };
  }

  add_text_cell({ cellIndex, content }) {
    return { newCellId: this.#notebook.insert(cellIndex, { cell_type: "markdown", source: content }) };
  }

  delete_cell({ cellId }) {
    this.#notebook.remove(cellId);
    return {};
  }

  get_cells({ cellIndexStart = 0, cellIndexEnd = Infinity, includeOutputs = false }) {
    const cells = this.#notebook.cells.slice(cellIndexStart, cellIndexEnd + 1);
    return {
      cells: cells.map(({ cell_type, id, source, outputs, execution_count }) => ({
        cell_type,
        id,
        source: source.split(/(?<=\n)/),
        ...(includeOutputs && outputs ? { outputs, execution_count } : {}),
      })),
    };
  }

  move_cell({ cellId, cellIndex }) {
    this.#notebook.move(cellId, cellIndex);
    return {};
  }

  async run_code_cell({ cellId }, hooks) {
    return { outputs: await this.#notebook.execute(cellId, hooks) };
  }

  update_cell({ cellId, content }) {
    this.#notebook.update(cellId, content);
    return {};
  }

  #shape(payload) {
    const content = this.#results === "structured" ? [] : [{ type: "text", text: JSON.stringify(payload) }];
    return this.#results === "text" ? { content } : { content, structuredContent: payload };
  }
}

function requireArguments({ name, inputSchema }, given) {
  for (const wanted of inputSchema.required ?? []) {
    if (given[wanted] === undefined) {
      throw new Error(`Invalid arguments for ${name}: ${wanted} Required (received undefined)`);
    }
  }
}

// A tool without a handler here: whatever came goes back, with fields that no revision of MCP names.
function echo(name, given) {
  const content = [{ type: "text", text: JSON.stringify({ name, given }), "x-block": true }];
  return { content, _meta: { "page/kept": "as sent" }, "x-result": { deep: [{}] } };
}
