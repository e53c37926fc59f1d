import { sanitizeText } from "#core/sanitize-text.ts";

/** The content of a log line, without its time. */
export type LogFacts = Readonly<Record<string, unknown>>;

/** The maximum characters of a line, of a message of ours in it, and of any other text. */
export const MAX_LINE_CHARACTERS = 8_192;

const MAX_MESSAGE_CHARACTERS = 1_024;

const MAX_TEXT_CHARACTERS = 256;

/**
 * The maximum number of facts in a line, of items in each, and of either in a line that would otherwise be
 * too long.
 */
const MAX_FACTS = 30;

const MAX_ITEMS = 100;

const MAX_DEPTH = 8;

const MAX_CHARACTERS_IF_TOO_LONG = 120;

/** Returns a line of JSON that is safe for logs and terminals, whatever its facts contain. */
export function logText(facts: LogFacts, time: Date): string {
  return formatJsonLine(sanitizeFacts({ time: time.toISOString(), ...facts }));
}

/**
 * Returns the facts as they are logged. Texts at any depth are truncated and escaped, milliseconds rounded to
 * integers, other fractions to three digits, and long lists cut. Sanitizing twice changes nothing.
 */
export function sanitizeFacts(facts: LogFacts): LogFacts {
  const fit = Object.fromEntries(
    Object.entries(facts)
      .slice(0, MAX_FACTS)
      .map(([key, value]) => [sanitizeText(key), sanitizeValue(key, value, 1)]),
  );
  return formatJsonLine(fit).length <= MAX_LINE_CHARACTERS ? fit : shortenFacts(fit);
}

function sanitizeValue(key: string, value: unknown, depth: number): unknown {
  switch (typeof value) {
    case "string":
      return sanitizeText(value, key === "message" ? MAX_MESSAGE_CHARACTERS : MAX_TEXT_CHARACTERS);
    case "number":
      return key.endsWith("Ms") ? Math.round(value) : Math.round(value * 1_000) / 1_000;
    case "boolean":
    case "undefined":
      return value;
    case "object":
      if (value === null) return null;
      if (depth > MAX_DEPTH) return "…";
      return Array.isArray(value) ? sanitizeList(value, depth) : sanitizeRecord(value, depth);
    default:
      return sanitizeText(String(value));
  }
}

function sanitizeList(list: readonly unknown[], depth: number): readonly unknown[] {
  const more = list.length > MAX_ITEMS ? list.length - MAX_ITEMS + 1 : 0;
  const fit = list.slice(0, list.length - more).map((each) => sanitizeValue("", each, depth + 1));
  return more > 0 ? [...fit, `… and ${more} more`] : fit;
}

function sanitizeRecord(record: object, depth: number): object {
  const entries = Object.entries(record);
  const more = entries.length > MAX_ITEMS ? entries.length - MAX_ITEMS + 1 : 0;
  const fit = entries
    .slice(0, entries.length - more)
    .map(([key, value]) => [sanitizeText(key), sanitizeValue(key, value, depth + 1)] as const);
  return Object.fromEntries(more > 0 ? [...fit, ["…", `and ${more} more`]] : fit);
}

/** Truncates the longest facts to short texts, one by one, until the line fits. */
function shortenFacts(fit: LogFacts): LogFacts {
  const short: Record<string, unknown> = { ...fit };
  const sizes = Object.entries(fit)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({ key, text: typeof value === "string" ? value : formatJsonLine(value) }))
    .sort((one, other) => other.text.length - one.text.length);
  for (const { key, text } of sizes) {
    short[key] = sanitizeText(text, MAX_CHARACTERS_IF_TOO_LONG);
    if (formatJsonLine(short).length <= MAX_LINE_CHARACTERS) break;
  }
  return short;
}

/** JSON does not escape these; it does escape lone surrogates and C0 controls. */
const ACTS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Returns a value as one line of JSON without characters that act on a terminal. It parses to an equal value.
 */
export function formatJsonLine(value: unknown): string {
  return JSON.stringify(value).replace(ACTS, escapeCharacter);
}

function escapeCharacter(character: string): string {
  let text = "";
  for (let index = 0; index < character.length; index += 1)
    text += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  return text;
}
