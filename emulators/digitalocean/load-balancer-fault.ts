import type { FakeLoadBalancer, LoadBalancersWorld } from "#emulators/digitalocean/load-balancers.ts";

/** What the API says of what is sent, beyond its shape. */
export function faultOf(
  {
    forwarding_rules: rules,
    type,
    region,
    droplet_ids: ids,
    network,
    network_stack: stack,
  }: FakeLoadBalancer,
  { droplets, certificates, regions }: LoadBalancersWorld,
): string | undefined {
  if (!regions.has(region)) return "region is not known";
  const reserved = rules.find(({ entry_port: port }) => port >= 50_053 && port <= 50_055);
  if (reserved !== undefined) return `entry port ${reserved.entry_port} is reserved`;
  const entries = rules.map((each) => `${LAYER[each.entry_protocol]}/${each.entry_port}`);
  if (new Set(entries).size < entries.length) return "an entry port is named twice";
  if (network === "INTERNAL" && stack === "DUALSTACK") return "an internal load balancer has IPv4 alone";
  for (const rule of rules) {
    const { entry_protocol: entry, target_protocol: target, certificate_id: certificate } = rule;
    if ((entry === "udp") !== (target === "udp")) return "udp goes with udp alone";
    if (certificate !== "" && !certificates.has(certificate)) return `certificate ${certificate} not found`;
    if (certificate !== "" && rule.tls_passthrough) return "a certificate beside tls_passthrough";
    if (entry === "http3" && certificate === "") return "http3 needs a certificate";
    if (/^http[s2]/.test(entry) && entry !== "http" && certificate === "" && !rule.tls_passthrough)
      return `${entry} needs a certificate or tls_passthrough`;
    if (type !== "REGIONAL_NETWORK") continue;
    if (entry !== "tcp" && entry !== "udp") return "a network load balancer forwards tcp and udp";
    if (rule.entry_port !== rule.target_port) return "a network load balancer keeps the port";
  }
  const lost = ids.find((id) => droplets.get(id)?.region !== region);
  return lost === undefined ? undefined : `droplet ${lost} not found in the region`;
}

/** Over QUIC beside TCP a port is two. */
const LAYER = { http: "tcp", https: "tcp", http2: "tcp", tcp: "tcp", udp: "udp", http3: "udp" } as const;
