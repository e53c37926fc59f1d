import { appendFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { type LambdaHandler, startLambda } from "#emulators/lambda/server.ts";

// Serves the built functions of one version behind Lambda's Invoke API, in a separate process. Usage:
// function-host.ts FOLDER PREFIX PORT FILE; each invocation becomes a line of FILE.

const [folder = "", prefix = "", port = "0", file = ""] = process.argv.slice(2);

const functions: Record<string, LambdaHandler> = {};
for (const name of ["node", "node-lifecycle"]) {
  const { handler } = (await import(pathToFileURL(`${folder}/${name}/index.mjs`).href)) as {
    readonly handler: LambdaHandler;
  };
  functions[prefix + name] = async (event, context) => {
    const report = await handler(event, context).catch((error: unknown) => {
      appendFileSync(file, `${JSON.stringify({ name, event, error: String(error) })}\n`);
      throw error;
    });
    appendFileSync(file, `${JSON.stringify({ name, event, report })}\n`);
    return report;
  };
}
const { url } = await startLambda({ functions, timeoutMs: 30_000, concurrency: 1_000, port: Number(port) });
process.stdout.write(`listening on ${url}\n`);
