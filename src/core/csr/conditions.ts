import {
  type CertificateSigningRequest,
  getRequestingNode,
  KUBELET_SERVING_SIGNER,
  NODES_GROUP,
} from "#core/csr/csr.ts";
import { type Fact, type FactName, type MessageTemplate, renderMessage } from "#core/message-template.ts";
import type { Reason } from "#core/reason.ts";

/**
 * Every condition on a CertificateSigningRequest, by its reason: its type, its message, and when it is set.
 */
export const CONDITIONS = {
  InstanceVerified: {
    type: "Approved",
    sentence: "the cloud gives every name in it for the node's instance {instance}",
    when: "All names that are asked for are the instance's or the node's own.",
  },
  UsagesForbidden: {
    type: "Denied",
    sentence:
      'usages are "{usages}", and must be "digital signature, server auth", with or without "key encipherment"',
    when: "The request asks for other usages than a server's.",
  },
  CommonNameNotRequestor: {
    type: "Denied",
    sentence: "the common name must be the user name of the node that asks",
    when: "The request has another common name, several or none.",
  },
  OrganizationForbidden: {
    type: "Denied",
    sentence: `the one organization must be ${NODES_GROUP}`,
    when: "The request has another organization, several or none.",
  },
  EmailAddressForbidden: {
    type: "Denied",
    sentence: "a kubelet's serving certificate names no e-mail address",
    when: "The request names an e-mail address.",
  },
  URIForbidden: {
    type: "Denied",
    sentence: "a kubelet's serving certificate names no URI",
    when: "The request names a URI.",
  },
  WildcardForbidden: {
    type: "Denied",
    sentence: "a kubelet's serving certificate names no wildcard",
    when: "A DNS name of the request has a wildcard.",
  },
  NoNames: {
    type: "Denied",
    sentence: "the request has no subject alternative name: neither a DNS name nor an IP address",
    when: "The request names nothing at all.",
  },
} as const satisfies Readonly<Record<string, MessageTemplate & { readonly type: "Approved" | "Denied" }>>;

/** The reason of a condition. */
export type ConditionCode = keyof typeof CONDITIONS;

/** The reasons for which a request is denied. */
export type DenialCode = Exclude<ConditionCode, "InstanceVerified">;

/** A final decision on a request: the reason of the condition, and the facts for its message. */
export interface ApprovalResult {
  readonly code: ConditionCode;
  readonly facts: Readonly<Partial<Record<FactName, Fact>>>;
}

/** Returns the condition as people read it. */
export function buildCondition({ code, facts }: ApprovalResult): {
  readonly type: "Approved" | "Denied";
  readonly because: Reason;
} {
  const { type, sentence } = CONDITIONS[code];
  return { type, because: { code, message: renderMessage(sentence, facts) } };
}

/**
 * Returns whether a request is a kubelet's own for its serving certificate and has no decision yet. Requests
 * of others, even in a node's name, are left to their approvers.
 */
export function needsWork({ metadata, spec, status }: CertificateSigningRequest): boolean {
  return (
    spec.signerName === KUBELET_SERVING_SIGNER &&
    metadata.deletionTimestamp === undefined &&
    (status.conditions ?? []).length === 0 &&
    status.certificate === undefined &&
    getRequestingNode({ spec }) !== undefined
  );
}
