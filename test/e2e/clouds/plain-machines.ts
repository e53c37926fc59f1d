import type { StagedInstance } from "#test/e2e/clouds/staged-cloud.ts";

/** Creates machines without an API, one after the other: only their kubelets describe them. */
export function createPlainMachines(scheme: string): () => StagedInstance {
  let count = 0;
  return () => {
    count += 1;
    const name = `machine-${count}`;
    const nodeIP = `10.3.0.${count}`;
    return {
      name,
      providerID: `${scheme}://${name}`,
      addresses: [`InternalIP ${nodeIP}`, `Hostname ${name}`],
      type: undefined,
      region: undefined,
      zone: undefined,
      origin: `${scheme}/-/${name}`,
      kubelet: { nodeIP },
    };
  };
}
