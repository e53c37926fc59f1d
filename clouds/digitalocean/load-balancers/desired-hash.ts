import {
  ANNOTATION_PREFIX,
  DISOWN_ANNOTATION,
  ID_ANNOTATION,
} from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import { getConfiguration } from "#clouds/digitalocean/load-balancers/configuration.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { Service } from "#core/service/service.ts";
import { readSourceRanges } from "#core/service/source-ranges.ts";
import type { Settings } from "#core/settings.ts";

/**
 * Returns all parts of a Service and of the configuration that determine its load balancer, except targets.
 */
export function describeDesired(service: Service, settings: Settings): string {
  const { metadata, spec } = service;
  const { region, vpc, clusterID, defaultLoadBalancerType, allow } = getConfiguration(settings);
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([name]) => name.startsWith(ANNOTATION_PREFIX) || name === ID_ANNOTATION || name === DISOWN_ANNOTATION,
  );
  const ranges = readSourceRanges(service);
  return formatCanonicalJson({
    annotations: Object.fromEntries(annotations),
    ports: spec.ports?.map(({ protocol, port, nodePort }) => ({ protocol, port, nodePort })),
    local: spec.externalTrafficPolicy === "Local" ? spec.healthCheckNodePort : false,
    ranges: ranges.kind === "read" ? ranges.ranges : undefined,
    cloud: { region, vpc, clusterID, defaultLoadBalancerType, allow },
  });
}
