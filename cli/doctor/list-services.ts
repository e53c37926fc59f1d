import type { ListedService } from "#cli/doctor/check.ts";
import type { ReachableCluster } from "#cli/reach-cluster.ts";
import { settingsOf } from "#config/cluster.ts";
import { collectionPath, SERVICES } from "#core/resources/resource.ts";
import { hasFinalizer, isMarked, wantsLoadBalancer } from "#core/service/needs-work.ts";
import { parseService } from "#core/service/snapshot.ts";
import type { Settings } from "#core/settings.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";

/** Lists the Services that have a load balancer of ours or ask for one, as the relay may; rejects where it may not. */
export async function listServices(reached: ReachableCluster): Promise<readonly ListedService[]> {
  const transport = await reached.api("relay");
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const settings = settingsOf(reached.cluster);
  const listed = (object: unknown): ListedService | undefined => listedOf(object, settings);
  const list = await listAll(transport, collectionPath(SERVICES), listed, signal, { clock: systemClock });
  if (list.kind === "failed") throw new Error(`Services cannot be listed: ${list.message}`);
  return list.items;
}

const TIMEOUT_MS = 60_000;

function listedOf(object: unknown, settings: Settings): ListedService | undefined {
  const parsed = parseService(object);
  if (parsed.kind === "malformed") return undefined;
  const service = parsed.object;
  if (hasFinalizer(service) && isMarked(service)) return { service, standing: "holds" };
  return wantsLoadBalancer(service, settings) ? { service, standing: "waits" } : undefined;
}
