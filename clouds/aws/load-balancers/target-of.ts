import { parseProviderID } from "#clouds/aws/provider-id.ts";
import type { TargetNode } from "#core/service/model.ts";

/** The instance that a node is, which is what load balancers send to; none for Fargate, whose nodes are no instances. */
export function targetOf({ providerID }: TargetNode): string | undefined {
  if (providerID === undefined) return undefined;
  const parsed = parseProviderID(providerID);
  return parsed.kind === "instance" ? parsed.id : undefined;
}
