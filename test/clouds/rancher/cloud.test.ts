import { createDistributionCloud } from "#clouds/rancher/cloud.ts";
import {
  type Breakage,
  type CloudWorld,
  testCloudConformance,
  type WorldInstance,
} from "#test/clouds/conformance.ts";
import {
  buildStatusAnswer,
  type FakeAnswer,
  type FakeMachine,
} from "#test/clouds/rancher/fake-management.ts";
import { createRancherWorld } from "#test/clouds/rancher/world.ts";

const OF_NODES = [
  { row: "hiding", because: "an existing node is its own machine" },
  { row: "termination", because: "no machine is shown that has ended" },
  { row: "ill-formed", because: "any provider ID of the kubelet is valid" },
  { row: "schemes", because: "any provider ID of the kubelet is valid" },
  { row: "belonging", because: "a node belongs to the cluster that it joined" },
  { row: "stopping", because: "stopped machines are not reported" },
] as const;

testCloudConformance("k3s", k3sWorld, {
  cannotPlay: [
    ...OF_NODES,
    { row: "ambiguity", because: "a node is its own machine" },
    { row: "takeover", because: "no node ever counts as gone" },
    { row: "absence", because: "no node ever counts as gone" },
    { row: "failure", because: "there is no API" },
  ],
});

testCloudConformance("rancher with Machines", machinesWorld, {
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
  const { fake, cloud: connect, close } = await createRancherWorld();
  const cloud = connect();
  const machines = new Map<string, FakeMachine>();
  let count = 0;
  return {
    cloud,
    unknownProviderID: "rke2://unknown",
    unknownTraits: { labels: { "rke.cattle.io/machine": "00000000-0000-4000-8000-000000000000" } },
    async addInstance() {
      count += 1;
      const name = `node-${count}`;
      // The Machine does not name its node yet: only the label does, as while a node joins.
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
  Throttled: buildStatusAnswer(429, "TooManyRequests", { "retry-after": "1" }),
  Denied: buildStatusAnswer(403, "Forbidden"),
  Unavailable: buildStatusAnswer(500, "InternalError"),
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
