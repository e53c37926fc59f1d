/** The object that an audit event is about. */
export interface ObjectReference {
  readonly apiGroup?: string | undefined;
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** Builds an audit event at level Metadata, with the fields that kube-apiserver writes. */
export function buildAuditEvent(verb: string, objectRef: ObjectReference): Readonly<Record<string, unknown>> {
  return {
    ...{ level: "Metadata", auditID: "0d1c", stage: "ResponseComplete", requestURI: "/api/v1", verb },
    user: { username: "system:node:a", groups: ["system:nodes"] },
    ...{ sourceIPs: ["192.0.2.1"], userAgent: "kubelet" },
    objectRef: { apiVersion: "v1", ...objectRef },
    responseStatus: { metadata: {}, code: 201 },
    requestReceivedTimestamp: "2026-01-01T00:00:00.000000Z",
    stageTimestamp: "2026-01-01T00:00:00.000000Z",
  };
}

/** Builds the body that kube-apiserver's webhook sends. */
export function buildEventList(items: readonly unknown[]): string {
  return JSON.stringify({ kind: "EventList", apiVersion: "audit.k8s.io/v1", metadata: {}, items });
}
