import type { Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Cattle } from "#clouds/rancher/cattle/client.ts";
import { type Host, IpAddress } from "#clouds/rancher/cattle/resources.ts";
import { formatIp } from "#core/cidr.ts";
import type { Instance } from "#core/instance.ts";
import { parseIp } from "#core/ip.ts";

/** Hosts in these states run nothing, and may again. */
const STOPPED: ReadonlySet<string> = new Set(["inactive", "deactivating", "stopped"]);

/** The IP addresses of a host, in one spelling, each once; one that has none is `Unavailable`, as no node can be without. */
export async function addressesOf(
  cattle: Cattle,
  host: Host,
  turn: Turn,
): Promise<Outcome<readonly string[]>> {
  const texts = await readAddresses(cattle, host, turn);
  return texts.kind === "ok" ? ipsIn(texts.value, host) : texts;
}

/** What Rancher has as addresses of a host, whatever it is; none where it links to none. */
export async function readAddresses(
  cattle: Cattle,
  host: Host,
  turn: Turn,
): Promise<Outcome<readonly string[]>> {
  const link = host.links["ipAddresses"];
  if (link === undefined) return ok([]);
  const listed = await cattle.list(link, {}, IpAddress, turn);
  if (listed.kind === "fault") return listed;
  return ok(listed.value.flatMap(({ address }) => (address ? [address] : [])));
}

/** Texts as IP addresses, each once; a fault where one is none, and where there is none. */
export function ipsIn(texts: readonly string[], { id }: Host): Outcome<readonly string[]> {
  const ips = texts.flatMap((text) => parseIp(text) ?? []);
  if (ips.length < texts.length) return fault("Unavailable", `host ${id} has an address that is none`);
  if (ips.length === 0) return fault("Unavailable", `host ${id} has no IP address yet`);
  return ok([...new Set(ips.map(formatIp))]);
}

/** Rancher has no accounts; the environment stands as the network. */
export const ACCOUNT = "rancher";

/** Puts a host in the words of all clouds. */
export function instanceOf(
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
