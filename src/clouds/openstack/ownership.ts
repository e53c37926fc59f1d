import type { Fault } from "#clouds/http/outcome.ts";
import type { Queried } from "#clouds/listed/query.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/config.ts";
import { hasEnded, type Server } from "#clouds/openstack/server.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";

/** Criteria by which a cluster recognizes its servers. */
export type Ownership = Pick<
  OpenStackCloudConfig,
  "region" | "network-id" | "server-tag" | "server-metadata"
> & {
  /** The token's project. */
  readonly project: string;
};

/**
 * Returns the fault of a server that is not the cluster's, with the expected and the found value. `Foreign`;
 * `Denied` if Nova does not show its tags; `Unavailable` if its description lacks a needed field. Undefined
 * if it belongs to the cluster. `node` is the node that it would belong to.
 */
export function checkOwnership(
  ownership: Ownership,
  server: Server,
  node: Queried | undefined,
): Fault | undefined {
  const { id, tags } = server;
  const missingField = findMissingFact(ownership, server);
  if (missingField !== undefined)
    return { code: "Unavailable", message: `the description of server ${id} lacks its ${missingField}` };
  const faults = [
    ...checkProject(ownership, server),
    ...checkNetwork(ownership, server, node),
    ...checkTag(ownership, server),
    ...checkMetadata(ownership, server),
  ];
  if (faults.length > 0)
    return { code: "Foreign", message: `server ${id} is not the cluster's: ${faults.join("; ")}` };
  if (ownership["server-tag"] === undefined || tags !== undefined) return undefined;
  return {
    code: "Denied",
    message: `server ${id}: Nova does not show its tags, which needs microversion 2.26`,
  };
}

/** A missing field does not prove a server foreign. */
function findMissingFact(ownership: Ownership, { tenant_id: project, metadata }: Server): string | undefined {
  if (project === undefined) return "project";
  return ownership["server-metadata"] !== undefined && metadata === undefined ? "metadata" : undefined;
}

/** Formats the node's annotation without the id of its instance. */
export function formatNetwork({ region, "network-id": network }: Ownership): string {
  return `${region}/${network ?? "-"}`;
}

/** An administrator can read the servers of all projects. */
function checkProject({ project }: Ownership, { tenant_id: found }: Server): string[] {
  return found === project ? [] : [`expected project ${project}, found ${found}`];
}

function checkNetwork(ownership: Ownership, server: Server, node: Queried | undefined): string[] {
  const expected = ownership["network-id"];
  const networks = [...new Set(server.ports.map((port) => port.network_id))];
  if (expected === undefined || networks.includes(expected) || wasOwned(ownership, server, node)) return [];
  return [`expected network ${expected}, found ${formatList(networks)}`];
}

/** Ports are deleted with their server; the node's annotation then shows where it was. */
function wasOwned(ownership: Ownership, server: Server, node: Queried | undefined): boolean {
  if (!hasEnded(server) || server.ports.length > 0) return false;
  const { id } = server;
  const expected = `${ownership.project}/${formatNetwork(ownership)}/${id}`;
  return node?.metadata.annotations?.[INSTANCE_ANNOTATION] === expected;
}

function checkTag({ "server-tag": expected }: Ownership, { tags }: Server): string[] {
  if (expected === undefined || tags === undefined || tags.includes(expected)) return [];
  return [`expected tag ${expected}, found ${formatList(tags)}`];
}

function checkMetadata({ "server-metadata": expected = {} }: Ownership, { metadata = {} }: Server): string[] {
  return Object.entries(expected).flatMap(([key, value]) => {
    const found = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
    return found === value ? [] : [`expected metadata ${key}=${value}, found ${found ?? "none"}`];
  });
}

function formatList(all: readonly string[]): string {
  return all.slice(0, MAX_SHOWN).join(", ") || "none";
}

const MAX_SHOWN = 5;
