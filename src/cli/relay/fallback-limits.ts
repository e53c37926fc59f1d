import { formatRight, isAllowed, listNeededRights } from "#cli/doctor/permissions.ts";
import { formatList } from "#cli/format-list.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { getSignInRole } from "#config/sign-in.ts";
import { findWatch } from "#core/controllers.ts";
import type { FunctionIdentity } from "#core/identities.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { createSemaphore, NO_LIMIT } from "#kube/client/semaphore.ts";
import type { Transport } from "#kube/client/transport.ts";

/** Limits how many clusters are asked at a time; each has its own time limit. */
const SEMAPHORE = createSemaphore(() => 4, 100_000);
const TIMEOUT_MS = 30_000;

/**
 * Describes which of a cluster's work this process could not do instead of the functions; undefined if it
 * could do all. Never rejects.
 */
export async function findFallbackLimits(
  cluster: Cluster,
  connect: (cluster: Cluster, role: SignInRole) => Promise<Transport>,
  given?: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<string | undefined> {
  // In such a cluster the relay always writes.
  if (cluster.writes === "relay") return undefined;
  await SEMAPHORE.acquire(NO_LIMIT);
  // The time limit starts here: waiting for other clusters does not count.
  const signal = given ?? AbortSignal.timeout(timeoutMs);
  try {
    const limits: string[] = [];
    for (const role of listFunctionRoles(cluster))
      limits.push(...(await findLimits(cluster, role, connect, signal)));
    return limits.length === 0 ? undefined : limits.join("; ");
  } finally {
    SEMAPHORE.release();
  }
}

function listFunctionRoles({ controllers }: Cluster): ReadonlySet<FunctionIdentity> {
  const roles = controllers.map((name) => getSignInRole(findWatch(name)?.functionName ?? ""));
  return new Set(roles.filter((role) => role !== "functions" && role !== "relay"));
}

async function findLimits(
  cluster: Cluster,
  role: FunctionIdentity,
  connect: (cluster: Cluster, role: SignInRole) => Promise<Transport>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  let transport: Transport | undefined;
  try {
    const connected = await connect(cluster, role);
    transport = connected;
    const needed = listNeededRights({ name: role, role, identities: [role] }, cluster);
    const ask = (_: SignInRole, request: Parameters<Transport["send"]>[0]) => connected.send(request);
    const allowed = await Promise.all(needed.map((right) => isAllowed({ ask }, { role }, right, signal)));
    const missing = needed.filter((_, index) => allowed[index] !== true).map(formatRight);
    return missing.length === 0
      ? []
      : [`on behalf of ${role} this process may not ${formatList(missing, MAX_NAMED)}`];
  } catch (error) {
    return [`its rights on behalf of ${role} are unknown: ${getErrorMessage(error)}`];
  } finally {
    await transport?.close();
  }
}

const MAX_NAMED = 4;
