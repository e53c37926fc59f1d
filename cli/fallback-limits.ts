import { isAllowed, neededBy, wordsOf } from "#cli/doctor/permissions.ts";
import { someOf } from "#cli/some-of.ts";
import type { Cluster } from "#config/cluster.ts";
import { type SignInRole, signInRoleOf } from "#config/sign-in.ts";
import type { FunctionIdentity } from "#core/identities.ts";
import { messageOf } from "#core/message-of.ts";
import { findWatch } from "#core/watches.ts";
import { createSlots, FOR_EVER } from "#kube/client/slots.ts";
import type { Transport } from "#kube/client/transport.ts";

/** Clusters that are asked at a time, and for how long one is. */
const slots = createSlots(() => 4, 100_000);
const TIMEOUT_MS = 30_000;

/** What of a cluster's work a process could not do in the functions' stead, in words; undefined where it could do all. Never rejects. */
export async function fallbackLimits(
  cluster: Cluster,
  connect: (cluster: Cluster, role: SignInRole) => Promise<Transport>,
  given?: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<string | undefined> {
  // There the relay writes in any case.
  if (cluster.writes === "relay") return undefined;
  await slots.enter(FOR_EVER);
  // From here on: what others take is not the cluster's time.
  const signal = given ?? AbortSignal.timeout(timeoutMs);
  try {
    const limits: string[] = [];
    for (const role of rolesOf(cluster)) limits.push(...(await limitsOf(cluster, role, connect, signal)));
    return limits.length === 0 ? undefined : limits.join("; ");
  } finally {
    slots.leave();
  }
}

function rolesOf({ controllers }: Cluster): ReadonlySet<FunctionIdentity> {
  const roles = controllers.map((name) => signInRoleOf(findWatch(name)?.functionName ?? ""));
  return new Set(roles.filter((role) => role !== "functions" && role !== "relay"));
}

async function limitsOf(
  cluster: Cluster,
  role: FunctionIdentity,
  connect: (cluster: Cluster, role: SignInRole) => Promise<Transport>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  let transport: Transport | undefined;
  try {
    const connected = await connect(cluster, role);
    transport = connected;
    const needed = neededBy({ name: role, role, identities: [role] }, cluster);
    const ask = (_: SignInRole, request: Parameters<Transport["send"]>[0]) => connected.send(request);
    const allowed = await Promise.all(needed.map((right) => isAllowed({ ask }, { role }, right, signal)));
    const missing = needed.filter((_, index) => allowed[index] !== true).map(wordsOf);
    return missing.length === 0
      ? []
      : [`in the stead of ${role} this process may not ${someOf(missing, MAX_NAMED)}`];
  } catch (error) {
    return [`what it may do in the stead of ${role} cannot be told: ${messageOf(error)}`];
  } finally {
    await transport?.close();
  }
}

const MAX_NAMED = 4;
