import { ANNOTATION_PREFIX } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/**
 * Returns as one text all that determines a Service's load balancer, except its targets and AWS's own values.
 */
export function describeDesired({ metadata, spec }: Service, { cluster, cloud }: Settings): string {
  const annotations = Object.entries(metadata.annotations ?? {})
    .filter(([name]) => name.startsWith(ANNOTATION_PREFIX) || name === SOURCE_RANGES_ANNOTATION)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const { namespace, name, uid } = metadata;
  return JSON.stringify([
    VERSION,
    namespace,
    name,
    uid,
    annotations,
    sortMembers(spec),
    cluster,
    sortMembers(cloud),
  ]);
}

/** Changes with what is built from an unchanged Service, so that all Services are checked again. */
const VERSION = 1;

/** Sorts the members of objects. */
function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return entries.map(([key, member]) => [key, sortMembers(member)]);
}
