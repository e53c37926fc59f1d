import type { Fault } from "#clouds/http/outcome.ts";
import type { Host } from "#clouds/rancher/cattle/resources.ts";
import type { Node } from "#core/node/node.ts";

/** The result for a node among the hosts of an environment. */
export type HostMatch =
  | { readonly kind: "host"; readonly host: Host }
  | { readonly kind: "absent"; readonly criterion: string }
  | { readonly kind: "fault"; readonly fault: Fault };

const SCHEME = "rancher://";

/**
 * Parses a node's provider ID without a request: the uuid in it, a fault, or undefined without a provider ID.
 */
export function parseUuid({ spec: { providerID = "" } }: Node): string | Fault | undefined {
  if (providerID === "") return undefined;
  const quoted = JSON.stringify(providerID.slice(0, 100));
  if (!providerID.startsWith(SCHEME))
    return { code: "ForeignProviderID", message: `${quoted} is not a provider ID of this cloud` };
  const uuid = providerID.slice(SCHEME.length);
  if (/^[0-9A-Za-z-]{1,128}$/.test(uuid)) return uuid;
  return { code: "InvalidProviderID", message: `${quoted} names no host; expected ${SCHEME}<uuid>` };
}

/** Finds the host of a node: by the uuid of its provider ID, else by name. */
export function findHost(node: Node, hosts: readonly Host[]): HostMatch {
  const uuid = parseUuid(node);
  if (typeof uuid === "object") return { kind: "fault", fault: uuid };
  if (uuid !== undefined)
    return selectOnly(
      hosts.filter((host) => host.uuid === uuid),
      `of uuid ${uuid}`,
    );
  const { name } = node.metadata;
  return selectOnly(
    hosts.filter(({ hostname }) => isSameName(hostname ?? "", name)),
    "of that name",
  );
}

/** Compares names without case; if only one has dots, its first label is compared. */
function isSameName(one: string, other: string): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  if (a === "" || b === "") return false;
  if (a.includes(".") === b.includes(".")) return a === b;
  return a.split(".")[0] === b.split(".")[0];
}

function selectOnly(candidates: readonly Host[], criterion: string): HostMatch {
  const [host, second] = candidates;
  if (host === undefined) return { kind: "absent", criterion };
  if (second === undefined) return { kind: "host", host };
  const ids = candidates.map(({ uuid }) => uuid).toSorted();
  const message = `${ids.length} hosts are ${criterion}, ${ids.slice(0, 5).join(", ")}`;
  return { kind: "fault", fault: { code: "Ambiguous", message } };
}
