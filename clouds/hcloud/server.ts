import * as z from "zod";
import { isServerId } from "#clouds/hcloud/provider-id.ts";

/** The id of a Hetzner resource: a whole number of up to 64 bits, kept as text. */
const HcloudId = z.union([z.int(), z.string()]).transform(String).refine(isServerId);

/**
 * A server in the API, reduced to the fields in use. Id and name are required. Any other missing or invalid
 * field is undefined, which concerns only the node that needs it.
 */
export const Server = z.object({
  id: HcloudId,
  name: z.string().min(1),
  status: z.string().optional().catch(undefined),
  server_type: z
    .object({ name: z.string().min(1) })
    .optional()
    .catch(undefined),
  location: z
    .object({ name: z.string().min(1) })
    .optional()
    .catch(undefined),
  public_net: z
    .object({
      ipv4: z.object({ ip: z.string() }).nullish(),
      ipv6: z.object({ ip: z.string() }).nullish(),
    })
    .optional()
    .catch(undefined),
  private_net: z
    .array(z.object({ network: HcloudId, ip: z.string() }))
    .optional()
    .catch(undefined),
  labels: z.record(z.string(), z.string()).optional().catch(undefined),
});
export type Server = z.output<typeof Server>;

/** The answer with one server. */
export const ServerAnswer = z.object({ server: Server });

/** The position of a page in its list; null marks the end. */
const Pagination = z.object({
  pagination: z.object({
    next_page: z.int().min(2).nullable(),
    last_page: z.int().min(1).nullish().catch(undefined),
  }),
});

/** One page of a list. Entries are parsed one by one, so that an invalid one does not affect the others. */
export const ServersPage = z.object({ servers: z.array(z.unknown()), meta: Pagination });

/** A network, reduced to its id and name. */
export const HcloudNetwork = z.object({ id: HcloudId, name: z.string().max(255) });
export type HcloudNetwork = z.output<typeof HcloudNetwork>;

/** One page of networks; an invalid entry does not affect the others. */
export const NetworksPage = z.object({ networks: z.array(z.unknown()), meta: Pagination });
