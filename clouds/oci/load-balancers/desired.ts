import { PREFIXES } from "#clouds/oci/load-balancers/annotations/table.ts";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import { canonicalJson } from "#core/hash.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** Changes with what is made of the same Service, so that all of them are looked at again. */
const VERSION = 1;

/** All that decides what a Service's load balancer is, but for its targets and what OCI itself supplies, as one text. */
export function desiredOf({ metadata, spec }: Service, { cluster, cloud }: Settings): string {
  const { namespace, name, uid } = metadata;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => key === SOURCE_RANGES_ANNOTATION || PREFIXES.some((prefix) => key.startsWith(prefix)),
  );
  return canonicalJson([
    VERSION,
    namespace,
    name,
    uid,
    Object.fromEntries(annotations),
    spec,
    cluster,
    cloud,
  ]);
}
