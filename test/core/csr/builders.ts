import type { RelatedObjects } from "#core/controller.ts";
import { createCsrController } from "#core/csr/controller.ts";
import {
  type CertificateRequest,
  type CertificateSigningRequest,
  KUBELET_SERVING_SIGNER,
  type ParsedRequest,
} from "#core/csr/csr.ts";
import { getCreationTime } from "#test/core/node/builders.ts";

export const NODE_NAME = "ip-10-0-1-17.eu-central-1.compute.internal";
export const USERNAME = `system:node:${NODE_NAME}`;

/** The content of a kubelet's request, with overrides. */
export function buildRequest(difference: Partial<CertificateRequest> = {}): CertificateRequest {
  return {
    commonNames: [USERNAME],
    organizations: ["system:nodes"],
    dnsNames: [NODE_NAME],
    ipAddresses: ["10.0.1.17"],
    emailAddresses: [],
    uris: [],
    others: [],
    ...difference,
  };
}

/** A kubelet's request that is five seconds old, with overrides. */
export function buildCsr(
  difference: {
    readonly metadata?: Partial<CertificateSigningRequest["metadata"]>;
    readonly spec?: Partial<CertificateSigningRequest["spec"]>;
    readonly status?: CertificateSigningRequest["status"];
    readonly asks?: Partial<CertificateRequest>;
  } = {},
): CertificateSigningRequest {
  return {
    metadata: {
      name: "csr-abcde",
      uid: "9d3f7c1e-0000-4000-8000-00000000000c",
      resourceVersion: "2001",
      creationTimestamp: getCreationTime(5),
      ...difference.metadata,
    },
    spec: {
      signerName: KUBELET_SERVING_SIGNER,
      username: USERNAME,
      groups: ["system:nodes", "system:authenticated"],
      usages: ["digital signature", "server auth"],
      request: JSON.stringify(buildRequest(difference.asks)),
      ...difference.spec,
    },
    status: difference.status ?? {},
  };
}

/** A node among the related objects of an event. */
export function buildRelatedNode(
  difference: { readonly metadata?: object; readonly spec?: object } = {},
): Record<string, unknown> {
  return {
    metadata: {
      name: NODE_NAME,
      uid: "node-uid",
      creationTimestamp: getCreationTime(60),
      ...difference.metadata,
    },
    spec: { providerID: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718", ...difference.spec },
  };
}

export function buildRelated(...nodes: readonly unknown[]): RelatedObjects {
  return { nodes: { resourceVersion: "7", items: nodes } };
}

/** In these tests a request is JSON, because the core does not parse PKCS #10. */
export function parseJsonRequest(text: string): ParsedRequest {
  if (text === "rubbish") return { kind: "unreadable", message: "it is rubbish" };
  return { kind: "request", request: JSON.parse(text) };
}

export const csrController = createCsrController(parseJsonRequest);
