import * as z from "zod";
import { CertificateSigningRequest } from "#core/csr/csr.ts";
import { parseCsr } from "#core/csr/watch.ts";
import { nodeDescriptor } from "#core/node/descriptor.ts";
import type { AnnouncementSource } from "#core/node/settings.ts";
import { CERTIFICATE_SIGNING_REQUESTS, NODE_CLAIMS, type Resource } from "#core/resources/resource.ts";
import { type ApiObject, type ParsedObject, parseObject, type Watch } from "#core/watch.ts";

/** The signer of the certificates with which kubelets sign in. */
const KUBELET_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet";

/** The user name of every node; a kubelet that has it renews its certificate, and its node exists. */
const NODE_USER_PREFIX = "system:node:";

/** The longest provider ID that is looked up; the longest known ones have about 300 characters. */
const MAX_PROVIDER_ID = 1_024;

/** Karpenter's NodeClaim, with the fields that announce a machine. */
export const NodeClaim = z.object({
  metadata: CertificateSigningRequest.shape.metadata,
  status: z
    .object({
      providerID: z.string().max(MAX_PROVIDER_ID).optional(),
      /** Set once the machine's Node exists. */
      nodeName: z.string().optional(),
    })
    .prefault({}),
});
export type NodeClaim = z.output<typeof NodeClaim>;

/** Announces machines by the NodeClaims of Karpenter, which launches an instance before its node joins. */
export const nodeClaimWatch = defineAnnouncements<NodeClaim>({
  source: "node-claims",
  name: "node-claim-announcements",
  resource: NODE_CLAIMS,
  parse: (value) => parseObject(NodeClaim, value),
  snapshot: (claim) => claim,
  announcement: ({ status: { providerID, nodeName } }) => (nodeName ? undefined : providerID || undefined),
});

/** Announces machines by the first certificate that each kubelet requests, seconds before its node joins. */
export const kubeletCsrWatch = defineAnnouncements<CertificateSigningRequest>({
  source: "kubelet-csrs",
  name: "kubelet-csr-announcements",
  resource: CERTIFICATE_SIGNING_REQUESTS,
  // The csr-approver's: where both follow requests, each is parsed once.
  parse: parseCsr,
  snapshot(csr) {
    const { request: _request, ...spec } = csr.spec;
    const isAnnouncing = announceRequest(csr) !== undefined;
    return { metadata: csr.metadata, spec: isAnnouncing ? csr.spec : spec, status: {} };
  },
  announcement: announceRequest,
});

function announceRequest({ spec }: CertificateSigningRequest): string | undefined {
  const { signerName, username, request } = spec;
  if (signerName !== KUBELET_CLIENT_SIGNER || username.startsWith(NODE_USER_PREFIX)) return undefined;
  // The request never changes, so any text that is present announces once.
  return request === undefined ? undefined : "request";
}

interface Announcements<T extends ApiObject> {
  readonly source: AnnouncementSource;
  readonly name: string;
  readonly resource: Resource;
  parse(value: unknown): ParsedObject<T>;
  snapshot(object: T): T;
  announcement(object: T): string | undefined;
}

/** Defines a companion of the cloud-node-controller that has its function look up announced machines. */
function defineAnnouncements<T extends ApiObject>(from: Announcements<T>): Watch<T> {
  const { source, name, resource } = from;
  return {
    name,
    functionName: nodeDescriptor.functionName,
    resource,
    isOptional: true,
    scope: "object",
    invocations: 1,
    enablement: {
      companionOf: nodeDescriptor.name,
      isFor: ({ nodes: { lookAhead } }) => lookAhead.includes(source),
    },
    parse: from.parse,
    snapshot: from.snapshot,
    // A machine that was not looked up costs its node one request more: nothing waits for it.
    needsWork: () => false,
    related: [],
    rechecks: { announcement: from.announcement },
  };
}
