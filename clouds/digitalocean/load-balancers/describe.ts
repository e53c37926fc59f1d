import type { DescribedLoadBalancer } from "#clouds/described-load-balancer.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { getConfiguration } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { findLoadBalancer } from "#clouds/digitalocean/load-balancers/find-load-balancer.ts";
import { classifyOwnership } from "#clouds/digitalocean/load-balancers/ownership.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
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
  const own = findLoadBalancer(service, balancers, owner);
  if (balancers.length === 0) return { belongsTo: "none", lines: [] };
  const lines = balancers.flatMap((balancer) => [
    ...describeBalancer(balancer),
    WHOSE[classifyOwnership(balancer, service, owner)],
  ]);
  if (own.kind === "own") return { belongsTo: "service", lines };
  return { belongsTo: own.kind === "none" ? "none" : "other", lines };
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

const WHOSE = {
  service: "its name or its tag says that it is this Service's",
  cluster: "its tag, or allow.loadBalancers, says that it is the cluster's",
  other: "nothing that a tenant could not have written says that it is the cluster's",
} as const;
