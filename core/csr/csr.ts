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
