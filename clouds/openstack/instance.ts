import type { Outcome } from "#clouds/http/outcome.ts";
import { buildAddresses } from "#clouds/openstack/addresses.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/config.ts";
import { formatNetwork, type Ownership } from "#clouds/openstack/ownership.ts";
import { formatProviderID } from "#clouds/openstack/provider-id.ts";
import type { Server } from "#clouds/openstack/server.ts";
import { toInstanceState } from "#clouds/openstack/state.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Instance } from "#core/instance.ts";
import { checkLabelValue } from "#core/label-syntax.ts";

/**
 * Converts a server to the type of all clouds. A server without a field that every usable one has is
 * `Unavailable`.
 */
export function buildInstance(
  server: Server,
  config: OpenStackCloudConfig,
  ownership: Ownership,
): Outcome<Instance> {
  const { id, status, flavor, "OS-EXT-AZ:availability_zone": zone } = server;
  if (!status) return buildMissingFault(id, "status");
  const type = chooseType(flavor);
  if (type === undefined) return buildMissingFault(id, "flavor");
  const addresses = buildAddresses(server, config);
  if (addresses.kind === "fault") return addresses;
  return ok({
    id,
    account: ownership.project,
    network: formatNetwork(ownership),
    state: toInstanceState(status),
    providerID: formatProviderID(id, config.regional ? config.region : undefined),
    type,
    zone: formatLabelValue(zone ?? ""),
    region: config.region,
    addresses: [...addresses.value],
    labels: {},
  });
}

/**
 * Returns the flavor's name or ID, whichever is a valid label value, else a valid form of its name. Since
 * microversion 2.47 a server shows only the flavor's original name, such as `SCS-2V:4:10`. Empty, and then
 * not written, if the name has no character that a label allows; undefined if the server shows no flavor.
 */
function chooseType(flavor: Server["flavor"]): string | undefined {
  const candidates = [flavor?.original_name, flavor?.name, flavor?.id].flatMap((text) => text || []);
  const [first] = candidates;
  const valid = candidates.find((text) => checkLabelValue(text) === undefined);
  return valid ?? (first === undefined ? undefined : formatLabelValue(first));
}

/** Formats a text as a label value, as the stock controller does. */
function formatLabelValue(text: string): string {
  const trim = (value: string): string => value.replace(/^[-_.]+|(?<![-_.])[-_.]+$/g, "");
  return trim(trim(text.replace(/[^-A-Za-z0-9_.]+/g, "-")).slice(0, 63));
}

function buildMissingFault(id: string, field: string): Outcome<never> {
  return fault("Unavailable", `the description of server ${id} lacks a valid ${field}`);
}
