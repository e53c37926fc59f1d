import type { ConfigurationFault } from "#core/config-errors.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The flags of a controller, each of which sets a value in a cluster's entry. */
export interface ControllerFlags {
  /** The key of the entry that they set. */
  readonly key: string;
  readonly flags: readonly ControllerFlag[];
  /**
   * Returns the entry's value as a clusters file with the same settings has it; undefined if no flag is given,
   * because a cluster's hash covers what is written. `typed` has the values by name in camel case. Each fault
   * goes to `context.faults`.
   */
  read(typed: TypedFlags, context: FlagContext): Readonly<Record<string, unknown>> | undefined;
}

/** One flag. */
export interface ControllerFlag {
  /** With the placeholder of its value, such as `--cluster-cidr <list>`. */
  readonly option: string;
  readonly help: string;
  /** What it sets in an entry, such as `routes.clusterCIDRs`. */
  readonly sets: string;
}

/** Values as typed; a switch without a value is `true`. */
export type TypedFlags = Readonly<Record<string, unknown>>;

export interface FlagContext {
  readonly faults: ConfigurationFault[];
  /** The canonical names of the cluster's controllers. */
  readonly controllers: readonly string[];
}

/** Returns a flag's text; undefined if it is not given. */
export function getText(typed: TypedFlags, name: string): string | undefined {
  const value = typed[name];
  return typeof value === "string" ? value : undefined;
}

/** The members that are not undefined. */
export type DefinedMembers<Members> = { [Key in keyof Members]?: Exclude<Members[Key], undefined> };

/** Returns the defined members; undefined without any. */
export function dropUndefined<Members extends object>(members: Members): DefinedMembers<Members> | undefined {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as DefinedMembers<Members>);
}

/** Reads a switch in any spelling that Go accepts; undefined if it is not given or faulty. */
export function readSwitch(name: string, value: unknown, faults: ConfigurationFault[]): boolean | undefined {
  if (value === undefined || value === true) return value;
  const text = String(value);
  const parsed = parseGoBoolean(text);
  if (parsed === undefined)
    faults.push({
      name,
      message: `"${sanitizeText(text)}" is neither; write true or false, as in ${name}=false`,
    });
  return parsed;
}

/** The allowed range of a duration in seconds, the range in words, and examples of the notation. */
export interface DurationRange {
  readonly from: number;
  readonly to: number;
  readonly words: string;
  readonly examples: string;
}

/** Reads a flag's duration in Go's notation to seconds; a malformed or out-of-range one goes to `faults`. */
export function readDuration(
  name: string,
  text: string | undefined,
  { from, to, words, examples }: DurationRange,
  faults: ConfigurationFault[],
): number | undefined {
  if (text === undefined) return undefined;
  const seconds = parseDurationSeconds(text);
  if (seconds !== undefined && seconds >= from && seconds <= to) return seconds;
  faults.push({
    name,
    message: `"${sanitizeText(text)}" is not a duration of ${words}; write it as ${examples}`,
  });
  return undefined;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
};

/**
 * Parses a duration in Go's notation (`5m0s`, `1h30m`, `250ms`, `1.5h`) to seconds; undefined if it is
 * malformed or negative.
 */
export function parseDurationSeconds(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let seconds = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/gy)) {
    seconds += Number(amount) * Number(UNIT_SECONDS[String(unit)]);
  }
  return Number.isFinite(seconds) ? seconds : undefined;
}

/**
 * Parses a text as a Go boolean, as stock controllers parse annotations and labels; undefined if it is
 * invalid.
 */
export function parseGoBoolean(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

const TRUE: ReadonlySet<string> = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const FALSE: ReadonlySet<string> = new Set(["0", "f", "F", "FALSE", "false", "False"]);
