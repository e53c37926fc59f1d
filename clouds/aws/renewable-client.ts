/** The codes with which AWS rejects a request's credentials; new ones may be accepted. */
const SIGNED_IN_VAIN: ReadonlySet<string> = new Set([
  "AuthFailure",
  "ExpiredToken",
  "ExpiredTokenException",
  "InvalidClientTokenId",
  "RequestExpired",
]);

/** Minimum interval between renewals, so that a permanent rejection does not renew with every call. */
const RENEWAL_INTERVAL_MS = 60_000;

/** A client that can be closed once no call is in flight. */
export interface Closable {
  close(): void;
}

/** Calls through the current client. */
export interface RenewableClient<Client extends Closable> extends Closable {
  send<Answer>(call: (client: Client) => Promise<Answer>): Promise<Answer>;
}

/** A client, and the number of its calls in flight. */
interface HeldClient<Client> {
  readonly client: Client;
  calls: number;
  isLeft: boolean;
}

/**
 * Creates a client that is replaced if its credentials are rejected: the service may end a session early,
 * while client and credentials rely on the announced time. The rejected call is sent once more, which is safe
 * because it had no effect. `wallClock` is milliseconds since the epoch.
 */
export function createRenewableClient<Client extends Closable>(
  make: () => Client,
  wallClock: () => number,
): RenewableClient<Client> {
  let current: HeldClient<Client> = { client: make(), calls: 0, isLeft: false };
  let renewedMs = Number.NEGATIVE_INFINITY;

  function leave(kept: HeldClient<Client>): void {
    kept.isLeft = true;
    if (kept.calls === 0) kept.client.close();
  }

  /** Whether the current client differs from the rejected one. */
  function renew(refused: HeldClient<Client>): boolean {
    if (refused !== current) return true;
    const nowMs = wallClock();
    if (nowMs - renewedMs < RENEWAL_INTERVAL_MS) return false;
    renewedMs = nowMs;
    current = { client: make(), calls: 0, isLeft: false };
    leave(refused);
    return true;
  }

  async function through<Answer>(
    kept: HeldClient<Client>,
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
