import type { DescribedLoadBalancer } from "#clouds/described.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { belongingOf } from "#clouds/digitalocean/load-balancers/belonging.ts";
import { configurationOf } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { ownOf } from "#clouds/digitalocean/load-balancers/own.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** What DigitalOcean has of a Service, in words. */
export function describeOnDigitalOcean(
  service: Service,
  observed: unknown,
  settings: Settings,
): DescribedLoadBalancer {
  // The observation is our own capability's, which has parsed what the API answered.
  const { balancers } = observed as DigitalOceanState;
  const owner = configurationOf(settings);
  const own = ownOf(service, balancers, owner);
  if (balancers.length === 0) return { belongsTo: "none", lines: [] };
  const lines = balancers.flatMap((balancer) => [
    ...linesOf(balancer),
    WHOSE[belongingOf(balancer, service, owner)],
  ]);
  if (own.kind === "own") return { belongsTo: "service", lines };
  return { belongsTo: own.kind === "none" ? "none" : "other", lines };
}

function linesOf(balancer: LoadBalancer): string[] {
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
