import { ANNOTATION_PREFIX } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** All that decides what a Service's load balancer is, but for its targets and what AWS itself supplies, as one text. */
export function desiredOf({ metadata, spec }: Service, { cluster, cloud }: Settings): string {
  const annotations = Object.entries(metadata.annotations ?? {})
    .filter(([name]) => name.startsWith(ANNOTATION_PREFIX) || name === SOURCE_RANGES_ANNOTATION)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const { namespace, name, uid } = metadata;
  return JSON.stringify([VERSION, namespace, name, uid, annotations, sorted(spec), cluster, sorted(cloud)]);
}

/** Changes with what is made of the same Service, so that all of them are looked at again. */
const VERSION = 1;

/** With members in one order, however they came. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return entries.map(([key, member]) => [key, sorted(member)]);
}
