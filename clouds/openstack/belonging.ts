import type { Fault } from "#clouds/http/outcome.ts";
import type { Queried } from "#clouds/listed/query.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/kind.ts";
import type { Server } from "#clouds/openstack/server.ts";
import { hasEnded } from "#clouds/openstack/state.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";

/** By what a cluster knows its own. */
export type Ownership = Pick<
  OpenStackCloudConfig,
  "region" | "network-id" | "server-tag" | "server-metadata"
> & {
  /** The project of the token. */
  readonly project: string;
};

/**
 * What keeps a server from being the cluster's, expected and found: `Foreign`; `Denied` where Nova does not show its tags, and
 * `Unavailable` where its description lacks what would tell. Undefined where it is the cluster's. `node` is whose it would be.
 */
export function notOurs(ownership: Ownership, server: Server, node: Queried | undefined): Fault | undefined {
  const { id, tags } = server;
  const lacking = untold(ownership, server);
  if (lacking !== undefined)
    return { code: "Unavailable", message: `the description of server ${id} lacks its ${lacking}` };
  const faults = [
    ...otherProject(ownership, server),
    ...otherNetwork(ownership, server, node),
    ...otherTag(ownership, server),
    ...otherMetadata(ownership, server),
  ];
  if (faults.length > 0)
    return { code: "Foreign", message: `server ${id} is not the cluster's: ${faults.join("; ")}` };
  if (ownership["server-tag"] === undefined || tags !== undefined) return undefined;
  return {
    code: "Denied",
    message: `server ${id}: its tags are not shown, which takes Nova's microversion 2.26`,
  };
}

/** What a description lacks that would tell is no sign of somebody else. */
function untold(ownership: Ownership, { tenant_id: project, metadata }: Server): string | undefined {
  if (project === undefined) return "project";
  return ownership["server-metadata"] !== undefined && metadata === undefined ? "metadata" : undefined;
}

/** The annotation of a node, without the id of its instance. */
export function networkOf({ region, "network-id": network }: Ownership): string {
  return `${region}/${network ?? "-"}`;
}

/** Whoever administers a cloud is shown the servers of all projects, one by one. */
function otherProject({ project }: Ownership, { tenant_id: found }: Server): string[] {
  return found === project ? [] : [`expected project ${project}, found ${found}`];
}

function otherNetwork(ownership: Ownership, server: Server, node: Queried | undefined): string[] {
  const expected = ownership["network-id"];
  const networks = [...new Set(server.ports.map((port) => port.network_id))];
  if (expected === undefined || networks.includes(expected) || wasOurs(ownership, server, node)) return [];
  return [`expected network ${expected}, found ${shown(networks)}`];
}

/** Ports end with their server, and then it is the node that says where it was. */
function wasOurs(ownership: Ownership, server: Server, node: Queried | undefined): boolean {
  if (!hasEnded(server) || server.ports.length > 0) return false;
  const { id } = server;
  const expected = `${ownership.project}/${networkOf(ownership)}/${id}`;
  return node?.metadata.annotations?.[INSTANCE_ANNOTATION] === expected;
}

function otherTag({ "server-tag": expected }: Ownership, { tags }: Server): string[] {
  if (expected === undefined || tags === undefined || tags.includes(expected)) return [];
  return [`expected tag ${expected}, found ${shown(tags)}`];
}

function otherMetadata({ "server-metadata": expected = {} }: Ownership, { metadata = {} }: Server): string[] {
  return Object.entries(expected).flatMap(([key, value]) => {
    const found = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
    return found === value ? [] : [`expected metadata ${key}=${value}, found ${found ?? "none"}`];
  });
}

function shown(all: readonly string[]): string {
  return all.slice(0, MAX_SHOWN).join(", ") || "none";
}

const MAX_SHOWN = 5;
