// Writes a document as JupyterLab does; see generate.py.
import { YNotebook } from "@jupyter/ydoc";
import * as Y from "yjs";

const notebook = new YNotebook();
notebook.ydoc.clientID = 7;
notebook.fromJSON({
  nbformat: 4,
  nbformat_minor: 5,
  metadata: { kernelspec: { name: "python3", display_name: "Python 3" }, language_info: { name: "python" }, n: 1.5 },
  cells: [
    { cell_type: "markdown", id: "text", metadata: {}, source: "# \u{1f600}", attachments: {} },
    {
      cell_type: "code",
      id: "code",
      metadata: { trusted: true, tags: ["x"] },
      source: ["print(1)\n", "2"],
      execution_count: 4,
      outputs: [
        { output_type: "stream", name: "stdout", text: "1\n" },
        { output_type: "execute_result", execution_count: 4, data: { "text/plain": "2" }, metadata: {} },
        { output_type: "display_data", data: { "application/json": { big: 2 ** 40, float: 0.25 } }, metadata: {} },
      ],
    },
  ],
});
const cell = notebook.getCell(1);
cell.appendStreamOutput(0, "\u{1d518}\n");
cell.updateSource(0, 5, "show");
cell.executionState = "running";
notebook.insertCell(1, { cell_type: "raw", id: "raw", source: "raw", metadata: { format: "text/html" } });
notebook.moveCell(0, 2);
notebook.addCell({ cell_type: "code", id: "empty", source: "" });
notebook.setMetadata("k", { v: [1, 2] });
process.stdout.write(Buffer.from(Y.encodeStateAsUpdate(notebook.ydoc)), () => process.exit(0));
