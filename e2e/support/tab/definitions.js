// The seven tools of a Colab notebook: names, arguments and types as Colab has them, in this project's words.

const LARGEST_INTEGER = 9007199254740991;
const DRAFT = "http://json-schema.org/draft-07/schema#";

const index = (description) => ({ type: "integer", minimum: 0, maximum: LARGEST_INTEGER, description });
const text = (description) => ({ type: "string", description });
const cellId = text("The id of the cell.");

function tool(name, description, properties, required) {
  const inputSchema = { type: "object", properties, additionalProperties: false, $schema: DRAFT };
  return { name, description, inputSchema: required ? { ...inputSchema, required } : inputSchema };
}

export const definitions = [
  tool(
    "add_code_cell",
    "Page: puts a new code cell at an index.",
    {
      cellIndex: index("Where the new cell goes."),
      language: { type: "string", enum: ["python", "r", "julia"], description: "What the code is written in." },
      code: text("The code."),
    },
    ["cellIndex", "language", "code"],
  ),
  tool(
    "add_text_cell",
    "Page: puts a new text cell at an index.",
    { cellIndex: index("Where the new cell goes."), content: text("The Markdown.") },
    ["cellIndex", "content"],
  ),
  tool("delete_cell", "Page: takes a cell out.", { cellId }, ["cellId"]),
  tool("get_cells", "Page: reads cells.", {
    cellIndexStart: index("The first cell to read."),
    cellIndexEnd: index("The last cell to read."),
    includeOutputs: { type: "boolean", default: false, description: "Whether outputs are wanted too." },
  }),
  tool(
    "move_cell",
    "Page: moves a cell to an index.",
    { cellId, cellIndex: index("Where the cell goes.") },
    ["cellId", "cellIndex"],
  ),
  tool("run_code_cell", "Page: runs a code cell and waits for it.", { cellId }, ["cellId"]),
  tool("update_cell", "Page: replaces what a cell holds.", { cellId, content: text("What it holds from now on.") }, [
    "cellId",
    "content",
  ]),
];
