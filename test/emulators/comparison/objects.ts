import type { ResourceName } from "#test/emulators/comparison/steps.ts";

/** A compared resource: its paths, and a valid object of it. */
export interface ComparedResource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** The fields of a valid object besides its metadata. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** A valid status, if the resource has that subresource. */
  readonly status?: Readonly<Record<string, unknown>>;
}

/** Returns the compared resources; `signingRequest` is a PEM request in base64. */
export function buildResources(signingRequest: string): Readonly<Record<ResourceName, ComparedResource>> {
  return {
    nodes: {
      apiVersion: "v1",
      kind: "Node",
      namespaced: false,
      fields: {
        spec: { taints: [{ key: "example.com/taint", value: "a", effect: "NoSchedule" }] },
        status: {
          addresses: [{ type: "Hostname", address: "host" }],
          capacity: { cpu: "4", pods: "110" },
          conditions: [{ type: "Ready", status: "False", reason: "KubeletNotReady" }],
        },
      },
      status: { addresses: [{ type: "InternalIP", address: "10.0.0.1" }] },
    },
    services: {
      apiVersion: "v1",
      kind: "Service",
      namespaced: true,
      fields: {
        spec: { type: "LoadBalancer", selector: { app: "web" }, ports: [{ name: "http", port: 80 }] },
      },
      status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
    },
    events: {
      apiVersion: "v1",
      kind: "Event",
      namespaced: true,
      fields: {
        involvedObject: { apiVersion: "v1", kind: "Node", name: "first" },
        reason: "Compared",
        message: "a message",
        type: "Normal",
        count: 1,
        lastTimestamp: "2026-01-02T03:04:05Z",
      },
    },
    configmaps: {
      apiVersion: "v1",
      kind: "ConfigMap",
      namespaced: true,
      fields: { data: { key: "value", empty: "" } },
    },
    leases: {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      namespaced: true,
      fields: {
        spec: { holderIdentity: "me", leaseDurationSeconds: 15, renewTime: "2026-01-02T03:04:05.000000Z" },
      },
    },
    certificatesigningrequests: {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      namespaced: false,
      fields: {
        spec: {
          signerName: "kubernetes.io/kubelet-serving",
          usages: ["digital signature", "server auth"],
          request: signingRequest,
        },
      },
      status: { conditions: [{ type: "Approved", status: "True", reason: "Compared", message: "m" }] },
    },
    nodeclaims: {
      apiVersion: "karpenter.sh/v1",
      kind: "NodeClaim",
      namespaced: false,
      fields: { spec: { requirements: [{ key: "a", operator: "Exists" }] } },
      status: { providerID: "example:///1" },
    },
  };
}

/** Returns the path of a resource's collection. */
export function formatCollection(
  { apiVersion, namespaced }: ComparedResource,
  name: string,
  namespace: string | undefined = "default",
): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespaced && namespace !== undefined
    ? `${root}/namespaces/${namespace}/${name}`
    : `${root}/${name}`;
}
