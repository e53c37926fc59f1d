import type { ListedService } from "#cli/doctor/check.ts";
import type { ReachableCluster } from "#cli/reach-cluster.ts";
import { selectSettings } from "#config/cluster.ts";
import { formatCollectionPath, SERVICES } from "#core/resources/resource.ts";
import { hasFinalizer, isMarked, needsLoadBalancer } from "#core/service/needs-work.ts";
import { parseService } from "#core/service/snapshot.ts";
import type { Settings } from "#core/settings.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";

/**
 * Lists the Services that have a load balancer of ours or request one, with the relay's rights; rejects if
 * those do not suffice.
 */
export async function listServices(reached: ReachableCluster): Promise<readonly ListedService[]> {
  const transport = await reached.api("relay");
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const settings = selectSettings(reached.cluster);
  const listed = (object: unknown): ListedService | undefined => toListedService(object, settings);
  const list = await listAll(transport, formatCollectionPath(SERVICES), listed, signal, {
    clock: systemClock,
  });
  if (list.kind === "failed") throw new Error(`Services cannot be listed: ${list.message}`);
  return list.items;
}

const TIMEOUT_MS = 60_000;

function toListedService(object: unknown, settings: Settings): ListedService | undefined {
  const parsed = parseService(object);
  if (parsed.kind === "malformed") return undefined;
  const service = parsed.object;
  if (hasFinalizer(service) && isMarked(service)) return { service, standing: "holds" };
  return needsLoadBalancer(service, settings) ? { service, standing: "waits" } : undefined;
}
