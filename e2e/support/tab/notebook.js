// The notebook of the page, and the order of its cells.
import { run } from "./runtime.js";

export class Notebook {
  #element;
  #queue = Promise.resolve();
  #executions = 0;
  #lastId = 0;

  cells = [];

  constructor(element) {
    this.#element = element;
  }

  insert(index, cell) {
    const id = `cell-${++this.#lastId}`;
    this.cells.splice(Math.min(index, this.cells.length), 0, { id, ...cell });
    this.#render();
    return id;
  }

  remove(id) {
    this.cells.splice(this.cells.indexOf(this.find(id)), 1);
    this.#render();
  }

  move(id, index) {
    const cell = this.find(id);
    this.cells.splice(this.cells.indexOf(cell), 1);
    this.cells.splice(index, 0, cell);
    this.#render();
  }

  update(id, source) {
    this.find(id).source = source;
    this.#render();
  }

  // Cells run one after another, as in Colab: whoever asks behind a slow cell waits.
  execute(id, hooks) {
    const cell = this.find(id);
    if (cell.cell_type !== "code") throw new Error(`Cell '${id}' is not a code cell`);
    const done = this.#queue.then(async () => {
      cell.outputs = await run(cell.source, hooks);
      cell.execution_count = ++this.#executions;
      return cell.outputs;
    });
    this.#queue = done.catch(() => {});
    return done;
  }

  find(id) {
    const cell = this.cells.find((candidate) => candidate.id === id);
    if (!cell) throw new Error(`No cell was found with ID '${id}'`);
    return cell;
  }

  #render() {
    this.#element.replaceChildren(
      ...this.cells.map(({ id, source }) => {
        const element = document.createElement("pre");
        element.id = id;
        element.textContent = source;
        return element;
      }),
    );
  }
}
