import { readdir } from "node:fs/promises";
import { startLambda } from "#emulators/lambda/server.ts";

// Runs the functions from their sources behind Lambda's Invoke API in a separate process: `node platform.ts
// PORT`.

const FUNCTIONS = new URL("../../functions/", import.meta.url);

const files = (await readdir(FUNCTIONS)).filter((file) => file.endsWith(".ts"));
const named = files.map(async (file) => {
  const { handler } = await import(new URL(file, FUNCTIONS).href);
  return [`ccm-${file.replace(/\.ts$/, "")}`, handler] as const;
});
const server = await startLambda({
  functions: Object.fromEntries(await Promise.all(named)),
  timeoutMs: 30_000,
  concurrency: 100,
  port: Number(process.argv[2]),
});
process.stdout.write(`listening on ${server.url}\n`);
