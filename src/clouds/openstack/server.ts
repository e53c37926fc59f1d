import * as z from "zod";
import type { ProviderID } from "#clouds/listed/query.ts";
import { rejectProviderID } from "#clouds/provider-id.ts";
import type { InstanceState } from "#core/instance.ts";

/** An address in Nova, under the name of its network. */
const Address = z.object({
  addr: z.string(),
  "OS-EXT-IPS:type": z.string().optional().catch(undefined),
});

/**
 * A server in Nova from microversion 2.47 on, reduced to the fields in use. Id and name are required. Any
 * other missing or invalid field is undefined, which concerns only the node that needs it.
 */
export const Server = z.object({
  id: z.string().refine(isServerId),
  name: z.string().min(1),
  status: z.string().optional().catch(undefined),
  tenant_id: z.string().optional().catch(undefined),
  metadata: z.record(z.string(), z.string()).optional().catch(undefined),
  tags: z.array(z.string()).optional().catch(undefined),
  addresses: z.record(z.string(), z.array(Address)).optional().catch(undefined),
  accessIPv4: z.string().optional().catch(undefined),
  accessIPv6: z.string().optional().catch(undefined),
  flavor: z
    .object({
      original_name: z.string().optional(),
      name: z.string().optional(),
      id: z.string().optional(),
    })
    .optional()
    .catch(undefined),
  "OS-EXT-AZ:availability_zone": z.string().nullish().catch(undefined),
});

/** A port in Neutron, reduced to the fields in use. */
export const Port = z.object({
  id: z.string().min(1),
  device_id: z.string(),
  device_owner: z.string(),
  network_id: z.string(),
  status: z.string(),
  fixed_ips: z.array(z.object({ ip_address: z.string() })),
});
export type Port = z.output<typeof Port>;

/** A server, and its ports in the order of their ids. */
export type Server = z.output<typeof Server> & { readonly ports: readonly Port[] };

/** The answer with one server. */
export const ServerAnswer = z.object({ server: Server });

const Links = z.array(z.object({ rel: z.string() })).optional();

/** One page of a list. Entries are parsed one by one, so that an invalid one does not affect the others. */
export const ServersPage = z.object({
  servers: z.array(z.looseObject({ id: z.string() })),
  servers_links: Links,
});

/** One page of ports; an invalid entry fails the page, because its server is unknown. */
export const PortsPage = z.object({ ports: z.array(Port), ports_links: Links });
export type PortsPage = z.output<typeof PortsPage>;

const SCHEME = "openstack://";

/** Parses a provider ID: with a region, without one, or the id alone as in old clusters. */
export function parseProviderID(text: string, clusterRegion: string): ProviderID {
  if (isServerId(text)) return { kind: "id", id: text };
  if (!text.startsWith(SCHEME)) return rejectProviderID("foreign", text, "its scheme is not openstack");
  const [region = "", id = "", ...more] = text.slice(SCHEME.length).split("/");
  if (!isServerId(id) || more.length > 0)
    return rejectProviderID("invalid", text, "it does not end in a server's id, a UUID in lower case");
  if (region === "" || region === clusterRegion) return { kind: "id", id };
  const message = `server ${id} is not the cluster's: expected region ${clusterRegion}, found ${region.slice(0, 100)}`;
  return { kind: "elsewhere", message };
}

/** Formats the form that is written; with the region if ids need it to be distinct. */
export function formatProviderID(id: string, region: string | undefined): string {
  return `${SCHEME}${region ?? ""}/${id}`;
}

/** Whether a text is the id of a server; nothing else may become part of a path. */
function isServerId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** Whether a server has ended although Nova still shows it. */
export function hasEnded({ status }: Server): boolean {
  return toInstanceState(status ?? "") === "terminated";
}

/** An unknown status proves nothing: neither that a server is gone nor that it is stopped. */
export function toInstanceState(status: string): InstanceState {
  return STATES.get(status) ?? "running";
}

const STATES: ReadonlyMap<string, InstanceState> = new Map([
  ["SHUTOFF", "stopped"],
  ["DELETED", "terminated"],
  ["SOFT_DELETED", "terminated"],
]);
