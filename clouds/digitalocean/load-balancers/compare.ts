import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { Wanted } from "#clouds/digitalocean/load-balancers/wanted.ts";
import { canonicalJson } from "#core/hash.ts";

/** What a load balancer is to be by now, of what can be changed. */
export interface Target extends Wanted {
  readonly name: string;
  readonly droplet_ids: readonly string[];
}

/**
 * What differs between a load balancer and what it is to be, by the API's names; both as the API would show them: lists as sets, and what
 * is left out as its default.
 */
export function differences(there: LoadBalancer, wanted: Target): readonly string[] {
  // What nobody asks for of the health check is as it is.
  const { proxy_protocol: asked } = wanted.health_check;
  const [is, toBe] = [normalized(there, asked !== undefined), normalized(wanted, asked !== undefined)];
  return Object.keys(toBe).filter((key) => is[key] !== toBe[key]);
}

type Compared = Pick<
  LoadBalancer,
  | "name"
  | "redirect_http_to_https"
  | "enable_proxy_protocol"
  | "enable_backend_keepalive"
  | "disable_lets_encrypt_dns_records"
> & {
  readonly droplet_ids: readonly string[];
  readonly forwarding_rules: readonly unknown[];
  readonly health_check: LoadBalancer["health_check"] | Wanted["health_check"];
  readonly sticky_sessions: LoadBalancer["sticky_sessions"] | Wanted["sticky_sessions"];
  readonly firewall: { readonly allow: readonly string[]; readonly deny: readonly string[] };
  readonly size_unit?: number | null | undefined;
  readonly size?: string | null | undefined;
  readonly http_idle_timeout_seconds?: number | null | undefined;
};

function normalized(balancer: Compared, withProxyProtocol: boolean): Readonly<Record<string, string>> {
  const { health_check: check, sticky_sessions: sticky, firewall } = balancer;
  const { proxy_protocol: proxied, path, ...rest } = check;
  const isPathRead = check.protocol !== "tcp";
  const parts = {
    name: balancer.name,
    droplet_ids: setOf(balancer.droplet_ids),
    forwarding_rules: setOf(balancer.forwarding_rules.map(canonicalJson)),
    health_check: {
      ...rest,
      ...(isPathRead ? { path } : {}),
      ...(withProxyProtocol ? { proxy_protocol: proxied ?? false } : {}),
    },
    sticky_sessions: sticky.type === "cookies" ? sticky : { type: "none" },
    firewall: { allow: setOf(firewall.allow), deny: setOf(firewall.deny) },
    size: unitsOf(balancer),
    redirect_http_to_https: balancer.redirect_http_to_https,
    enable_proxy_protocol: balancer.enable_proxy_protocol,
    enable_backend_keepalive: balancer.enable_backend_keepalive,
    disable_lets_encrypt_dns_records: balancer.disable_lets_encrypt_dns_records,
    http_idle_timeout_seconds: balancer.http_idle_timeout_seconds || DEFAULT_IDLE_SECONDS,
  };
  return Object.fromEntries(Object.entries(parts).map(([key, value]) => [key, canonicalJson(value)]));
}

/** Sizes by name are numbers of nodes of old, which the API shows beside. */
function unitsOf({ size, size_unit: units }: Pick<Compared, "size" | "size_unit">): number {
  return (size ? UNITS[size] : undefined) ?? (units || 1);
}

function setOf(items: readonly string[]): readonly string[] {
  return [...new Set(items)].sort();
}

const UNITS: Readonly<Record<string, number>> = { "lb-small": 1, "lb-medium": 3, "lb-large": 6 };
const DEFAULT_IDLE_SECONDS = 60;
