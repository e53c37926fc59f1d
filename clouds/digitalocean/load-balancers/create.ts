import { formatAnnotationName } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import { buildCreateBody } from "#clouds/digitalocean/load-balancers/body.ts";
import { isAllowed } from "#clouds/digitalocean/load-balancers/configuration.ts";
import type { DesiredState } from "#clouds/digitalocean/load-balancers/desired-state.ts";
import { selectEligible, selectNetworkStack } from "#clouds/digitalocean/load-balancers/eligible-targets.ts";
import { rejectUnreachable } from "#clouds/digitalocean/load-balancers/excluded-nodes.ts";
import { formatNameTag } from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import {
  formatDefaultName,
  formatServiceTag,
  isNamedByUid,
} from "#clouds/digitalocean/load-balancers/ownership.ts";
import {
  act,
  listOwnTags,
  NO_NODES,
  NODES_UNKNOWN,
  type PlanContext,
  sortIds,
} from "#clouds/digitalocean/load-balancers/plan-context.ts";
import type { LoadBalancerStep } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** Creates a load balancer once a node can be its target. */
export function planCreate({ reading, kind, desired, state, configuration }: PlanContext): LoadBalancerStep {
  const { service, annotations } = reading;
  const { ip, "subnet-uuid": subnet } = annotations;
  const { allow, region, vpc } = configuration;
  if (ip !== undefined && !isAllowed(allow.ips, ip))
    return rejectNotAllowed("ip", service, "cloud.allow.ips");
  if (subnet !== undefined && !isAllowed(allow.subnets, subnet))
    return rejectNotAllowed("subnet-uuid", service, "cloud.allow.subnets");
  const eligible = selectEligible(state.targets, kind);
  if (eligible.length === 0) {
    const isUnknown = state.targets.some((target) => target.kind === "unknown");
    return rejectUnreachable(state.targets, kind) ?? (isUnknown ? NODES_UNKNOWN : NO_NODES);
  }
  const stack = selectNetworkStack(kind, eligible, annotations["network-stack"], service);
  if ("issue" in stack) return { kind: "refused", issue: stack.issue };
  const name = annotations.name ?? formatDefaultName(service);
  const fixedSettings = {
    ...{ region, ...kind, network_stack: stack.stack, vpc_uuid: vpc, subnet_uuid: subnet, ip },
    tags: [
      ...listOwnTags(configuration),
      ...listNameTags(service, configuration),
      // Its name would not show its owner.
      ...(isNamedByUid(name, service) ? [] : [formatServiceTag(service)]),
    ],
  };
  const body = buildCreateBody(fixedSettings, {
    ...desired,
    name,
    droplet_ids: sortIds(eligible.map(({ id }) => id)),
  });
  const message = `${kind.type}, ${kind.network}, ${describeCounts(desired, eligible.length)}`;
  // A second request would create a second load balancer, and a list may lag behind.
  return { ...act("CreateLoadBalancer", name, body, message), once: true };
}

/** Tags that identify its Service after that is gone; without a cluster ID no audit reads them. */
function listNameTags(service: Service, { clusterID }: PlanContext["configuration"]): readonly string[] {
  const tag = clusterID === undefined ? undefined : formatNameTag(service);
  return tag === undefined ? [] : [tag];
}

function rejectNotAllowed(
  suffix: "ip" | "subnet-uuid",
  { metadata }: Service,
  key: string,
): LoadBalancerStep {
  const field = formatAnnotationName(suffix);
  const value = metadata.annotations?.[field];
  return { kind: "refused", issue: { code: "NotAllowed", field, value, detail: `it is not among ${key}` } };
}

function describeCounts({ forwarding_rules: rules }: DesiredState, targets: number): string {
  return `${rules.length} rules, ${targets} droplets`;
}
