import type { StagedInstance } from "#test/e2e/clouds/staged-cloud.ts";

/** Machines that no API knows of, one after the other: what there is to be said of them is what their kubelets say. */
export function plainMachines(scheme: string): () => StagedInstance {
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
