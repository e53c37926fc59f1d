import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";

/** The instance that a node was seen with. */
export interface SeenInstance {
  readonly account: string;
  /** As its cloud writes it, such as `vpc-0123`, `fsn1/4711` or, where it is unknown, `-`. */
  readonly network: string;
  readonly id: string;
}

/**
 * The instance that a node was seen with and still names by its provider ID; undefined where it never was, or names another one
 * or none. Accounts and ids hold no slash; networks might.
 */
export function seenInstance({ metadata, spec }: Node): SeenInstance | undefined {
  const [account, ...rest] = metadata.annotations?.[INSTANCE_ANNOTATION]?.split("/") ?? [];
  const id = rest.at(-1);
  if (account === undefined || id === undefined || id === "" || rest.length < 2) return undefined;
  const { providerID = "" } = spec;
  // Some kubelets write the id alone, as those of Oracle's own clusters do.
  return providerID === id || providerID.endsWith(`/${id}`)
    ? { account, network: rest.slice(0, -1).join("/"), id }
    : undefined;
}
