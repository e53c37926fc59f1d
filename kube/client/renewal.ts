import type { Authorization } from "#kube/client/transport.ts";

/** Reads the sign-in anew once the server has refused it (401): once for all requests that were refused together. */
export interface Renewal {
  /** The number of the sign-in in use; to be noted before a request signs in. */
  current(): number;
  /**
   * What to sign in with now that the sign-in of that number was refused, and a header where there is one. Undefined where it was
   * read anew only a moment ago: then the refusal stands.
   */
  after(refused: number): Promise<string | undefined> | undefined;
}

/** How a sign-in is read anew. */
export interface RenewalOptions {
  readonly authorization: Authorization | undefined;
  /** The connections made so far are signed in with what was refused: the next requests need another. */
  readonly onRenew: () => void;
  /** Aborted when nobody waits any more. */
  readonly closing: AbortSignal;
  readonly now: () => number;
}

/** A server that refuses for ever costs a new connection and a reading of the credentials this often, however many requests there are. */
const RENEW_INTERVAL_MS = 5_000;

/** Makes the renewal of one transport's sign-in. */
export function createRenewal(options: RenewalOptions): Renewal {
  const { authorization, closing, now } = options;
  let current = 0;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let header: Promise<string | undefined> | undefined;

  return {
    current: () => current,
    after(refused) {
      // Somebody else was refused with the same, and has seen to it.
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
