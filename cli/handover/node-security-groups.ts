import { diagnose } from "#clouds/providers.ts";
import type { Cluster } from "#config/cluster.ts";
import { getErrorMessage } from "#core/error-message.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

const LOOK_TIMEOUT_MS = 30_000;
const MAX_SHOWN = 1_000;

/**
 * Returns why adopted load balancers could not be admitted to the nodes' security groups, which it names.
 * Undefined if nothing prevents it, or if the cloud has no such groups. A cloud that does not answer does not
 * prevent a hand-over.
 */
export async function describeNodeSecurityGroups(
  { name, cloud, controllers }: Pick<Cluster, "name" | "cloud" | "controllers">,
  look: typeof diagnose = diagnose,
): Promise<string | undefined> {
  if (!controllers.includes("service-lb-controller")) return undefined;
  const diagnosis = await look(cloud, { clusterName: name }).catch((error: unknown) =>
    getErrorMessage(error),
  );
  if (diagnosis === undefined) return undefined;
  if (typeof diagnosis === "string") return formatUnknown(diagnosis);
  try {
    const signal = AbortSignal.timeout(LOOK_TIMEOUT_MS);
    const finding = await diagnosis.forControllers?.securityGroups(signal);
    if (finding === undefined || finding.outcome === "ok" || finding.outcome === "skipped") return undefined;
    const remedy = finding.remedy === undefined ? "" : `; ${finding.remedy}`;
    return `note: security groups of nodes: ${sanitizeText(finding.message, MAX_SHOWN)}${remedy}`;
  } catch (error) {
    return formatUnknown(getErrorMessage(error));
  } finally {
    diagnosis.close();
  }
}

function formatUnknown(why: string): string {
  return `note: security groups of nodes were not checked: ${sanitizeText(why, MAX_SHOWN)}; run serverless-ccm doctor`;
}
