import {
  type Breakage,
  type CloudWorld,
  testCloudConformance,
  type WorldInstance,
} from "#test/clouds/conformance.ts";
import type { FakeAnswer } from "#test/clouds/fake-api.ts";
import { errors, type FakeOpenStackServer, formatUuid, TAG } from "#test/clouds/openstack/fake-server.ts";
import { createNodeWorld } from "#test/clouds/openstack/world.ts";

testCloudConformance("openstack", openStackWorld, {
  cannotPlay: [
    {
      row: "takeover",
      because: "a server's name is its user's choice, so that another one of that name took nothing over",
    },
  ],
});

async function openStackWorld(): Promise<CloudWorld> {
  const { fake, ...world } = await createNodeWorld();
  // The rows read twice to see a change in between; scale.test.ts tests how long lists are remembered.
  const cloud = world.cloud({}, { maxListAgeMs: 0 });
  const serverOf = ({ id }: WorldInstance): FakeOpenStackServer => {
    const server = fake.servers.get(id);
    if (server === undefined) throw new Error(`there is no server ${id}`);
    return server;
  };
  return {
    cloud,
    unknownProviderID: `openstack:///${formatUuid(999_999)}`,
    invalidProviderID: "openstack:///not-a-uuid",
    async addInstance() {
      const { id, name } = fake.add();
      return { id, nodeName: name, providerID: `openstack:///${id}` };
    },
    async stop(instance) {
      serverOf(instance).status = "SHUTOFF";
      serverOf(instance).ports = serverOf(instance).ports.map((port) => ({ ...port, status: "DOWN" }));
    },
    async terminate(instance) {
      serverOf(instance).status = "SOFT_DELETED";
    },
    async makeForeign(instance) {
      serverOf(instance).tags = ["k8s-green"];
      serverOf(instance).metadata = { cluster: "green" };
      return [instance.id, TAG, "k8s-green", "cluster=blue", "found green"];
    },
    async makeAmbiguous(instance) {
      return [instance.id, fake.add({ name: instance.nodeName }).id];
    },
    async hide(instance) {
      serverOf(instance).hidden = true;
    },
    async show(instance) {
      serverOf(instance).hidden = false;
    },
    async breakApi(how) {
      fake.fault = how === undefined ? undefined : ({ path }) => answerOf(how, path);
    },
    requests: () => fake.requests.length,
    close: world.close,
  };
}

function answerOf(how: Breakage, path: string): FakeAnswer | undefined {
  const isNeutron = path.startsWith("/network/");
  switch (how) {
    case "Throttled":
      // Each service has its own quotas.
      return isNeutron ? undefined : { ...errors.nova(429, "overLimit"), headers: { "retry-after": "1" } };
    case "Denied":
      return isNeutron ? errors.neutron(403, "PolicyNotAuthorized") : errors.nova(403, "forbidden");
    case "Unavailable":
      return isNeutron ? errors.neutron(500, "HTTPInternalServerError") : errors.nova(500, "computeFault");
    case "stalled":
      return "hang";
  }
}
