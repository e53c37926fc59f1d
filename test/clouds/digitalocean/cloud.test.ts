import { createDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { createFixedToken } from "#clouds/http/authorizer.ts";
import { buildErrorAnswer, type FakeAnswer } from "#emulators/digitalocean/answer.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { TAG, TOKEN } from "#emulators/digitalocean/names.ts";
import { startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import {
  type Breakage,
  type CloudWorld,
  testCloudConformance,
  type WorldInstance,
} from "#test/clouds/conformance.ts";
import { buildConfig } from "#test/clouds/digitalocean/world.ts";

testCloudConformance("digitalocean", digitalOceanWorld, {
  recordsDeletions: true,
  cannotPlay: [
    { row: "zones", because: "DigitalOcean has regions and no zones" },
    {
      row: "takeover",
      because: "a droplet's name is its user's choice, so that another one of that name took nothing over",
    },
    { row: "termination", because: "a droplet that was destroyed is not shown any more" },
  ],
});

async function digitalOceanWorld(): Promise<CloudWorld> {
  const fake = await startFakeDigitalOcean();
  const cloud = createDigitalOceanCloud(
    buildConfig({ apiURL: fake.url }),
    createFixedToken(TOKEN, "the token"),
    {
      // The rows read twice to see a change in between; scale.test.ts tests how long lists are remembered.
      maxListAgeMs: 0,
    },
  );
  const dropletOf = ({ id }: WorldInstance): FakeDroplet => {
    const droplet = fake.droplets.get(id);
    if (droplet === undefined) throw new Error(`there is no droplet ${id}`);
    return droplet;
  };
  return {
    cloud,
    unknownProviderID: "digitalocean://999999999",
    invalidProviderID: "digitalocean://-1",
    async addInstance() {
      const { id, name } = fake.add();
      return { id, nodeName: name, providerID: `digitalocean://${id}` };
    },
    async stop(instance) {
      dropletOf(instance).status = "off";
    },
    async makeForeign(instance) {
      dropletOf(instance).vpc_uuid = "11111111-2222-3333-4444-555555555555";
      dropletOf(instance).tags = ["k8s-of-another-owner"];
      return [
        instance.id,
        TAG,
        "k8s-of-another-owner",
        buildConfig().vpc ?? "",
        "11111111-2222-3333-4444-555555555555",
      ];
    },
    async makeAmbiguous(instance) {
      return [instance.id, fake.add({ name: instance.nodeName }).id];
    },
    async hide(instance) {
      dropletOf(instance).hidden = true;
    },
    async show(instance) {
      dropletOf(instance).hidden = false;
    },
    async breakApi(how) {
      fake.fault = how === undefined ? undefined : () => ANSWERS[how];
    },
    requests: () => fake.requests.length,
    async close() {
      await cloud.close();
      await fake.close();
    },
  };
}

const ANSWERS: Readonly<Record<Breakage, FakeAnswer>> = {
  Throttled: buildErrorAnswer(429, "too_many_requests", { "ratelimit-remaining": "0", "retry-after": "1" }),
  Denied: buildErrorAnswer(403, "forbidden"),
  Unavailable: buildErrorAnswer(500, "server_error"),
  stalled: "hang",
};
