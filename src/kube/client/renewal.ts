import type { Authorization } from "#kube/client/transport.ts";

/** Rereads the credentials after the server rejected them (401): once for all requests rejected together. */
export interface Renewal {
  /** The number of the current credentials; note it before a request signs in. */
  current(): number;
  /**
   * Returns the credentials that replace the rejected ones of that number, with a header if there is one.
   * Undefined if they were reread only a moment ago: the rejection is then final.
   */
  after(refused: number): Promise<string | undefined> | undefined;
}

/** The options of rereading credentials. */
export interface RenewalOptions {
  readonly authorization: Authorization | undefined;
  /**
   * Called on renewal: existing connections use the rejected credentials, so the next requests need a new
   * one.
   */
  readonly onRenew: () => void;
  /** Aborted when no request waits any more. */
  readonly closing: AbortSignal;
  readonly now: () => number;
}

/**
 * Interval of new connections and credential reads against a server that always rejects, for any number of
 * requests.
 */
const RENEW_INTERVAL_MS = 5_000;

/** Creates the renewal of a transport's credentials. */
export function createRenewal(options: RenewalOptions): Renewal {
  const { authorization, closing, now } = options;
  let current = 0;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let header: Promise<string | undefined> | undefined;

  return {
    current: () => current,
    after(refused) {
      // Another request with the same credentials was rejected and has already renewed them.
      if (refused !== current) return header;
      if (now() - renewedAt < RENEW_INTERVAL_MS) return undefined;
      current += 1;
      renewedAt = now();
      header = Promise.resolve(authorization?.(closing, { fresh: true }));
      options.onRenew();
      return header;
    },
  };
}
