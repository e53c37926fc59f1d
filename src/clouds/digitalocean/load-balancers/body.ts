import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { DesiredState } from "#clouds/digitalocean/load-balancers/desired-state.ts";
import { formatCanonicalJson } from "#core/hash.ts";

/** The JSON body of a request. */
export type Body = Readonly<Record<string, unknown>>;

/** Settings that are fixed at creation. */
export interface FixedSettings {
  readonly region: string;
  readonly type: string;
  readonly network: string;
  readonly network_stack: string;
  readonly vpc_uuid?: string | undefined;
  readonly subnet_uuid?: string | undefined;
  readonly ip?: string | undefined;
  readonly tags: readonly string[];
}

/** Builds the body that creates a load balancer. */
export function buildCreateBody(fixedSettings: FixedSettings, target: DesiredTarget): Body {
  return omitUndefined({ ...fixedSettings, ...target });
}

/**
 * Builds the body that replaces a load balancer. A missing field would be reset to its default, so all
 * current fields without a desired value are sent as they were read.
 */
export function buildReplaceBody(
  current: LoadBalancer,
  target: DesiredTarget,
  tags: readonly string[],
): Body {
  const { size: _size, size_unit: _units, http_idle_timeout_seconds: _idle, ...rest } = current;
  const keptFields = Object.entries(rest).filter(
    ([key, value]) => !READ_ONLY.has(key) && value !== null && value !== "",
  );
  return omitUndefined({ ...Object.fromEntries(keptFields), ...target, tags });
}

/** Fields that the API adds itself, or accepts at creation only. */
const READ_ONLY: ReadonlySet<string> = new Set([
  "id",
  "ip",
  "ipv6",
  "status",
  "created_at",
  "algorithm",
  "tag",
  "tags",
  "droplet_ids",
]);

function omitUndefined(body: Body): Body {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

/** The desired state of everything that can be changed. */
export interface DesiredTarget extends DesiredState {
  readonly name: string;
  readonly droplet_ids: readonly string[];
}

/**
 * Lists differences between a load balancer and its desired state, by the API's names. Both are compared as
 * the API shows them: lists as sets, and missing fields as defaults.
 */
export function listDifferences(current: LoadBalancer, desired: DesiredTarget): readonly string[] {
  // Health check fields without a desired value stay unchanged.
  const { proxy_protocol: desiredProxyProtocol } = desired.health_check;
  const hasProxyProtocol = desiredProxyProtocol !== undefined;
  const [currentFields, desiredFields] = [
    normalize(current, hasProxyProtocol),
    normalize(desired, hasProxyProtocol),
  ];
  return Object.keys(desiredFields).filter((key) => currentFields[key] !== desiredFields[key]);
}

type ComparedFields = Pick<
  LoadBalancer,
  | "name"
  | "redirect_http_to_https"
  | "enable_proxy_protocol"
  | "enable_backend_keepalive"
  | "disable_lets_encrypt_dns_records"
> & {
  readonly droplet_ids: readonly string[];
  readonly forwarding_rules: readonly unknown[];
  readonly health_check: LoadBalancer["health_check"] | DesiredState["health_check"];
  readonly sticky_sessions: LoadBalancer["sticky_sessions"] | DesiredState["sticky_sessions"];
  readonly firewall: { readonly allow: readonly string[]; readonly deny: readonly string[] };
  readonly size_unit?: number | null | undefined;
  readonly size?: string | null | undefined;
  readonly http_idle_timeout_seconds?: number | null | undefined;
};

function normalize(balancer: ComparedFields, withProxyProtocol: boolean): Readonly<Record<string, string>> {
  const { health_check: check, sticky_sessions: sticky, firewall } = balancer;
  const { proxy_protocol: proxied, path, ...rest } = check;
  const hasPath = check.protocol !== "tcp";
  const parts = {
    name: balancer.name,
    droplet_ids: sortUnique(balancer.droplet_ids),
    forwarding_rules: sortUnique(balancer.forwarding_rules.map(formatCanonicalJson)),
    health_check: {
      ...rest,
      ...(hasPath ? { path } : {}),
      ...(withProxyProtocol ? { proxy_protocol: proxied ?? false } : {}),
    },
    sticky_sessions: sticky.type === "cookies" ? sticky : { type: "none" },
    firewall: { allow: sortUnique(firewall.allow), deny: sortUnique(firewall.deny) },
    size: getSizeUnits(balancer),
    redirect_http_to_https: balancer.redirect_http_to_https,
    enable_proxy_protocol: balancer.enable_proxy_protocol,
    enable_backend_keepalive: balancer.enable_backend_keepalive,
    disable_lets_encrypt_dns_records: balancer.disable_lets_encrypt_dns_records,
    http_idle_timeout_seconds: balancer.http_idle_timeout_seconds || DEFAULT_IDLE_SECONDS,
  };
  return Object.fromEntries(Object.entries(parts).map(([key, value]) => [key, formatCanonicalJson(value)]));
}

/** Size names are an older form of node counts, which the API also shows. */
function getSizeUnits({ size, size_unit: units }: Pick<ComparedFields, "size" | "size_unit">): number {
  return (size ? UNITS[size] : undefined) ?? (units || 1);
}

function sortUnique(items: readonly string[]): readonly string[] {
  return [...new Set(items)].sort();
}

const UNITS: Readonly<Record<string, number>> = { "lb-small": 1, "lb-medium": 3, "lb-large": 6 };

const DEFAULT_IDLE_SECONDS = 60;
