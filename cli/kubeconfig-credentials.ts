import type { TlsCredentials } from "#kube/client/connection.ts";

/** The credentials of a kubeconfig at one time. */
export interface Credentials {
  readonly tls: TlsCredentials;
  /** The header of each request. */
  readonly header: string | undefined;
}

/** Provides credentials, and reads them only as often as necessary. */
export interface RememberedCredentials {
  /** Returns the current credentials. */
  forConnection(options: { readonly fresh?: boolean }): Promise<Credentials>;
  /** Returns credentials that are at most ten seconds old. */
  forRequest(options: { readonly fresh?: boolean }): Promise<Credentials>;
}

/** The library reads files on every call, which a burst of patches would do by the thousand. */
const REMEMBER_MS = 10_000;
/**
 * A refused request needs a new header and a new connection, possibly for two clients: within this time they
 * share one read.
 */
const FRESH_MS = 1_000;

/**
 * Caches the result of `read`. `fresh` means that the server has refused the last one, and always reads
 * again, plugins included.
 */
export function rememberCredentials(
  read: (fresh: boolean) => Promise<Credentials>,
  now: () => number = () => performance.now(),
): RememberedCredentials {
  let answer: Promise<Credentials> | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let freshAt = Number.NEGATIVE_INFINITY;
  let reading = false;

  function ask(fresh: boolean): Promise<Credentials> {
    askedAt = now();
    if (fresh) freshAt = askedAt;
    reading = true;
    const own = read(fresh);
    answer = own;
    own.then(
      () => {
        if (answer === own) reading = false;
      },
      () => {
        if (answer !== own) return;
        reading = false;
        answer = undefined;
      },
    );
    return own;
  }

  const last = (fresh: boolean, maxAgeMs: number): Promise<Credentials> => {
    if (answer !== undefined && now() - freshAt < FRESH_MS) return answer;
    if (fresh) return ask(true);
    if (answer !== undefined && (reading || now() - askedAt < maxAgeMs)) return answer;
    return ask(false);
  };

  return {
    forConnection: ({ fresh = false }) => last(fresh, 0),
    forRequest: ({ fresh = false }) => last(fresh, REMEMBER_MS),
  };
}
