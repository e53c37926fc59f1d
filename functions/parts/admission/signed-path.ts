import type { KeyObject } from "node:crypto";
import { createVerifySignature, signCluster } from "#functions/parts/cluster-signature.ts";

/** A path at which an API server asks the function: `/lb-service/CLUSTER/SIGNATURE`. */
export interface RequestedPath {
  readonly cluster: string;
  /** Whether the operator signed the path for this cluster. */
  readonly isSigned: boolean;
}

/** Reads the path of a request; undefined if it names no cluster. */
export type ReadPath = (path: string) => RequestedPath | undefined;

const PATH = /^\/lb-service\/([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)(?:\/([^/]*))?$/;

/** Creates a reader of paths signed by one of these keys; without keys, no path is signed. */
export function createReadPath(keys: readonly KeyObject[]): ReadPath {
  const verify = createVerifySignature("admission", keys);
  return (path) => {
    const [, cluster, signature = ""] = PATH.exec(path) ?? [];
    return cluster === undefined ? undefined : { cluster, isSigned: verify(cluster, signature) };
  };
}

/** Returns the signed path for a cluster. `privateKey` is PEM; throws if it is not an Ed25519 private key. */
export function signPath(cluster: string, privateKey: string): string {
  return `/lb-service/${cluster}/${signCluster("admission", cluster, privateKey)}`;
}
