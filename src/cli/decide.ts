import { ConfigurationError } from "#cli/configuration-error.ts";
import { CloudConfig } from "#clouds/providers.ts";
import { listFaults } from "#core/config-errors.ts";
import { type DecideDocument, type DecidedEvent, decideDocument, parseDocument } from "#core/decide-event.ts";
import { MAX_EVENT_BYTES } from "#core/event.ts";
import { formatJsonLine } from "#core/log-text.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { type CloudSettings, DEFAULT_SETTINGS } from "#core/settings.ts";
import { loadControllers } from "#functions/parts/controllers.ts";

/** Twice an event's own limit, because answers may come with it. */
const MAX_INPUT_BYTES = 2 * MAX_EVENT_BYTES;

/**
 * Reads one JSON document from `input` and writes a line of JSON for each object: what would be done about
 * it.
 */
export async function decide(input: AsyncIterable<Uint8Array>, output: NodeJS.WritableStream): Promise<void> {
  const document = parseDocument(parseJson(await readAll(input)));
  const decided = document.kind === "rejected" ? document : await decideAs(document);
  if (decided.kind === "rejected") {
    const faults = decided.faults.map(({ path, message }) => ({ name: path || "document", message }));
    throw new ConfigurationError(faults, "event");
  }
  const lines = decided.kind === "shared" ? [decided.plan] : decided.decisions;
  for (const decision of lines) output.write(`${formatJsonLine(decision)}\n`);
}

/** Decides as the functions would, with the cloud's configuration parsed by its provider. */
async function decideAs(document: DecideDocument): Promise<DecidedEvent> {
  const parsed = parseCloud(document.settings.cloud);
  if (parsed.kind === "rejected") return parsed;
  const { cloud } = parsed;
  const [controller] = await loadControllers([document.event.controller]);
  await controller?.load?.(cloud.provider);
  const settings = { ...document.settings, cloud };
  try {
    return decideDocument({ ...document, settings }, new Date(), () => controller);
  } catch (error) {
    // The format of an observation belongs to the cloud, so a wrong one cannot be described better.
    if (document.answers === undefined) throw error;
    const message = `are not such as the cloud "${cloud.provider}" gives: ${getErrorMessage(error)}`;
    return { kind: "rejected", faults: [{ path: "answers", message }] };
  }
}

type Rejected = Extract<DecidedEvent, { readonly kind: "rejected" }>;

function parseCloud(
  given: CloudSettings,
): { readonly kind: "cloud"; readonly cloud: CloudSettings } | Rejected {
  // The default settings name no file of instances, because no cloud is asked.
  if (given === DEFAULT_SETTINGS.cloud) return { kind: "cloud", cloud: given };
  const parsed = CloudConfig.safeParse(given);
  if (parsed.success) return { kind: "cloud", cloud: { ...parsed.data } };
  const faults = listFaults(parsed.error);
  return {
    kind: "rejected",
    faults: faults.map(({ path, message }) => ({ path: `settings.cloud.${path}`, message })),
  };
}

async function readAll(input: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    if (bytes > MAX_INPUT_BYTES) throw createFault(`is larger than ${MAX_INPUT_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw createFault(
      "is not JSON; an event, or an event with the cloud's answers, is expected (docs/examples/event.json)",
    );
  }
}

function createFault(message: string): ConfigurationError {
  return new ConfigurationError([{ name: "standard input", message }], "event");
}
