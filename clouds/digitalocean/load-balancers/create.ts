import { annotationName } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import { defaultNameOf, isNamedByUid, serviceTagOf } from "#clouds/digitalocean/load-balancers/belonging.ts";
import { creation } from "#clouds/digitalocean/load-balancers/body.ts";
import { isAllowed } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { eligibleOf, stackOf } from "#clouds/digitalocean/load-balancers/eligible.ts";
import { nobodyReached } from "#clouds/digitalocean/load-balancers/left-out.ts";
import { nameTagOf } from "#clouds/digitalocean/load-balancers/orphans/tags.ts";
import {
  act,
  NO_NODES,
  NODES_UNKNOWN,
  ownTags,
  type Planned,
  sorted,
} from "#clouds/digitalocean/load-balancers/planned.ts";
import type { Wanted } from "#clouds/digitalocean/load-balancers/wanted.ts";
import type { LoadBalancerStep } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** Makes a load balancer, once there is a node that it can send to. */
export function create({ reading, kind, wanted, state, configuration }: Planned): LoadBalancerStep {
  const { service, annotations } = reading;
  const { ip, "subnet-uuid": subnet } = annotations;
  const { allow, region, vpc } = configuration;
  if (ip !== undefined && !isAllowed(allow.ips, ip)) return notAllowed("ip", service, "cloud.allow.ips");
  if (subnet !== undefined && !isAllowed(allow.subnets, subnet))
    return notAllowed("subnet-uuid", service, "cloud.allow.subnets");
  const eligible = eligibleOf(state.targets, kind);
  if (eligible.length === 0) {
    const isUnknown = state.targets.some((target) => target.kind === "unknown");
    return nobodyReached(state.targets, kind) ?? (isUnknown ? NODES_UNKNOWN : NO_NODES);
  }
  const stack = stackOf(kind, eligible, annotations["network-stack"], service);
  if ("problem" in stack) return { kind: "refused", problem: stack.problem };
  const name = annotations.name ?? defaultNameOf(service);
  const foundation = {
    ...{ region, ...kind, network_stack: stack.stack, vpc_uuid: vpc, subnet_uuid: subnet, ip },
    tags: [
      ...ownTags(configuration),
      ...nameTags(service, configuration),
      // By its name it could not be told whose it is.
      ...(isNamedByUid(name, service) ? [] : [serviceTagOf(service)]),
    ],
  };
  const body = creation(foundation, { ...wanted, name, droplet_ids: sorted(eligible.map(({ id }) => id)) });
  const message = `${kind.type}, ${kind.network}, ${counted(wanted, eligible.length)}`;
  // Whoever asks twice gets two, and a list may lag behind.
  return { ...act("CreateLoadBalancer", name, body, message), once: true };
}

/** For whoever finds it without its Service; of a cluster without an id nobody looks. */
function nameTags(service: Service, { clusterID }: Planned["configuration"]): readonly string[] {
  const tag = clusterID === undefined ? undefined : nameTagOf(service);
  return tag === undefined ? [] : [tag];
}

function notAllowed(suffix: "ip" | "subnet-uuid", { metadata }: Service, key: string): LoadBalancerStep {
  const field = annotationName(suffix);
  const value = metadata.annotations?.[field];
  return { kind: "refused", problem: { code: "NotAllowed", field, value, detail: `it is not among ${key}` } };
}

function counted({ forwarding_rules: rules }: Wanted, targets: number): string {
  return `${rules.length} rules, ${targets} droplets`;
}
