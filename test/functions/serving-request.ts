import { buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { createSigningRequest, toBase64 } from "#test/csr/signing-request.ts";

/** Builds a kubelet's serving certificate request with its joined node, as an event has them. */
export async function buildServingRequest(traits: NodeTraits) {
  const { name = "" } = traits;
  const node = buildNode({ ...traits, taints: [] });
  const object = {
    metadata: {
      name: "csr-1",
      uid: "uid-csr-1",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: {
      signerName: "kubernetes.io/kubelet-serving",
      username: `system:node:${name}`,
      groups: ["system:nodes"],
      usages: ["digital signature", "server auth"],
      request: toBase64(await createSigningRequest(name)),
    },
    status: {},
  };
  return { object, related: { related: { nodes: { resourceVersion: "1", items: [node] } } } };
}
