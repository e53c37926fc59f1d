import type { ConfigurationCheck } from "#clouds/cloud.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";
import { type Sleep, sleepFor } from "#clouds/sleep.ts";

/** Dependencies of an HTTP cloud that tests replace. */
export interface HttpCloudOptions extends LoadCloudOptions {
  readonly sleep?: Sleep;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock?: () => number;
  readonly random?: () => number;
  /** Time for which a list proves that a machine exists. */
  readonly maxListAgeMs?: number;
}

/** The options with the real dependencies as defaults. */
export type HttpCloudDependencies = Required<Omit<HttpCloudOptions, keyof LoadCloudOptions>>;

/** Sets the defaults; lists are valid for ten seconds. */
export function buildDependencies(options: HttpCloudOptions): HttpCloudDependencies {
  const { sleep = sleepFor, now = () => performance.now(), maxListAgeMs = 10_000 } = options;
  const { wallClock = Date.now, random = Math.random } = options;
  return { sleep, now, wallClock, random, maxListAgeMs };
}

/** Formats the sender's name in the cloud's own logs. */
export function formatUserAgent(name: string): string {
  return `serverless-ccm (${name.replace(/[^\w.-]/g, "-")})`;
}

/**
 * Converts the outcome of a configuration check: a fault that names a key belongs to the configuration, and
 * any other proves nothing about it.
 */
export function toConfigurationCheck(outcome: Outcome<unknown>): ConfigurationCheck {
  if (outcome.kind === "ok") return { faults: [] };
  const { key, message } = outcome.fault;
  return key === undefined ? { faults: [], unchecked: message } : { faults: [{ key, message }] };
}
