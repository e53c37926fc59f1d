import type { Fault } from "#clouds/http/outcome.ts";
import { COMPARTMENT_ANNOTATION, type OciCloudConfig } from "#clouds/oci/config.ts";
import type { OciInstance } from "#clouds/oci/objects.ts";
import { parseProviderID } from "#clouds/oci/provider-id.ts";
import type { Node } from "#core/node/node.ts";

/** How to find a node's instance; `compartment` is its expected place, possibly written by a tenant. */
export type Query =
  | { readonly kind: "id"; readonly id: string; readonly compartment: string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "foreign" | "invalid"; readonly message: string };

/** Queries by provider ID if present, else by the node's name. */
export function buildQuery(node: Node, config: OciCloudConfig): Query {
  const { providerID } = node.spec;
  if (!providerID) return { kind: "name", name: node.metadata.name };
  const parsed = parseProviderID(providerID);
  if (parsed.kind !== "instance") return parsed;
  const compartment = node.metadata.annotations?.[COMPARTMENT_ANNOTATION] || config.compartment;
  return { kind: "id", id: parsed.id, compartment };
}

/** Formats the node and the query for the start of messages. */
export function formatSubject(node: Node, query: Query): string {
  const subject = `node ${node.metadata.name}`;
  switch (query.kind) {
    case "id":
      return `${subject}, looked for by instance ${query.id}`;
    case "name":
      return `${subject}, looked for by its name`;
    case "foreign":
    case "invalid":
      return subject;
  }
}

/** The result of the search for a node's instance. */
export type Resolution =
  /** `guess` if it matched by less than identity. Ownership is not checked yet. */
  { readonly kind: "instance"; readonly instance: OciInstance; readonly guess: boolean } | NoInstance;

/** Why there is no instance to continue with. */
export type NoInstance =
  /** Oracle's own statement, proven by a list. */
  { readonly kind: "absent"; readonly message: string } | { readonly kind: "fault"; readonly fault: Fault };

/** Builds the fault of several instances with one name. */
export function buildAmbiguousFault(ids: readonly string[]): Fault {
  const sorted = ids.toSorted();
  const message = `${sorted.length} instances answer to it, ${sorted.slice(0, 5).join(", ")}`;
  return { code: "Ambiguous", message };
}

/** Converts a fault to a resolution. */
export function toFailedResolution(fault: Fault): Resolution {
  return { kind: "fault", fault };
}
