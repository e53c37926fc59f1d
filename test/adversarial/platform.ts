import { startLambda } from "#emulators/lambda/server.ts";
import { handler } from "../../functions/node.ts";

// Runs the functions behind Lambda's Invoke API, from the sources, in their own process: `node platform.ts`.
// The clusters are those of CLUSTERS_FILE. It prints its address as a line of standard output.

const server = await startLambda({
  functions: { "hostile-node": handler as Parameters<typeof startLambda>[0]["functions"][string] },
  timeoutMs: 30_000,
  concurrency: 20,
});
process.stdout.write(`listening on ${server.url}\n`);
