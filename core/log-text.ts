import { jsonLine } from "#core/json-line.ts";
import { shown } from "#core/shown-text.ts";

/** What a line of a log says, beside its time. */
export type LogFacts = Readonly<Record<string, unknown>>;

/** Characters of a line, of a message in it, which we put together, and of any other text. */
export const MAX_LINE_CHARACTERS = 8_192;
const MAX_MESSAGE_CHARACTERS = 1_024;
const MAX_TEXT_CHARACTERS = 256;

/** Of the whole line, of what it holds, and of either where a line would be too long otherwise. */
const MAX_FACTS = 30;
const MAX_ITEMS = 100;
const MAX_DEPTH = 8;
const MAX_CHARACTERS_IF_TOO_LONG = 120;

/** A line of JSON that is fit for logs and terminals, whatever its facts hold. */
export function logText(facts: LogFacts, time: Date): string {
  return jsonLine(fitForLog({ time: time.toISOString(), ...facts }));
}

/**
 * The facts as they are logged: texts cut and escaped, deep down; milliseconds whole, other fractions with three digits; of long
 * lists the beginning. What was made fit stays as it is.
 */
export function fitForLog(facts: LogFacts): LogFacts {
  const fit = Object.fromEntries(
    Object.entries(facts)
      .slice(0, MAX_FACTS)
      .map(([key, value]) => [shown(key), fitValue(key, value, 1)]),
  );
  return jsonLine(fit).length <= MAX_LINE_CHARACTERS ? fit : shortened(fit);
}

function fitValue(key: string, value: unknown, depth: number): unknown {
  switch (typeof value) {
    case "string":
      return shown(value, key === "message" ? MAX_MESSAGE_CHARACTERS : MAX_TEXT_CHARACTERS);
    case "number":
      return key.endsWith("Ms") ? Math.round(value) : Math.round(value * 1_000) / 1_000;
    case "boolean":
    case "undefined":
      return value;
    case "object":
      if (value === null) return null;
      if (depth > MAX_DEPTH) return "…";
      return Array.isArray(value) ? fitList(value, depth) : fitRecord(value, depth);
    default:
      return shown(String(value));
  }
}

function fitList(list: readonly unknown[], depth: number): readonly unknown[] {
  const more = list.length > MAX_ITEMS ? list.length - MAX_ITEMS + 1 : 0;
  const fit = list.slice(0, list.length - more).map((each) => fitValue("", each, depth + 1));
  return more > 0 ? [...fit, `… and ${more} more`] : fit;
}

function fitRecord(record: object, depth: number): object {
  const entries = Object.entries(record);
  const more = entries.length > MAX_ITEMS ? entries.length - MAX_ITEMS + 1 : 0;
  const fit = entries
    .slice(0, entries.length - more)
    .map(([key, value]) => [shown(key), fitValue(key, value, depth + 1)] as const);
  return Object.fromEntries(more > 0 ? [...fit, ["…", `and ${more} more`]] : fit);
}

/** The longest facts become short texts, one after another, until the line is short enough. */
function shortened(fit: LogFacts): LogFacts {
  const short: Record<string, unknown> = { ...fit };
  const sizes = Object.entries(fit)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({ key, text: typeof value === "string" ? value : jsonLine(value) }))
    .sort((one, other) => other.text.length - one.text.length);
  for (const { key, text } of sizes) {
    short[key] = shown(text, MAX_CHARACTERS_IF_TOO_LONG);
    if (jsonLine(short).length <= MAX_LINE_CHARACTERS) break;
  }
  return short;
}
