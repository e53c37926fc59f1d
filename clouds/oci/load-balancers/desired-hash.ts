import { PREFIXES } from "#clouds/oci/load-balancers/annotations/table.ts";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** Changes with what is built from an unchanged Service, so that all Services are checked again. */
const VERSION = 1;

/**
 * Returns as one text all that determines a Service's load balancer, except its targets and OCI's own values.
 */
export function describeDesired({ metadata, spec }: Service, { cluster, cloud }: Settings): string {
  const { namespace, name, uid } = metadata;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => key === SOURCE_RANGES_ANNOTATION || PREFIXES.some((prefix) => key.startsWith(prefix)),
  );
  return formatCanonicalJson([
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
