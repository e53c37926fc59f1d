import * as z from "zod";
import { isServerId } from "#clouds/openstack/provider-id.ts";

/** An address as Nova shows it, under the name of its network. */
const Address = z.object({
  addr: z.string(),
  "OS-EXT-IPS:type": z.string().optional().catch(undefined),
});

/**
 * A server as Nova describes it from microversion 2.47 on, cut down to what is read. Without id and name it is none; whatever else
 * is missing or not as it should be is undefined, and a matter of the one node that needs it.
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

/** A port as Neutron describes it, cut down to what is asked for. */
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

/** The answer to a read of one server. */
export const ServerAnswer = z.object({ server: Server });

const Links = z.array(z.object({ rel: z.string() })).optional();

/** One page of a list; entries are parsed one by one, as one that is unreadable is not the others' trouble. */
export const ServersPage = z.object({
  servers: z.array(z.looseObject({ id: z.string() })),
  servers_links: Links,
});

/** One page of ports; of one that is unreadable nobody can tell whose it is. */
export const PortsPage = z.object({ ports: z.array(Port), ports_links: Links });
export type PortsPage = z.output<typeof PortsPage>;
