import { createDistributionCloud } from "#clouds/rancher/cloud.ts";
import {
  type Breakage,
  type CloudWorld,
  cloudConformance,
  type WorldInstance,
} from "#test/clouds/conformance.ts";
import { type FakeAnswer, type FakeMachine, statusAnswer } from "#test/clouds/rancher/fake-management.ts";
import { aRancherWorld } from "#test/clouds/rancher/world.ts";

const OF_NODES = [
  { row: "hiding", because: "a node that is there is its own machine" },
  { row: "termination", because: "no machine is shown that has ended" },
  { row: "ill-formed", because: "a provider ID is whatever the kubelet gave" },
  { row: "schemes", because: "a provider ID is whatever the kubelet gave" },
  { row: "belonging", because: "a node belongs to the cluster that it joined" },
  { row: "stopping", because: "nobody tells of machines that stand still" },
] as const;

cloudConformance("k3s", k3sWorld, {
  cannotPlay: [
    ...OF_NODES,
    { row: "ambiguity", because: "a node is its own machine" },
    { row: "takeover", because: "no node is ever said to be gone" },
    { row: "absence", because: "no node is ever said to be gone" },
    { row: "failure", because: "there is no API" },
  ],
});

cloudConformance("rancher with Machines", machinesWorld, {
  cannotPlay: [
    ...OF_NODES,
    {
      row: "takeover",
      because: "nodes are known by their names, and Machines by their own: see machines.test.ts",
    },
  ],
});

async function k3sWorld(): Promise<CloudWorld> {
  const cloud = createDistributionCloud("k3s");
  let count = 0;
  return {
    cloud,
    async addInstance() {
      count += 1;
      return instanceNamed("k3s", `node-${count}`);
    },
    requests: () => 0,
    close: () => cloud.close(),
  };
}

async function machinesWorld(): Promise<CloudWorld> {
  const { fake, cloud: connect, close } = await aRancherWorld();
  const cloud = connect();
  const machines = new Map<string, FakeMachine>();
  let count = 0;
  return {
    cloud,
    unknownProviderID: "rke2://nobody",
    unknownTraits: { labels: { "rke.cattle.io/machine": "00000000-0000-4000-8000-000000000000" } },
    async addInstance() {
      count += 1;
      const name = `node-${count}`;
      // Not yet known to be this node: the label alone says so, as it does while a node joins.
      const machine = fake.add({ node: null });
      machines.set(name, machine);
      return instanceNamed("rke2", name, { "rke.cattle.io/machine": machine.metadata.uid });
    },
    async makeAmbiguous({ id, nodeName }) {
      const first = fake.add({ node: { name: nodeName } });
      const second = fake.add({ node: { name: nodeName } });
      fake.remove(machines.get(id) ?? first);
      return [first.metadata.name, second.metadata.name];
    },
    async breakApi(how) {
      fake.fault = how === undefined ? undefined : () => ANSWERS[how];
    },
    requests: () => fake.requests.length,
    close,
  };
}

const ANSWERS: Readonly<Record<Breakage, FakeAnswer>> = {
  Throttled: statusAnswer(429, "TooManyRequests", { "retry-after": "1" }),
  Denied: statusAnswer(403, "Forbidden"),
  Unavailable: statusAnswer(500, "InternalError"),
  stalled: "hang",
};

function instanceNamed(scheme: string, name: string, labels: Record<string, string> = {}): WorldInstance {
  const annotations = { [`${scheme}.io/internal-ip`]: "10.0.0.1", [`${scheme}.io/hostname`]: name };
  const topology = { "topology.kubernetes.io/region": "fra", "topology.kubernetes.io/zone": "fra-1" };
  return {
    id: name,
    nodeName: name,
    providerID: `${scheme}://${name}`,
    traits: { annotations, labels: { ...topology, ...labels } },
  };
}
