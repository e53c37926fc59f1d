import { ConfigurationError } from "#cli/configuration-error.ts";
import { decideEvent } from "#core/decide-event.ts";
import { MAX_EVENT_BYTES } from "#core/event.ts";
import { jsonLine } from "#core/json-line.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { CONTROLLER_NAMES, loadControllers } from "#functions/parts/controllers.ts";

/** Twice an event's own limit: instances may come with it. */
const MAX_INPUT_BYTES = 2 * MAX_EVENT_BYTES;

/** Reads one document of JSON from `input` and writes a line of JSON for each object: what would be done about it. */
export async function decide(input: AsyncIterable<Uint8Array>, output: NodeJS.WritableStream): Promise<void> {
  const controllers = await loadControllers(CONTROLLER_NAMES);
  // An event says nothing of its cluster's cloud: what holds where nothing is configured holds here, too.
  await Promise.all(controllers.map((controller) => controller.load?.(DEFAULT_SETTINGS.cloud.provider)));
  const decided = decideEvent(parseJson(await readAll(input)), new Date(), (name) =>
    controllers.find((controller) => controller.name === name),
  );
  if (decided.kind === "rejected") {
    const faults = decided.faults.map(({ path, message }) => ({ name: path || "document", message }));
    throw new ConfigurationError(faults, "event");
  }
  const lines = decided.kind === "shared" ? [decided.plan] : decided.decisions;
  for (const decision of lines) output.write(`${jsonLine(decision)}\n`);
}

async function readAll(input: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    if (bytes > MAX_INPUT_BYTES) throw fault(`is larger than ${MAX_INPUT_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw fault("is not JSON; an event, or an event with instances, is expected (docs/examples/event.json)");
  }
}

function fault(message: string): ConfigurationError {
  return new ConfigurationError([{ name: "standard input", message }], "event");
}
