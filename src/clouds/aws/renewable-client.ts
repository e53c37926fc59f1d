/** The codes with which AWS rejects a request's credentials; new ones may be accepted. */
const REJECTED_CREDENTIALS: ReadonlySet<string> = new Set([
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
  isRetired: boolean;
}

/**
 * Creates a client that is replaced if its credentials are rejected: the service may end a session early,
 * while client and credentials rely on the announced time. The rejected call is sent once more, which is safe
 * because it had no effect. `wallClock` is milliseconds since the epoch.
 */
export function createRenewableClient<Client extends Closable>(
  createClient: () => Client,
  wallClock: () => number,
): RenewableClient<Client> {
  let current: HeldClient<Client> = { client: createClient(), calls: 0, isRetired: false };
  let renewedMs = Number.NEGATIVE_INFINITY;

  function retire(held: HeldClient<Client>): void {
    held.isRetired = true;
    if (held.calls === 0) held.client.close();
  }

  /** Whether the current client differs from the rejected one. */
  function renew(rejected: HeldClient<Client>): boolean {
    if (rejected !== current) return true;
    const nowMs = wallClock();
    if (nowMs - renewedMs < RENEWAL_INTERVAL_MS) return false;
    renewedMs = nowMs;
    current = { client: createClient(), calls: 0, isRetired: false };
    retire(rejected);
    return true;
  }

  async function callThrough<Answer>(
    held: HeldClient<Client>,
    call: (client: Client) => Promise<Answer>,
  ): Promise<Answer> {
    held.calls += 1;
    try {
      return await call(held.client);
    } finally {
      held.calls -= 1;
      if (held.isRetired) retire(held);
    }
  }

  return {
    async send(call) {
      const held = current;
      try {
        return await callThrough(held, call);
      } catch (error) {
        if (!(error instanceof Error) || !REJECTED_CREDENTIALS.has(error.name) || !renew(held)) throw error;
        return callThrough(current, call);
      }
    },
    close: () => current.client.close(),
  };
}
