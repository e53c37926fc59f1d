import type { Ec2 } from "#clouds/aws/ec2.ts";

/** The codes with which EC2 refuses what a request was signed with; new credentials may be taken. */
const SIGNED_IN_VAIN: ReadonlySet<string> = new Set([
  "AuthFailure",
  "ExpiredToken",
  "ExpiredTokenException",
  "InvalidClientTokenId",
  "RequestExpired",
]);

/** Whoever is refused for good asks for new credentials so often, and not with every call. */
const RENEWAL_INTERVAL_MS = 60_000;

/** One client, and how many of its calls are on their way. */
interface Client {
  readonly ec2: Ec2;
  calls: number;
  isLeft: boolean;
}

/**
 * EC2 by a client that is made anew where its credentials are refused: the service may end a session before the time that it told,
 * while client and credentials go by that time. The call that was refused goes once more. `wallClock` is milliseconds since the epoch.
 */
export function renewedEc2(make: () => Ec2, wallClock: () => number): Ec2 {
  let current: Client = { ec2: make(), calls: 0, isLeft: false };
  let renewedMs = Number.NEGATIVE_INFINITY;

  function leave(client: Client): void {
    client.isLeft = true;
    if (client.calls === 0) client.ec2.close();
  }

  /** Whether there is another client than the one that was refused, by now. */
  function renew(refused: Client): boolean {
    if (refused !== current) return true;
    const nowMs = wallClock();
    if (nowMs - renewedMs < RENEWAL_INTERVAL_MS) return false;
    renewedMs = nowMs;
    current = { ec2: make(), calls: 0, isLeft: false };
    leave(refused);
    return true;
  }

  async function through<Answer>(client: Client, call: (ec2: Ec2) => Promise<Answer>): Promise<Answer> {
    client.calls += 1;
    try {
      return await call(client.ec2);
    } finally {
      client.calls -= 1;
      if (client.isLeft) leave(client);
    }
  }

  async function send<Answer>(call: (ec2: Ec2) => Promise<Answer>): Promise<Answer> {
    const client = current;
    try {
      return await through(client, call);
    } catch (error) {
      if (!(error instanceof Error) || !SIGNED_IN_VAIN.has(error.name) || !renew(client)) throw error;
      return through(current, call);
    }
  }

  return {
    describeInstances: (request, signal) => send((ec2) => ec2.describeInstances(request, signal)),
    describeNetworkInterfaces: (request, signal) =>
      send((ec2) => ec2.describeNetworkInterfaces(request, signal)),
    describeAvailabilityZones: (request, signal) =>
      send((ec2) => ec2.describeAvailabilityZones(request, signal)),
    describeInstanceTopology: (request, signal) =>
      send((ec2) => ec2.describeInstanceTopology(request, signal)),
    close: () => current.ec2.close(),
  };
}
