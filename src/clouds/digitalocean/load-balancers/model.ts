import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import { parseProviderID } from "#clouds/digitalocean/droplet.ts";
import { isDisowned, readDisowned } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { chooseTargets } from "#clouds/digitalocean/load-balancers/change.ts";
import {
  buildDesiredState,
  describeDesired,
  hasCertificate,
  readService,
} from "#clouds/digitalocean/load-balancers/desired-state.ts";
import { readKind } from "#clouds/digitalocean/load-balancers/eligible-targets.ts";
import { orphanModel } from "#clouds/digitalocean/load-balancers/orphans/model.ts";
import {
  classifyOwnership,
  findLoadBalancer,
  selectLoadBalancers,
} from "#clouds/digitalocean/load-balancers/ownership.ts";
import { planEnsure, planRemoval } from "#clouds/digitalocean/load-balancers/plan.ts";
import { type DigitalOceanState, getConfiguration } from "#clouds/digitalocean/load-balancers/state.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { LoadBalancerAction, LoadBalancerModel, TargetNode } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/**
 * Returns the requests that keep a load balancer on the nodes while an annotation is rejected: missing
 * droplets are added before others are removed. They name only droplets, so that no other setting is sent.
 * Undefined if the load balancer is unproven, still being created or possibly disowned, or if no droplet of
 * the nodes is known.
 */
const followNodesOnDigitalOcean: NonNullable<LoadBalancerModel["followNodes"]> = (
  { service },
  observed,
  settings,
) => {
  // The observation comes from our own capability, which has parsed the API's answers.
  const state = observed as DigitalOceanState;
  if (readDisowned(service) !== false) return undefined;
  const match = findLoadBalancer(service, state.balancers, getConfiguration(settings));
  if (match.kind !== "own" || match.balancer.status === "new") return undefined;
  const { balancer } = match;
  const targets = chooseTargets(state.targets, readKind(balancer), balancer);
  if (targets.length === 0) return undefined;
  const missing = targets.filter((id) => !balancer.droplet_ids.includes(id));
  const superfluous = balancer.droplet_ids.filter((id) => !targets.includes(id));
  return [
    ...buildChange("AddDroplets", balancer.id, missing),
    ...buildChange("RemoveDroplets", balancer.id, superfluous),
  ];
};

/** The load balancer model of DigitalOcean: one per Service, for HTTP and TLS or for plain connections. */
export const digitalOceanLoadBalancerModel: LoadBalancerModel = {
  precheck({ service, wanted }, settings) {
    // A removal ignores the annotations' values: a disowned load balancer is released and stays.
    if (!wanted) return undefined;
    if (isDisowned(service)) return { kind: "foreign" };
    const read = readService(service);
    if (read.kind === "refused") return read;
    const { annotations } = read.value;
    const type = annotations.type ?? getConfiguration(settings).defaultLoadBalancerType;
    const built = buildDesiredState(read.value, type, hasCertificate(annotations) ? "any" : undefined);
    return built.kind === "refused" ? built : undefined;
  },
  planStep({ service, wanted }, observed, settings) {
    // The observation comes from our own capability, which has parsed the API's answers.
    const state = observed as DigitalOceanState;
    const inputs = { service, state, configuration: getConfiguration(settings) };
    return wanted ? planEnsure(inputs) : planRemoval(inputs, settings.loadBalancers.deleteOrphaned);
  },
  followNodes: followNodesOnDigitalOcean,
  isVisible({ service }, observed, settings) {
    const { balancers } = observed as DigitalOceanState;
    return (
      isDisowned(service) || selectLoadBalancers(service, balancers, getConfiguration(settings)).length > 0
    );
  },
  applyResult(observed, { action, target, parameters }, result) {
    const state = observed as DigitalOceanState;
    const others = state.balancers.filter(({ id }) => id !== target);
    switch (action) {
      case "DeleteLoadBalancer":
        return { ...state, balancers: others };
      case "AddDroplets":
      case "RemoveDroplets": {
        const ids = parameters["dropletIds"] as readonly string[];
        const balancers = state.balancers.map((each) =>
          each.id === target ? updateDroplets(each, action, ids) : each,
        );
        return { ...state, balancers };
      }
      case "DeleteTag":
      case "UnmarkLoadBalancer":
        return { ...state, balancers: state.balancers.map((each) => removeTag(target, each)) };
      case "UntagLoadBalancer": {
        const tag = String(parameters["tag"]);
        const balancers = state.balancers.map((each) => (each.id === target ? removeTag(tag, each) : each));
        return { ...state, balancers };
      }
      default: {
        const balancers = [...others, result as LoadBalancer];
        return { ...state, balancers, sent: formatCanonicalJson(parameters["body"]) };
      }
    }
  },
  orphans: orphanModel,
  describeDesired: describeDesired,
  listLostTargets({ nodes }, observed) {
    const { balancers, targets } = observed as DigitalOceanState;
    // A node may be known only by its name; its droplet is then in the observation.
    const desiredIds = [
      ...nodes.map(getTargetId),
      ...targets.map((each) => ("id" in each ? each.id : undefined)),
    ];
    return balancers.flatMap(({ droplet_ids: ids }) => ids).filter((id) => !desiredIds.includes(id));
  },
  getTarget: getTargetId,
};

