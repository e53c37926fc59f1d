import { formatCounted } from "#cli/format-counted.ts";
import type { Direction } from "#cli/handover/handover-result.ts";
import type { ControllerName } from "#core/event.ts";
import { formatRemainingFlag } from "#core/handover.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import type { SecondCcm } from "#core/second-ccm.ts";

/**
 * Controllers that must not run on both sides at once, because each side would change the other's cloud
 * resources.
 */
const ONE_AT_A_TIME: readonly ControllerName[] = [
  "service-lb-controller",
  "node-route-controller",
  "tagging",
];

/** Returns which of a cluster's controllers must not run on both sides at once. */
export function listOneAtATime(controllers: readonly ControllerName[]): readonly ControllerName[] {
  return ONE_AT_A_TIME.filter((name) => controllers.includes(name));
}

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
