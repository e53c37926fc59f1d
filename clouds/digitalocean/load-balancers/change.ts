import { annotationName } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { belongingOf, defaultNameOf, isTagged } from "#clouds/digitalocean/load-balancers/belonging.ts";
import { replacement } from "#clouds/digitalocean/load-balancers/body.ts";
import { differences } from "#clouds/digitalocean/load-balancers/compare.ts";
import type { LoadBalancerConfiguration } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { eligibleOf, type Kind } from "#clouds/digitalocean/load-balancers/eligible.ts";
import { immutables } from "#clouds/digitalocean/load-balancers/immutable.ts";
import { nobodyReached, nodesLeftOut } from "#clouds/digitalocean/load-balancers/left-out.ts";
import { unmarked } from "#clouds/digitalocean/load-balancers/orphans/model.ts";
import {
  act,
  NODES_UNKNOWN,
  ownTags,
  type Planned,
  PROVISIONING,
  sorted,
} from "#clouds/digitalocean/load-balancers/planned.ts";
import type { TargetDroplet } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Reading } from "#clouds/digitalocean/load-balancers/wanted.ts";
import { canonicalJson } from "#core/hash.ts";
import type { LoadBalancerStep, Problem } from "#core/service/model.ts";
import type { Ingress } from "#core/service/service.ts";

/** Brings a load balancer that is there to what it is to be, with one request, and says where it is. */
export function bringAbout(
  { reading, kind, wanted, state, configuration }: Planned,
  there: LoadBalancer,
): LoadBalancerStep {
  if (there.status === "new") return PROVISIONING;
  const targets = chooseTargets(state.targets, kind, there);
  if (targets.length === 0 && state.targets.length > 0)
    return nobodyReached(state.targets, kind) ?? NODES_UNKNOWN;
  const name = nameFor(reading, there, configuration);
  const target = { ...wanted, name: name.name, droplet_ids: targets };
  const differing = differences(there, target);
  const tags = [...new Set([...there.tags, ...ownTags(configuration)])];
  const body = replacement(there, target, tags);
  // What the API takes and shows otherwise is not sent once more in the same breath.
  if (differing.length > 0 && canonicalJson(body) !== state.sent)
    return act("ReplaceLoadBalancer", there.id, body, `differs in ${differing.join(", ")}`);
  const unmarking = unmarked(there);
  if (unmarking !== undefined) return unmarking;
  if (there.status !== "active")
    return {
      kind: "refused",
      problem: { code: "LoadBalancerFailed", detail: `${there.id} is ${there.status}` },
    };
  const { hostname } = reading.annotations;
  const ingress: Ingress[] =
    hostname === undefined
      ? [there.ip, there.ipv6].filter((ip) => ip !== "").map((ip) => ({ ip }))
      : [{ hostname: hostname.toLowerCase() }];
  const warnings = [
    ...reading.warnings,
    ...immutables(reading, there),
    ...name.problems,
    ...nodesLeftOut(state.targets),
  ];
  return there.ip === "" ? PROVISIONING : { kind: "settled", ingress, warnings };
}

/** Returns the droplets to send to. A droplet that cannot be told stays if it is there, and is not added. */
export function chooseTargets(
  targets: readonly TargetDroplet[],
  kind: Kind,
  there: LoadBalancer,
): readonly string[] {
  const present = new Set(there.droplet_ids);
  const kept = targets.flatMap((target) =>
    target.kind === "unknown" && target.id !== undefined && present.has(target.id) ? [target.id] : [],
  );
  return sorted([...eligibleOf(targets, kind).map(({ id }) => id), ...kept]);
}

/** One by whose name alone it can be told whose it is keeps that name. */
function nameFor(
  { service, annotations }: Reading,
  there: LoadBalancer,
  configuration: LoadBalancerConfiguration,
): { readonly name: string; readonly problems: readonly Problem[] } {
  const own = defaultNameOf(service);
  const name = annotations.name ?? own;
  const isKnownElse =
    isTagged(there, configuration) ||
    belongingOf({ ...there, name: "" }, service, configuration) === "service";
  if (name === own || name === there.name || isKnownElse) return { name, problems: [] };
  const detail =
    "clusterID is not configured, or the load balancer does not carry its tag: by its name alone it is the Service's";
  const field = annotationName("name");
  const value = service.metadata.annotations?.[field];
  return { name: there.name, problems: [{ code: "LoadBalancerImmutable", field, value, detail }] };
}
