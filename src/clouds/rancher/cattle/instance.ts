import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { type Cattle, type Host, IpAddress } from "#clouds/rancher/cattle/client.ts";
import { formatIp } from "#core/cidr.ts";
import type { Instance } from "#core/instance.ts";
import { parseIp } from "#core/ip.ts";

/** Hosts in these states run nothing, and may run again. */
const STOPPED: ReadonlySet<string> = new Set(["inactive", "deactivating", "stopped"]);

/**
 * Reads the IP addresses of a host, normalized and distinct. A host without any is `Unavailable`, because a
 * node needs one.
 */
export async function readIpAddresses(
  cattle: Cattle,
  host: Host,
  callContext: CallContext,
): Promise<Outcome<readonly string[]>> {
  const texts = await readAddresses(cattle, host, callContext);
  return texts.kind === "ok" ? parseIps(texts.value, host) : texts;
}

/** Reads what Rancher has as a host's addresses, valid or not; none if it links to none. */
export async function readAddresses(
  cattle: Cattle,
  host: Host,
  callContext: CallContext,
): Promise<Outcome<readonly string[]>> {
  const link = host.links["ipAddresses"];
  if (link === undefined) return ok([]);
  const listed = await cattle.list(link, {}, IpAddress, callContext);
  if (listed.kind === "fault") return listed;
  return ok(listed.value.flatMap(({ address }) => (address ? [address] : [])));
}

/** Parses texts as distinct IP addresses; a fault if one is invalid or the list is empty. */
export function parseIps(texts: readonly string[], { id }: Host): Outcome<readonly string[]> {
  const ips = texts.flatMap((text) => parseIp(text) ?? []);
  if (ips.length < texts.length) return fault("Unavailable", `host ${id} has an invalid address`);
  if (ips.length === 0) return fault("Unavailable", `host ${id} has no IP address yet`);
  return ok([...new Set(ips.map(formatIp))]);
}

/** Rancher has no accounts; the environment serves as the network. */
export const ACCOUNT = "rancher";

/** Converts a host to the type of all clouds. */
export function buildInstance(
  { uuid, hostname, state }: Host,
  addresses: readonly string[],
  network: string,
): Instance {
  return {
    id: uuid,
    account: ACCOUNT,
    network,
    state: STOPPED.has(state ?? "") ? "stopped" : "running",
    providerID: `rancher://${uuid}`,
    type: "rancher",
    zone: "",
    region: "",
    addresses: [
      ...addresses.flatMap((address) => [
        { type: "ExternalIP", address },
        { type: "InternalIP", address },
      ]),
      ...(hostname ? [{ type: "Hostname", address: hostname }] : []),
    ],
    labels: {},
  };
}
