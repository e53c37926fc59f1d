import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";

/** The instance with which a node was observed. */
export interface ObservedInstance {
  readonly account: string;
  /** In the cloud's format, such as `vpc-0123`, `fsn1/4711` or, if unknown, `-`. */
  readonly network: string;
  readonly id: string;
}

/**
 * Returns the instance with which a node was observed, if its provider ID still names it. Otherwise
 * undefined. Accounts and IDs contain no slash; networks may.
 */
export function parseObservedInstance({ metadata, spec }: Node): ObservedInstance | undefined {
  const [account, ...rest] = metadata.annotations?.[INSTANCE_ANNOTATION]?.split("/") ?? [];
  const id = rest.at(-1);
  if (account === undefined || id === undefined || id === "" || rest.length < 2) return undefined;
  const { providerID = "" } = spec;
  // Some kubelets, such as those of Oracle's own clusters, write the ID alone.
  return providerID === id || providerID.endsWith(`/${id}`)
    ? { account, network: rest.slice(0, -1).join("/"), id }
    : undefined;
}
