import * as z from "zod";

/** The signer of the requests decided here: serving certificates of kubelets. */
export const KUBELET_SERVING_SIGNER = "kubernetes.io/kubelet-serving";

/**
 * The maximum length of a `spec.request`, in characters, that is kept and parsed. A kubelet's has less than
 * 2,000, and 300 addresses fit. A relay's memory must hold thousands of a hostile node's requests.
 */
export const MAX_REQUEST_LENGTH = 16_384;

/**
 * A CertificateSigningRequest in Kubernetes' own shape, with the fields that decisions read. `request` is
 * absent if it was longer than `MAX_REQUEST_LENGTH`. The API server sets the requestor's fields, not the
 * requestor.
 */
export const CertificateSigningRequest = z.object({
  metadata: z.object({
    name: z.string().min(1).max(253),
    uid: z.string().min(1).max(128),
    resourceVersion: z.string().min(1),
    creationTimestamp: z.string().min(1),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.object({
    signerName: z.string(),
    username: z.string().prefault(""),
    groups: z.array(z.string()).prefault([]),
    usages: z.array(z.string()).prefault([]),
    /** Base64 of PEM. */
    request: z
      .string()
      .transform((text) => (text.length > MAX_REQUEST_LENGTH ? undefined : text))
      .optional(),
  }),
  status: z
    .object({
      conditions: z.array(z.looseObject({ type: z.string() })).optional(),
      certificate: z.string().optional(),
    })
    .prefault({}),
});
export type CertificateSigningRequest = z.output<typeof CertificateSigningRequest>;

/** The content of a certificate request (PKCS #10), in its original order. */
export interface CertificateRequest {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** As text; IPv4 in dotted notation. */
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
  /**
   * Everything else in the request, in words: other parts of the subject, other kinds of names, attributes
   * and extensions.
   */
  readonly others: readonly string[];
}

/** A parsed request, or why it is unreadable. */
export type ParsedRequest =
  | { readonly kind: "request"; readonly request: CertificateRequest }
  | { readonly kind: "unreadable"; readonly message: string };

/**
 * Parses `spec.request`: base64 of PEM. Never throws; equal texts give equal results. A request that two
 * parsers could read differently is unreadable, such as one with a second block or a second list of names.
 */
export type ParseCertificateRequest = (request: string) => ParsedRequest;

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
