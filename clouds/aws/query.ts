import { isInstanceId, parseProviderID } from "#clouds/aws/provider-id.ts";
import type { Node } from "#core/node/node.ts";

/** How to find a node's instance. */
export type Query =
  | { readonly kind: "instance-id"; readonly id: string }
  | { readonly kind: "fargate"; readonly address: string }
  | { readonly kind: "name" }
  | { readonly kind: "foreign" | "invalid"; readonly message: string };

/** Queries by provider ID if present, else by an instance id at the start of the name, else by the name. */
export function buildQuery(node: Node): Query {
  const { providerID } = node.spec;
  if (providerID) {
    const parsed = parseProviderID(providerID);
    return parsed.kind === "instance" ? { kind: "instance-id", id: parsed.id } : parsed;
  }
  const [label = ""] = node.metadata.name.split(".");
  return isInstanceId(label) ? { kind: "instance-id", id: label } : { kind: "name" };
}
