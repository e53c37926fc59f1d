import * as z from "zod";
import { isServerId } from "#clouds/hcloud/provider-id.ts";

/** The id of whatever Hetzner has: a whole number of up to 64 bits, kept as text. */
const HcloudId = z.union([z.int(), z.string()]).transform(String).refine(isServerId);

/**
 * A server as the API describes it, cut down to what is read. Without id and name it is none; whatever else is missing or
 * not as it should be is undefined, and a matter of the one node that needs it.
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

/** The answer to a read of one server. */
export const ServerAnswer = z.object({ server: Server });

/** Where in a list a page is; null is the end. */
const Pagination = z.object({
  pagination: z.object({
    next_page: z.int().min(2).nullable(),
    last_page: z.int().min(1).nullish().catch(undefined),
  }),
});

/** One page of a list; entries are parsed one by one, as one that is unreadable is not the others' trouble. */
export const ServersPage = z.object({ servers: z.array(z.unknown()), meta: Pagination });

/** A network, cut down to what it is known by. */
export const HcloudNetwork = z.object({ id: HcloudId, name: z.string().max(255) });
export type HcloudNetwork = z.output<typeof HcloudNetwork>;

/** One page of networks; what is not one is not the others' trouble. */
export const NetworksPage = z.object({ networks: z.array(z.unknown()), meta: Pagination });
