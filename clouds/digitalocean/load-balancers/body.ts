import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { Target } from "#clouds/digitalocean/load-balancers/compare.ts";

/** What is sent to the API, as JSON. */
export type Body = Readonly<Record<string, unknown>>;

/** What is settled for good when a load balancer is made. */
export interface Foundation {
  readonly region: string;
  readonly type: string;
  readonly network: string;
  readonly network_stack: string;
  readonly vpc_uuid?: string | undefined;
  readonly subnet_uuid?: string | undefined;
  readonly ip?: string | undefined;
  readonly tags: readonly string[];
}

/** What a load balancer is made with. */
export function creation(foundation: Foundation, target: Target): Body {
  return withoutUndefined({ ...foundation, ...target });
}

/**
 * What a load balancer is replaced with: whatever is left out is set to its default, so all that is there and that nobody asks to be
 * otherwise goes along as it was read.
 */
export function replacement(there: LoadBalancer, target: Target, tags: readonly string[]): Body {
  const { size: _size, size_unit: _units, http_idle_timeout_seconds: _idle, ...rest } = there;
  const kept = Object.entries(rest).filter(
    ([key, value]) => !READ_ONLY.has(key) && value !== null && value !== "",
  );
  return withoutUndefined({ ...Object.fromEntries(kept), ...target, tags });
}

/** What the API adds by itself, or takes at creation alone. */
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

function withoutUndefined(body: Body): Body {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
