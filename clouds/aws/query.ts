import { isInstanceId, parseProviderID } from "#clouds/aws/provider-id.ts";
import type { Node } from "#core/node/node.ts";

/** How a node's instance is to be looked for. */
export type Query =
  | { readonly kind: "instance-id"; readonly id: string }
  | { readonly kind: "fargate"; readonly address: string }
  | { readonly kind: "name" }
  | { readonly kind: "foreign" | "invalid"; readonly message: string };

/** By the provider ID where there is one; else by an instance id that the name begins with; else by the name itself. */
export function queryOf(node: Node): Query {
  const { providerID } = node.spec;
  if (providerID) {
    const parsed = parseProviderID(providerID);
    return parsed.kind === "instance" ? { kind: "instance-id", id: parsed.id } : parsed;
  }
  const [label = ""] = node.metadata.name.split(".");
  return isInstanceId(label) ? { kind: "instance-id", id: label } : { kind: "name" };
}
