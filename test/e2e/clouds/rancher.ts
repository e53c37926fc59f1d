import {
  CLUSTER,
  type FakeMachine,
  NAMESPACE,
  startFakeManagement,
  TOKEN,
} from "#test/clouds/rancher/fake-management.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

const ZONE = "fra-1";

/**
 * The last of so many nodes was registered by hand: Rancher has no Machine for it, and it still comes up and
 * stays.
 */
const BY_HAND = 25;

/** Nodes of RKE2, and the Machines of Rancher's management cluster. */
export async function stageRancher(): Promise<StagedCloud> {
  const fake = await startFakeManagement();
  const machines = new Map<string, FakeMachine>();
  let count = 0;
  return {
    provider: "rke2",
    secrets: [TOKEN],
    config: { existence: "rancher", rancher: { cluster: CLUSTER } },
    environment: { RANCHER_URL: fake.url, RANCHER_TOKEN: TOKEN },
    add() {
      count += 1;
      const name = `node-${count}`;
      const nodeIP = `10.2.0.${count}`;
      const machine = count % BY_HAND === 0 ? undefined : fake.add({ node: null });
      const uid = machine?.metadata.uid;
      if (machine !== undefined) machines.set(name, machine);
      const isOf: Record<string, string> = uid === undefined ? {} : { "rke.cattle.io/machine": uid };
      return {
        name,
        providerID: `rke2://${name}`,
        addresses: [`InternalIP ${nodeIP}`, `Hostname ${name}`],
        ...{ type: "rke2", region: undefined, zone: ZONE },
        origin: uid === undefined ? `rke2/-/${name}` : `rancher/${NAMESPACE}/${CLUSTER}/${uid}/${name}`,
        kubelet: { nodeIP, labels: { ...isOf, "topology.kubernetes.io/zone": ZONE } },
      };
    },
    remove({ name }) {
      const machine = machines.get(name);
      if (machine === undefined) throw new Error(`${name} has no Machine that could go`);
      fake.remove(machine);
    },
    requests: () => fake.requests.length,
    close: () => fake.close(),
  };
}
