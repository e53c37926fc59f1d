import { aNode, type NodeTraits } from "#test/clouds/builders.ts";
import { base64, signingRequest } from "#test/csr/signing-request.ts";

/** A request of the kubelet of a node that has joined for a serving certificate, and the node beside it, as an event has them. */
export async function aServingRequest(traits: NodeTraits) {
  const { name = "" } = traits;
  const node = aNode({ ...traits, taints: [] });
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
      request: base64(await signingRequest(name)),
    },
    status: {},
  };
  return { object, related: { related: { nodes: { resourceVersion: "1", items: [node] } } } };
}
