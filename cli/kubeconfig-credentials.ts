import type { TlsCredentials } from "#kube/client/connection.ts";

/** What a kubeconfig signs in with, at one time. */
export interface Credentials {
  readonly tls: TlsCredentials;
  /** Of each request. */
  readonly header: string | undefined;
}

/** Hands out credentials, and reads them no more often than there is reason to. */
export interface RememberedCredentials {
  /** As they are now. */
  forConnection(options: { readonly fresh?: boolean }): Promise<Credentials>;
  /** At most ten seconds old. */
  forRequest(options: { readonly fresh?: boolean }): Promise<Credentials>;
}

/** The library reads files on every call, which a burst of patches would do by the thousand. */
const REMEMBER_MS = 10_000;
/** A refusal asks for header and connection, and maybe two clients ask: they mean the same. */
const FRESH_MS = 1_000;

/** Remembers what `read` answers; `fresh` (the server has refused the last) reads anew in any case, plugins included. */
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
