import { startLambda } from "#emulators/lambda/server.ts";

// Runs the packaged function behind Lambda's Invoke API, in its own process: `node lambda-platform.ts PORT
// [CONCURRENCY]`. Lambda would have one environment for each concurrent invocation; this has one warm
// environment for all.

const FUNCTION = "../../dist/node/index.mjs";
const TIMEOUT_MS = 30_000;
/** The default concurrency of an account. */
const CONCURRENCY = 1_000;

const { handler } = await import(FUNCTION);
const server = await startLambda({
  functions: { "bench-node": handler },
  timeoutMs: TIMEOUT_MS,
  concurrency: Number(process.argv[3] ?? CONCURRENCY),
  port: Number(process.argv[2]),
});
process.stdout.write(`listening on ${server.url}\n`);
