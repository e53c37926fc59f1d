import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { classifyOwnership, findLoadBalancer } from "#clouds/digitalocean/load-balancers/ownership.ts";
import { type DigitalOceanState, getConfiguration } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

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
