import type { LoadCloudOptions } from "#clouds/kind.ts";
import { type Sleep, sleepFor } from "#clouds/sleep.ts";

/** The world of a cloud behind an HTTP API, where it is not the real one. */
export interface HttpCloudOptions extends LoadCloudOptions {
  readonly sleep?: Sleep;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock?: () => number;
  readonly random?: () => number;
  /** For how long a list is believed of what it shows. */
  readonly maxListAgeMs?: number;
}

/** The same with the real one where nothing is said. */
export type HttpCloudWorld = Required<Omit<HttpCloudOptions, keyof LoadCloudOptions>>;

/** Lists are believed for ten seconds. */
export function worldOf(options: HttpCloudOptions): HttpCloudWorld {
  const { sleep = sleepFor, now = () => performance.now(), maxListAgeMs = 10_000 } = options;
  const { wallClock = Date.now, random = Math.random } = options;
  return { sleep, now, wallClock, random, maxListAgeMs };
}

/** By whom requests are sent, as the cloud's own logs show it. */
export function userAgentOf(name: string): string {
  return `serverless-ccm (${name.replace(/[^\w.-]/g, "-")})`;
}
