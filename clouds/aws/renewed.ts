/** The codes with which AWS refuses what a request was signed with; new credentials may be taken. */
const SIGNED_IN_VAIN: ReadonlySet<string> = new Set([
  "AuthFailure",
  "ExpiredToken",
  "ExpiredTokenException",
  "InvalidClientTokenId",
  "RequestExpired",
]);

/** Whoever is refused for good asks for new credentials so often, and not with every call. */
const RENEWAL_INTERVAL_MS = 60_000;

/** What can be closed, once no call is on its way through it. */
export interface Closable {
  close(): void;
}

/** Calls through whichever client there is now. */
export interface Renewed<Client extends Closable> extends Closable {
  send<Answer>(call: (client: Client) => Promise<Answer>): Promise<Answer>;
}

/** One client, and how many of its calls are on their way. */
interface Kept<Client> {
  readonly client: Client;
  calls: number;
  isLeft: boolean;
}

/**
 * A client that is made anew where its credentials are refused: the service may end a session before the time that it told, while
 * client and credentials go by that time. The call that was refused goes once more: it was refused before anything came of it.
 * `wallClock` is milliseconds since the epoch.
 */
export function createRenewed<Client extends Closable>(
  make: () => Client,
  wallClock: () => number,
): Renewed<Client> {
  let current: Kept<Client> = { client: make(), calls: 0, isLeft: false };
  let renewedMs = Number.NEGATIVE_INFINITY;

  function leave(kept: Kept<Client>): void {
    kept.isLeft = true;
    if (kept.calls === 0) kept.client.close();
  }

  /** Whether there is another client than the one that was refused, by now. */
  function renew(refused: Kept<Client>): boolean {
    if (refused !== current) return true;
    const nowMs = wallClock();
    if (nowMs - renewedMs < RENEWAL_INTERVAL_MS) return false;
    renewedMs = nowMs;
    current = { client: make(), calls: 0, isLeft: false };
    leave(refused);
    return true;
  }

  async function through<Answer>(
    kept: Kept<Client>,
    call: (client: Client) => Promise<Answer>,
  ): Promise<Answer> {
    kept.calls += 1;
    try {
      return await call(kept.client);
    } finally {
      kept.calls -= 1;
      if (kept.isLeft) leave(kept);
    }
  }

  return {
    async send(call) {
      const kept = current;
      try {
        return await through(kept, call);
      } catch (error) {
        if (!(error instanceof Error) || !SIGNED_IN_VAIN.has(error.name) || !renew(kept)) throw error;
        return through(current, call);
      }
    },
    close: () => current.client.close(),
  };
}
