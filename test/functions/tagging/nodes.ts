/** A node as a kubelet registers it, with its provider ID. */
export function createNode(name: string, providerID: string): object {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    spec: { providerID },
  };
}
