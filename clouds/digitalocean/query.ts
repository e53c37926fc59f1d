import { parseProviderID } from "#clouds/digitalocean/provider-id.ts";

/** A node, or what else names a droplet as nodes do. */
export interface Queried {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly providerID?: string | undefined };
}

/** How a node's droplet is to be looked for. */
export type Query =
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "foreign" | "invalid"; readonly message: string };

/** By the provider ID where there is one, else by the node's name. */
export function queryOf(node: Queried): Query {
  const { providerID } = node.spec;
  if (!providerID) return { kind: "name", name: node.metadata.name };
  const parsed = parseProviderID(providerID);
  return parsed.kind === "droplet" ? { kind: "id", id: parsed.id } : parsed;
}

/** For whom and by what it is looked, as messages begin. */
export function subjectOf(node: Queried): string {
  const query = queryOf(node);
  const subject = `node ${node.metadata.name}`;
  switch (query.kind) {
    case "id":
      return `${subject}, looked for by droplet id ${query.id}`;
    case "name":
      return `${subject}, looked for by its name`;
    case "foreign":
    case "invalid":
      return subject;
  }
}
