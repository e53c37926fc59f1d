import type { Outcome } from "#clouds/http/outcome.ts";
import { addressesOf } from "#clouds/openstack/addresses.ts";
import { networkOf, type Ownership } from "#clouds/openstack/belonging.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/kind.ts";
import { formatProviderID } from "#clouds/openstack/provider-id.ts";
import type { Server } from "#clouds/openstack/server.ts";
import { stateOf } from "#clouds/openstack/state.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Instance } from "#core/instance.ts";
import { faultOfLabelValue } from "#core/label-syntax.ts";

/** Puts a server in the words of all clouds; one that lacks what no usable server lacks is `Unavailable`. */
export function instanceOf(
  server: Server,
  config: OpenStackCloudConfig,
  ownership: Ownership,
): Outcome<Instance> {
  const { id, status, flavor, "OS-EXT-AZ:availability_zone": zone } = server;
  if (!status) return lacking(id, "status");
  const type = [flavor?.original_name, flavor?.name, flavor?.id].find(isUsable);
  if (type === undefined) return lacking(id, "flavor whose name or id can be a label");
  const addresses = addressesOf(server, config);
  if (addresses.kind === "fault") return addresses;
  return ok({
    id,
    account: ownership.project,
    network: networkOf(ownership),
    state: stateOf(status),
    providerID: formatProviderID(id, config.regional ? config.region : undefined),
    type,
    zone: labelValueOf(zone ?? ""),
    region: config.region,
    addresses: [...addresses.value],
    labels: {},
  });
}

function isUsable(text: string | undefined): text is string {
  return text !== undefined && text !== "" && faultOfLabelValue(text) === undefined;
}

/** What a label can hold of a text, as the stock controller makes it. */
function labelValueOf(text: string): string {
  const trim = (value: string): string => value.replace(/^[-_.]+|[-_.]+$/g, "");
  return trim(trim(text.replace(/[^-A-Za-z0-9_.]+/g, "-")).slice(0, 63));
}

function lacking(id: string, what: string): Outcome<never> {
  return fault("Unavailable", `the description of server ${id} lacks a valid ${what}`);
}
