import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { DesiredTarget } from "#clouds/digitalocean/load-balancers/compare.ts";

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
