import type { CertificateSigningRequest } from "#core/csr/csr.ts";

/** The group of every kubelet, and the organisation of its certificates. */
export const NODES_GROUP = "system:nodes";

/** The name of the node that signed in as itself to ask; undefined where somebody else asks. */
export function requestingNode({
  spec: { username, groups },
}: Pick<CertificateSigningRequest, "spec">): string | undefined {
  if (!username.startsWith(USER_PREFIX) || !groups.includes(NODES_GROUP)) return undefined;
  const name = username.slice(USER_PREFIX.length);
  return name.length <= MAX_NAME && DNS_SUBDOMAIN.test(name) ? name : undefined;
}

const USER_PREFIX = "system:node:";
/** What a Node can be named at all. */
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_NAME = 253;
