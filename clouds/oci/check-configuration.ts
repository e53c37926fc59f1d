import type { ConfigurationCheck } from "#clouds/cloud.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Fault } from "#clouds/http/outcome.ts";
import type { OciApi } from "#clouds/oci/api.ts";
import type { OciCloudConfig } from "#clouds/oci/config.ts";
import { isNotFound } from "#clouds/oci/read-error.ts";
import { findRegion, KNOWN_REGIONS } from "#clouds/oci/regions.ts";
import { findNearest } from "#core/nearest.ts";

/**
 * Checks whether the region answers and shows the compartment and the VCN. Only what every node needs is a
 * fault. A VCN that is not shown may be missing or unreadable, and reading it is needed for nothing else.
 */
export async function checkConfiguration(
  { auth, compartment, vcn, endpoints }: OciCloudConfig,
  iaas: Pick<OciApi, "get">,
  callContext: CallContext,
): Promise<ConfigurationCheck> {
  const query = new URLSearchParams({ compartmentId: compartment, limit: "1" });
  const path = `/20160918/instances?${query}`;
  const listed = await iaas.get(
    { operation: "list instances", template: "GET /instances", path },
    callContext,
  );
  if (listed.kind === "fault") {
    const regionError = endpoints?.iaas === undefined ? checkRegion(auth.region, listed.fault) : undefined;
    if (regionError !== undefined) return { faults: [{ key: "auth.region", message: regionError }] };
    if (!isNotFound(listed.fault)) return { faults: [], unchecked: listed.fault.message };
    const message = `${listed.fault.message}; ${compartment} is not in ${auth.region}'s tenancy, or no policy lets the user read instance-family there`;
    return { faults: [{ key: "compartment", message }] };
  }
  if (vcn === undefined) return { faults: [] };
  const request = { operation: "get vcns", template: "GET /vcns/{id}", path: `/20160918/vcns/${vcn}` };
  const read = await iaas.get(request, callContext);
  if (read.kind === "ok") return { faults: [] };
  const hint = isNotFound(read.fault)
    ? `; ${vcn} is not in ${auth.region}, or no policy lets the user read virtual-network-family`
    : "";
  return { faults: [], unchecked: `vcn: ${read.fault.message}${hint}` };
}

/** Reports a name without a host that is not a known region; a newer region may be unknown. */
function checkRegion(configured: string, { message, status }: Fault): string | undefined {
  const region = findRegion(configured) ?? configured;
  if (status !== undefined || !/\bENOTFOUND\b/.test(message) || KNOWN_REGIONS.includes(region))
    return undefined;
  const nearest = findNearest(region, KNOWN_REGIONS);
  const suggestion = nearest === undefined ? "" : `, perhaps ${nearest}`;
  return `Oracle has no host for the region ${region}${suggestion}; known are ${KNOWN_REGIONS.join(", ")}`;
}
