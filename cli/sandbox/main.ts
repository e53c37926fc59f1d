import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { endingSignal } from "#cli/ending-signal.ts";
import { FUNCTION_PREFIX } from "#cli/sandbox/functions.ts";
import { startSandbox } from "#cli/sandbox/sandbox.ts";
import { messageOf } from "#core/message-of.ts";

// Two clusters, a cloud and a function platform to try a relay on (docs/tutorial/first-cluster.md); SIGINT or SIGTERM ends it.

const PROGRAM = fileURLToPath(new URL("../main.ts", import.meta.url));

try {
  const { values } = parseArgs({ options: { folder: { type: "string", default: "sandbox" } } });
  const ending = endingSignal(undefined);
  const ended = new Promise<void>((resolve) => ending.signal.addEventListener("abort", () => resolve()));
  const sandbox = await startSandbox(values.folder, PROGRAM);
  const folder = relative(process.cwd(), sandbox.folder) || ".";
  const lines = [
    ...sandbox.tenants.map(({ name, plane }) => `${name}: an API server at ${plane.server}`),
    `the cloud: EC2 at ${sandbox.ec2.url}, with three machines for each cluster`,
    `the functions: ${FUNCTION_PREFIX}node and others, behind Lambda's Invoke API at ${sandbox.functions.url}`,
    `in another terminal: . ${folder}/environment`,
    "Everything goes on until Ctrl-C. What follows is the log of the functions:",
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  await ended;
  await sandbox.close();
  // Warm functions keep connections, as on their platform, and nobody freezes these here.
  process.exit();
} catch (error) {
  process.stderr.write(`sandbox: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
