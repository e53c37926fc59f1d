import * as z from "zod";
import { isSelected, type Requirement } from "#clouds/hcloud/label-selector.ts";
import type { Fault } from "#clouds/http/outcome.ts";
import type { ProviderID } from "#clouds/listed/query.ts";
import { rejectProviderID } from "#clouds/provider-id.ts";

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

const SCHEME = "hcloud://";

/**
 * Prefixes of dedicated servers' provider IDs. The second, older form is tested before that of cloud servers.
 */
const ROBOT = /^(hrobot:\/\/|hcloud:\/\/bm-)/;

/** Parses a provider ID. An id has up to 64 bits and stays text. */
export function parseProviderID(text: string): ProviderID {
  if (ROBOT.test(text))
    return rejectProviderID(
      "foreign",
      text,
      "it names a dedicated server, and Robot servers are not supported",
    );
  if (!text.startsWith(SCHEME)) return rejectProviderID("foreign", text, "its scheme is not hcloud");
  const id = text.slice(SCHEME.length);
  if (isServerId(id)) return { kind: "id", id };
  return rejectProviderID(
    "invalid",
    text,
    "it does not end in a server's id, a whole number from 1 without leading zeros",
  );
}

/** Formats the form that is written. */
export function formatProviderID(id: string): string {
  return `${SCHEME}${id}`;
}

/** Whether a text is the id of a server; nothing else may become part of a path. */
export function isServerId(text: string): boolean {
  return /^[1-9]\d{0,18}$/.test(text);
}

/** Criteria by which a cluster recognizes its servers. */
export interface Ownership {
  /** The network's id; undefined if none is configured. */
  readonly network: string | undefined;
  readonly labelSelector: string | undefined;
  /** The selector's requirements; empty if none is configured. */
  readonly requirements: readonly Requirement[];
}

/**
 * Returns the expected and the found value that prove a server foreign; undefined if it belongs to the
 * cluster. A server whose description lacks a needed field is unproven, not foreign.
 */
export function checkOwnership(
  { network, labelSelector, requirements }: Ownership,
  { id, private_net: attached, labels }: Server,
): Fault | undefined {
  const hasFacts =
    (network === undefined || attached !== undefined) && (requirements.length === 0 || labels !== undefined);
  if (!hasFacts) {
    const message = `the description of server ${id} lacks networks or labels, which show its owner`;
    return { code: "Unavailable", message };
  }
  const networks = (attached ?? []).map((each) => each.network);
  const faults = [
    ...(network === undefined || networks.includes(network)
      ? []
      : [`expected network ${network}, found ${formatList(networks)}`]),
    ...(isSelected(requirements, labels ?? {})
      ? []
      : [
          `expected labels ${labelSelector}, found ${formatList(Object.entries(labels ?? {}).map((each) => each.join("=")))}`,
        ]),
  ];
  if (faults.length === 0) return undefined;
  return { code: "Foreign", message: `server ${id} is not the cluster's: ${faults.join("; ")}` };
}

function formatList(all: readonly string[]): string {
  return all.slice(0, MAX_SHOWN).join(", ") || "none";
}

const MAX_SHOWN = 5;
