import { diagnose } from "#clouds/diagnose.ts";
import type { Cluster } from "#config/cluster.ts";
import { messageOf } from "#core/message-of.ts";
import { shown } from "#core/shown-text.ts";

const LOOK_TIMEOUT_MS = 30_000;
const MAX_SHOWN = 1_000;

/**
 * Returns what keeps load balancers that are taken over from being let in on the nodes' security groups, which it names; undefined where
 * nothing does, or where the cloud has no such groups. A cloud that does not answer keeps nobody from handing over.
 */
export async function describeNodeSecurityGroups(
  { name, cloud, controllers }: Pick<Cluster, "name" | "cloud" | "controllers">,
  look: typeof diagnose = diagnose,
): Promise<string | undefined> {
  if (!controllers.includes("service-lb-controller")) return undefined;
  const diagnosis = await look(cloud, { clusterName: name }).catch((error: unknown) => messageOf(error));
  if (diagnosis === undefined) return undefined;
  if (typeof diagnosis === "string") return unknown(diagnosis);
  try {
    const signal = AbortSignal.timeout(LOOK_TIMEOUT_MS);
    const finding = await diagnosis.forControllers?.securityGroups(signal);
    if (finding === undefined || finding.outcome === "ok" || finding.outcome === "skipped") return undefined;
    const remedy = finding.remedy === undefined ? "" : `; ${finding.remedy}`;
    return `note: security groups of nodes: ${shown(finding.message, MAX_SHOWN)}${remedy}`;
  } catch (error) {
    return unknown(messageOf(error));
  } finally {
    diagnosis.close();
  }
}

function unknown(why: string): string {
  return `note: security groups of nodes were not looked at: ${shown(why, MAX_SHOWN)}; run serverless-ccm doctor`;
}
