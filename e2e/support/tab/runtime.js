// What stands in for the kernel, unless a test provides one: a cell's code is JavaScript with five words of its own.
//   print(text)   a stream output          image(kilobytes)  a PNG-typed display output of that size
//   await slow()  waits until a test calls `window.releaseSlowCells()`, or the call is cancelled
//   progress(done, total, message)         an MCP progress notification

const AsyncFunction = (async () => {}).constructor;
const PNG_SIGNATURE = "\x89PNG\r\n\x1a\n";

const waiting = new Set();
window.slowCells = () => waiting.size;
window.releaseSlowCells = () => {
  for (const release of waiting) release();
  waiting.clear();
};

function slow(signal) {
  return new Promise((resolve, reject) => {
    waiting.add(resolve);
    signal.addEventListener("abort", () => {
      waiting.delete(resolve);
      reject(new Error(`KeyboardInterrupt: ${signal.reason}`));
    });
  });
}

function imageOutput(kilobytes) {
  const data = btoa(PNG_SIGNATURE + "\0".repeat(kilobytes * 1024));
  return { output_type: "display_data", data: { "image/png": data, "text/plain": ["<Figure>"] }, metadata: {} };
}

export function run(source, hooks) {
  return window.runOnRuntime ? window.runOnRuntime(source) : runWords(source, hooks);
}

async function runWords(source, { progress, signal }) {
  const outputs = [];
  const words = {
    print: (text) => outputs.push({ output_type: "stream", name: "stdout", text: [`${text}\n`] }),
    image: (kilobytes) => outputs.push(imageOutput(kilobytes)),
    slow: () => slow(signal),
    progress,
  };
  try {
    await new AsyncFunction(...Object.keys(words), source)(...Object.values(words));
  } catch (error) {
    outputs.push({ output_type: "error", ename: error.name, evalue: error.message, traceback: [] });
  }
  return outputs;
}
