import { CONDITIONS, type DenialCode } from "#core/csr/conditions.ts";

const NOT_APPROVED = "CertificateSigningRequest {request} is not approved";

/** Sentences of the Events that report a denial to a node. They are the sentences of the condition. */
type Denials = {
  readonly [Code in DenialCode]: {
    readonly sentence: `CertificateSigningRequest {request} is denied: ${(typeof CONDITIONS)[Code]["sentence"]}`;
    readonly when: string;
  };
};

const { InstanceVerified: _, ...DENIED } = CONDITIONS;
const DENIALS = Object.fromEntries(
  Object.entries(DENIED).map(([code, { sentence, when }]) => [
    code,
    { sentence: `CertificateSigningRequest {request} is denied: ${sentence}`, when },
  ]),
) as unknown as Denials;

/** The Events about certificate requests, by reason and code, for `src/core/event-catalog.ts`. */
export const CSR_EVENTS = {
  ServingCertificate: {
    type: "Warning",
    on: "Node, CertificateSigningRequest",
    atMost: { CertificateSigningRequest: 1_000 },
    says: {
      ...DENIALS,
      InstanceNotFound: {
        sentence: `${NOT_APPROVED}: no instance of the cloud is known to be both the node's and this cluster's`,
        when: "The request waits for a minute and longer: there is no such instance, it is not the cluster's, or it may not be seen.",
      },
      InstanceNotRunning: {
        sentence: `${NOT_APPROVED}: the node's instance is not running`,
        when: "The request waits for a minute and longer.",
      },
      Ambiguous: {
        sentence: `${NOT_APPROVED}: the cloud has more than one instance of this cluster for the node`,
        when: "At once.",
      },
      ForeignProviderID: {
        sentence: `${NOT_APPROVED}: the node's provider ID is another cloud's`,
        when: "At once.",
      },
      InvalidProviderID: {
        sentence: `${NOT_APPROVED}: the node's provider ID names no instance`,
        when: "At once.",
      },
      NameNotOfInstance: {
        sentence: `${NOT_APPROVED}: the cloud does not give these names for the node's instance: {names}`,
        when: "The request names what the cloud does not give.",
      },
      RequestTooLarge: { sentence: `${NOT_APPROVED}: it is too large to be read`, when: "At once." },
      RequestUnreadable: {
        sentence: `${NOT_APPROVED}: it cannot be read without doubt`,
        when: "At once.",
      },
      RequestUnusual: {
        sentence: `${NOT_APPROVED}: it asks for what no kubelet asks for`,
        when: "The request has parts that a kubelet's has not.",
      },
    },
  },
} as const;
