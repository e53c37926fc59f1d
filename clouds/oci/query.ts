import { COMPARTMENT_ANNOTATION, type OciCloudConfig } from "#clouds/oci/kind.ts";
import { parseProviderID } from "#clouds/oci/provider-id.ts";
import type { Node } from "#core/node/node.ts";

/** How a node's instance is to be looked for; `compartment` is where it should be, which a tenant may have written. */
export type Query =
  | { readonly kind: "id"; readonly id: string; readonly compartment: string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "foreign" | "invalid"; readonly message: string };

/** Asks by the provider ID where there is one, else by the node's name. */
export function queryOf(node: Node, config: OciCloudConfig): Query {
  const { providerID } = node.spec;
  if (!providerID) return { kind: "name", name: node.metadata.name };
  const parsed = parseProviderID(providerID);
  if (parsed.kind !== "instance") return parsed;
  const compartment = node.metadata.annotations?.[COMPARTMENT_ANNOTATION] || config.compartment;
  return { kind: "id", id: parsed.id, compartment };
}

/** For whom and by what it is looked, as messages begin. */
export function subjectOf(node: Node, query: Query): string {
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