/** Describes a Service's resources on DigitalOcean for people. */
export function describeOnDigitalOcean(
  service: Service,
  observed: unknown,
  settings: Settings,
): DescribedLoadBalancer {
  // The observation comes from our own capability, which has parsed the API's answers.
  const { balancers } = observed as DigitalOceanState;
  const owner = getConfiguration(settings);
  const match = findLoadBalancer(service, balancers, owner);
  if (balancers.length === 0) return { belongsTo: "none", lines: [] };
  const lines = balancers.flatMap((balancer) => [
    ...describeBalancer(balancer),
    OWNERSHIP_LINES[classifyOwnership(balancer, service, owner)],
  ]);
  if (match.kind === "own") return { belongsTo: "service", lines };
  return { belongsTo: match.kind === "none" ? "none" : "other", lines };
}

function getTargetId({ name, providerID }: TargetNode): string | undefined {
  if (!providerID) return `node/${name}`;
  const parsed = parseProviderID(providerID);
  return parsed.kind === "id" ? parsed.id : undefined;
}

function updateDroplets(balancer: LoadBalancer, action: string, ids: readonly string[]): LoadBalancer {
  const others = balancer.droplet_ids.filter((id) => !ids.includes(id));
  return { ...balancer, droplet_ids: action === "AddDroplets" ? [...others, ...ids] : others };
}

function removeTag(tag: string, balancer: LoadBalancer): LoadBalancer {
  return { ...balancer, tags: balancer.tags.filter((each) => each !== tag) };
}

function buildChange(action: string, target: string, dropletIds: readonly string[]): LoadBalancerAction[] {
  return dropletIds.length === 0 ? [] : [{ action, target, parameters: { dropletIds } }];
}

function describeBalancer(balancer: LoadBalancer): string[] {
  const { id, name, type, status, network, network_stack: stack, region, ip, ipv6, tags } = balancer;
  const at = [ip, ipv6].filter((each) => each !== "").join(" and ");
  return [
    `load balancer ${name} (${id}): ${type}, ${status}, ${network}, ${stack}, in ${region}`,
    `at ${at === "" ? "no address yet" : at}`,
    ...balancer.forwarding_rules.map((rule) => {
      const certificate = rule.certificate_id === "" ? "" : `, certificate ${rule.certificate_id}`;
      const passed = rule.tls_passthrough ? ", TLS passed through" : "";
      return `rule ${rule.entry_protocol}:${rule.entry_port} to ${rule.target_protocol}:${rule.target_port}${certificate}${passed}`;
    }),
    `droplets: ${balancer.droplet_ids.length}`,
    `tags: ${tags.join(", ") || "none"}`,
  ];
}

const OWNERSHIP_LINES = {
  service: "belongs to this Service by its name or tag",
  cluster: "belongs to the cluster by its tag or by allow.loadBalancers",
  other: "not proven to be the cluster's by anything that a tenant cannot write",
} as const;
