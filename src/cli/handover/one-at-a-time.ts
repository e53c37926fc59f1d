import { readTraces } from "#cli/doctor/read-traces.ts";
import { formatCounted } from "#cli/format-list.ts";
import type { Direction } from "#cli/handover/handover-result.ts";
import { diagnose } from "#clouds/providers.ts";
import type { Cluster } from "#config/cluster.ts";
import type { ControllerName } from "#core/event.ts";
import { formatRemainingFlag, listOneAtATime } from "#core/handover.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import { findSecondCcms, type SecondCcm } from "#core/second-ccm.ts";
import type { Transport } from "#kube/client/transport.ts";

/**
 * Returns why a hand-over must wait: another controller is at work, and nothing shows that it has stopped
 * what must not run twice. Its flags cannot be read, and a controller with nothing to do leaves no trace;
 * `anyway` is the operator's confirmation.
 */
export function findSharedWork(
  direction: Direction,
  controllers: readonly ControllerName[],
  others: readonly SecondCcm[],
  anyway: boolean,
): string | undefined {
  const shared = listOneAtATime(controllers);
  const [live] = others.filter(({ isLive }) => isLive);
  if (shared.length === 0 || live === undefined || anyway) return undefined;
  const seen = live.controllers.filter(
    ({ name, isRecent }) => isRecent && shared.some((each) => each === name),
  );
  const what =
    seen.length === 0
      ? `${sanitizeText(live.manager)} is at work, and may run ${shared.join(", ")}`
      : `${sanitizeText(live.manager)} still runs ${seen.map(({ name }) => name).join(", ")}`;
  const command = direction === "over" ? "handover" : "handback";
  return `${what}: these must not run on both sides at once. Restart it with ${formatRemainingFlag(shared)}, then run \`serverless-ccm ${command}\` again with --anyway`;
}

/** Describes the effect of the limit if the Services need more load balancers than it allows. */
export function describeServicesBeyondLimit(services: number, max: number): string | undefined {
  if (services <= max) return undefined;
  return `note: ${formatCounted(services, "Service")} of type LoadBalancer, and loadBalancers.max is ${max}: load balancers that the cloud shows as the cluster's are taken over, and no new one is made until there are fewer. Set loadBalancers.max to ${services} or more first`;
}

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

/**
 * Returns the other cloud-controller-managers of a cluster, one line each, after what could not be read;
 * throws if nodes cannot be listed.
 */
export async function findOthers(
  cluster: Cluster,
  transport: Transport,
  signal: AbortSignal,
  write: (line: string) => void,
): Promise<readonly SecondCcm[]> {
  const read = await readTraces(transport, signal);
  if (read.kind === "failed")
    throw new Error(`the nodes of cluster ${cluster.name} cannot be listed: ${read.message}`);
  for (const line of read.unread) write(`note: ${sanitizeText(line)}`);
  const others = findSecondCcms(read.traces, new Date());
  for (const other of others) write(formatSecondCcm(other));
  return others;
}

function formatSecondCcm({ manager, lastSeen, isLive, controllers }: SecondCcm): string {
  const named = controllers
    .map(({ name, isRecent }) => (isRecent ? name : `${name} (not of late)`))
    .join(", ");
  const state = isLive ? "at work" : "quiet for 10 minutes and longer";
  return `other: ${manager}, ${state}, last seen ${sanitizeText(lastSeen)}${named === "" ? "" : `: ${named}`}`;
}
