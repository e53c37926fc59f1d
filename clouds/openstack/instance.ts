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
  const type = chooseType(flavor);
  if (type === undefined) return lacking(id, "flavor");
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

/**
 * Returns the flavor's name or ID, whichever is a valid label value, else its name made one. Since microversion 2.47 a server shows the
 * flavor's original name alone, such as `SCS-2V:4:10`. Empty, and then not written, where the name has no character that a label can
 * hold; undefined where the server shows no flavor.
 */
function chooseType(flavor: Server["flavor"]): string | undefined {
  const shown = [flavor?.original_name, flavor?.name, flavor?.id].flatMap((text) => text || []);
  const [first] = shown;
  const valid = shown.find((text) => faultOfLabelValue(text) === undefined);
  return valid ?? (first === undefined ? undefined : labelValueOf(first));
}

/** What a label can hold of a text, as the stock controller makes it. */
function labelValueOf(text: string): string {
  const trim = (value: string): string => value.replace(/^[-_.]+|(?<![-_.])[-_.]+$/g, "");
  return trim(trim(text.replace(/[^-A-Za-z0-9_.]+/g, "-")).slice(0, 63));
}

function lacking(id: string, what: string): Outcome<never> {
  return fault("Unavailable", `the description of server ${id} lacks a valid ${what}`);
}
