import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createEndingSignal } from "#cli/ending-signal.ts";
import { FUNCTION_PREFIX } from "#cli/sandbox/functions.ts";
import { startSandbox } from "#cli/sandbox/sandbox.ts";
import { getErrorMessage } from "#core/error-message.ts";

// Starts two clusters, a cloud and a function platform to try a relay with (docs/tutorial/first-cluster.md);
// SIGINT or SIGTERM ends it.

const PROGRAM = fileURLToPath(new URL("../main.ts", import.meta.url));

try {
  const { values } = parseArgs({ options: { folder: { type: "string", default: "sandbox" } } });
  const ending = createEndingSignal(undefined);
  const ended = new Promise<void>((resolve) => ending.signal.addEventListener("abort", () => resolve()));
  const sandbox = await startSandbox(values.folder, PROGRAM);
  const folder = relative(process.cwd(), sandbox.folder) || ".";
  const lines = [
    ...sandbox.tenants.map(({ name, plane }) => `${name}: an API server at ${plane.server}`),
    `the cloud: EC2 at ${sandbox.ec2.url}, with three machines for each cluster`,
    `the functions: ${FUNCTION_PREFIX}node and others, behind Lambda's Invoke API at ${sandbox.functions.url}`,
    `in another terminal: . ${folder}/environment`,
    "Everything runs until Ctrl-C. The log of the functions follows:",
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  await ended;
  await sandbox.close();
  // Warm functions keep connections open, and here no platform freezes them.
  process.exit();
} catch (error) {
  process.stderr.write(`sandbox: ${getErrorMessage(error)}\n`);
  process.exitCode = 1;
}
