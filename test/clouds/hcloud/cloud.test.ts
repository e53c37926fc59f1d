import {
  type Breakage,
  type CloudWorld,
  testCloudConformance,
  type WorldInstance,
} from "#test/clouds/conformance.ts";
import type { FakeAnswer } from "#test/clouds/fake-api.ts";
import {
  buildErrorAnswer,
  type FakeHcloudServer,
  NETWORK,
  SELECTOR,
} from "#test/clouds/hcloud/fake-server.ts";
import { createNodeWorld } from "#test/clouds/hcloud/world.ts";

testCloudConformance("hcloud", hcloudWorld, {
  recordsDeletions: true,
  cannotPlay: [
    { row: "ambiguity", because: "names of servers are unique in a project" },
    {
      row: "takeover",
      because: "a server's name is its user's choice, so that another one of that name took nothing over",
    },
    { row: "termination", because: "a server that was deleted is not shown any more" },
  ],
});

async function hcloudWorld(): Promise<CloudWorld> {
  const { fake, ...world } = await createNodeWorld();
  // The rows read twice to see a change in between; scale.test.ts tests how long lists are remembered.
  const cloud = world.cloud({}, { maxListAgeMs: 0 });
  const serverOf = ({ id }: WorldInstance): FakeHcloudServer => {
    const server = fake.servers.get(id);
    if (server === undefined) throw new Error(`there is no server ${id}`);
    return server;
  };
  return {
    cloud,
    unknownProviderID: "hcloud://999999999",
    invalidProviderID: "hcloud://-1",
    async addInstance() {
      const { id, name } = fake.add();
      return { id, nodeName: name, providerID: `hcloud://${id}` };
    },
    async stop(instance) {
      serverOf(instance).status = "off";
    },
    async makeForeign(instance) {
      serverOf(instance).private_net = [{ network: "815", ip: "10.9.9.9" }];
      serverOf(instance).labels = { cluster: "green" };
      return [instance.id, NETWORK, "815", SELECTOR, "cluster=green"];
    },
    async hide(instance) {
      serverOf(instance).hidden = true;
    },
    async show(instance) {
      serverOf(instance).hidden = false;
    },
    async breakApi(how) {
      fake.fault = how === undefined ? undefined : () => ANSWERS[how];
    },
    requests: () => fake.requests.length,
    close: world.close,
  };
}

const ANSWERS: Readonly<Record<Breakage, FakeAnswer>> = {
  Throttled: buildErrorAnswer(429, "rate_limit_exceeded", { "ratelimit-remaining": "0", "retry-after": "1" }),
  Denied: buildErrorAnswer(403, "forbidden"),
  Unavailable: buildErrorAnswer(500, "service_error"),
  stalled: "hang",
};
