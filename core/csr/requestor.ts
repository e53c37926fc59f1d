import type { CertificateSigningRequest } from "#core/csr/csr.ts";

/** The group of every kubelet, and the organization in its certificates. */
export const NODES_GROUP = "system:nodes";

/** Returns the name of the node that signed in as itself; undefined for any other requestor. */
export function getRequestingNode({
  spec: { username, groups },
}: Pick<CertificateSigningRequest, "spec">): string | undefined {
  if (!username.startsWith(USER_PREFIX) || !groups.includes(NODES_GROUP)) return undefined;
  const name = username.slice(USER_PREFIX.length);
  return name.length <= MAX_NAME && DNS_SUBDOMAIN.test(name) ? name : undefined;
}

const USER_PREFIX = "system:node:";
/** A valid name of a Node. */
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_NAME = 253;
