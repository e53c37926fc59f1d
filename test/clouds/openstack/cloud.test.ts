import {
  type Breakage,
  type CloudWorld,
  cloudConformance,
  type WorldInstance,
} from "#test/clouds/conformance.ts";
import type { FakeAnswer } from "#test/clouds/fake-api.ts";
import { errors, type FakeOpenStackServer, TAG, uuidOf } from "#test/clouds/openstack/fake-server.ts";
import { aWorld } from "#test/clouds/openstack/world.ts";

cloudConformance("openstack", openStackWorld, {
  cannotPlay: [
    {
      row: "takeover",
      because: "a server's name is its user's choice, so that another one of that name took nothing over",
    },
  ],
});

async function openStackWorld(): Promise<CloudWorld> {
  const { fake, ...world } = await aWorld();
  // The rows ask twice to see what changed between; what is remembered for how long is told in scale.test.ts.
  const cloud = world.cloud({}, { maxListAgeMs: 0 });
  const serverOf = ({ id }: WorldInstance): FakeOpenStackServer => {
    const server = fake.servers.get(id);
    if (server === undefined) throw new Error(`there is no server ${id}`);
    return server;
  };
  return {
    cloud,
    unknownProviderID: `openstack:///${uuidOf(999_999)}`,
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
      // Each service has quotas of its own.
      return isNeutron ? undefined : { ...errors.nova(429, "overLimit"), headers: { "retry-after": "1" } };
    case "Denied":
      return isNeutron ? errors.neutron(403, "PolicyNotAuthorized") : errors.nova(403, "forbidden");
    case "Unavailable":
      return isNeutron ? errors.neutron(500, "InternalServerError") : errors.nova(500, "computeFault");
    case "stalled":
      return "hang";
  }
}
