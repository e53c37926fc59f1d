import * as z from "zod";

/** The signer whose requests are decided here: of the certificates that kubelets serve with. */
export const KUBELET_SERVING_SIGNER = "kubernetes.io/kubelet-serving";

/**
 * The longest `spec.request`, in characters, that is kept and parsed. A kubelet's is under 2,000, and 300 addresses fit; of a
 * hostile node's, thousands have to fit into a relay's memory.
 */
export const MAX_REQUEST_LENGTH = 16_384;

/**
 * A CertificateSigningRequest in Kubernetes' own shape, of which only the fields that decisions read are kept. Without
 * `request` it was longer than `MAX_REQUEST_LENGTH`. What says who asks is the API server's, not the requestor's own.
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
