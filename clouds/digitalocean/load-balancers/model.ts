import { isDisowned } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { configurationOf } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { desiredOf } from "#clouds/digitalocean/load-balancers/desired.ts";
import { followNodesOnDigitalOcean } from "#clouds/digitalocean/load-balancers/follow-nodes.ts";
import { orphanModel } from "#clouds/digitalocean/load-balancers/orphans/model.ts";
import { allOwnOf } from "#clouds/digitalocean/load-balancers/own.ts";
import { planEnsure, planRemoval } from "#clouds/digitalocean/load-balancers/plan.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import { namesCertificate, readService, wantedOf } from "#clouds/digitalocean/load-balancers/wanted.ts";
import { parseProviderID } from "#clouds/digitalocean/provider-id.ts";
import { canonicalJson } from "#core/hash.ts";
import type { LoadBalancerModel, TargetNode } from "#core/service/model.ts";

/** What load balancers are on DigitalOcean: one for each Service, for HTTP and TLS or for plain connections. */
export const digitalOceanLoadBalancerModel: LoadBalancerModel = {
  before({ service, wanted }, settings) {
    // What is to go is looked at whatever it says: disowned, it is let go and stays.
    if (!wanted) return undefined;
    if (isDisowned(service)) return { kind: "elsewhere" };
    const read = readService(service);
    if (read.kind === "refused") return read;
    const { annotations } = read.value;
    const type = annotations.type ?? configurationOf(settings).defaultLoadBalancerType;
    const built = wantedOf(read.value, type, namesCertificate(annotations) ? "any" : undefined);
    return built.kind === "refused" ? built : undefined;
  },
  next({ service, wanted }, observed, settings) {
    // The observation is our own capability's, which has parsed what the API answered.
    const state = observed as DigitalOceanState;
    const planning = { service, state, configuration: configurationOf(settings) };
    return wanted ? planEnsure(planning) : planRemoval(planning, settings.loadBalancers.deleteOrphaned);
  },
  followNodes: followNodesOnDigitalOcean,
  shows({ service }, observed, settings) {
    const { balancers } = observed as DigitalOceanState;
    return isDisowned(service) || allOwnOf(service, balancers, configurationOf(settings)).length > 0;
  },
  fold(observed, { action, target, parameters }, result) {
    const state = observed as DigitalOceanState;
    const others = state.balancers.filter(({ id }) => id !== target);
    switch (action) {
      case "DeleteLoadBalancer":
        return { ...state, balancers: others };
      case "AddDroplets":
      case "RemoveDroplets": {
        const ids = parameters["dropletIds"] as readonly string[];
        const balancers = state.balancers.map((each) =>
          each.id === target ? sending(each, action, ids) : each,
        );
        return { ...state, balancers };
      }
      case "DeleteTag":
      case "UnmarkLoadBalancer":
        return { ...state, balancers: state.balancers.map((each) => without(target, each)) };
      case "UntagLoadBalancer": {
        const tag = String(parameters["tag"]);
        const balancers = state.balancers.map((each) => (each.id === target ? without(tag, each) : each));
        return { ...state, balancers };
      }
      default: {
        const balancers = [...others, result as LoadBalancer];
        return { ...state, balancers, sent: canonicalJson(parameters["body"]) };
      }
    }
  },
  orphans: orphanModel,
  desired: desiredOf,
  lostTargets({ nodes }, observed) {
    const { balancers, targets } = observed as DigitalOceanState;
    // A node may be told by its name alone: then the droplet is in what was observed of it.
    const wanted = [...nodes.map(targetOf), ...targets.map((each) => ("id" in each ? each.id : undefined))];
    return balancers.flatMap(({ droplet_ids: ids }) => ids).filter((id) => !wanted.includes(id));
  },
  targetOf,
};

function targetOf({ name, providerID }: TargetNode): string | undefined {
  if (!providerID) return `node/${name}`;
  const parsed = parseProviderID(providerID);
  return parsed.kind === "id" ? parsed.id : undefined;
}

function sending(balancer: LoadBalancer, action: string, ids: readonly string[]): LoadBalancer {
  const others = balancer.droplet_ids.filter((id) => !ids.includes(id));
  return { ...balancer, droplet_ids: action === "AddDroplets" ? [...others, ...ids] : others };
}

function without(tag: string, balancer: LoadBalancer): LoadBalancer {
  return { ...balancer, tags: balancer.tags.filter((each) => each !== tag) };
}
