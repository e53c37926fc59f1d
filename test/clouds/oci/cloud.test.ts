import { createPrivateKey } from "node:crypto";
import { createOciCloud } from "#clouds/oci/cloud.ts";
import {
  type Breakage,
  type CloudWorld,
  testCloudConformance,
  type WorldInstance,
} from "#test/clouds/conformance.ts";
import { API_KEY, VCN } from "#test/clouds/oci/fake/credentials.ts";
import type { FakeInstance } from "#test/clouds/oci/fake/instances.ts";
import { buildRefusal, type FakeReply } from "#test/clouds/oci/fake/reply.ts";
import { startFakeOci } from "#test/clouds/oci/fake/server.ts";
import { buildConfig } from "#test/clouds/oci/world.ts";

testCloudConformance("oci", ociWorld, {
  cannotPlay: [
    {
      row: "takeover",
      because: "an instance's name is its user's choice, so that another one of that name took nothing over",
    },
  ],
});

const OTHER_VCN = "ocid1.vcn.oc1.phx.other";

async function ociWorld(): Promise<CloudWorld> {
  const fake = await startFakeOci();
  const elsewhere = fake.network.addSubnet({ vcnId: OTHER_VCN });
  const key = createPrivateKey(API_KEY.pem);
  let slept = 0;
  const cloud = createOciCloud(buildConfig({}, fake.url), async () => key, {
    // The rows read twice to see a change in between; scale.test.ts tests how long lists are remembered.
    maxListAgeMs: 0,
    now: () => performance.now() + slept,
    sleep: async (delayMs) => {
      slept += delayMs;
    },
  });
  const instanceOf = ({ id }: WorldInstance): FakeInstance => {
    const instance = fake.compute.instances.get(id);
    if (instance === undefined) throw new Error(`there is no instance ${id}`);
    return instance;
  };
  return {
    cloud,
    unknownProviderID: "oci://ocid1.instance.oc1.phx.unknown",
    invalidProviderID: "oci://ocid1.vnic.oc1.phx.v",
    async addInstance() {
      const { id, displayName } = fake.compute.add();
      return { id, nodeName: displayName, providerID: `oci://${id}` };
    },
    async stop(instance) {
      instanceOf(instance).lifecycleState = "STOPPED";
    },
    async terminate(instance) {
      fake.compute.terminate(instanceOf(instance));
    },
    async makeForeign(instance) {
      fake.compute.vnicOf(instanceOf(instance)).subnetId = elsewhere.id;
      for (const attachment of fake.compute.attachments)
        if (attachment.instanceId === instance.id) attachment.subnetId = elsewhere.id;
      return [instance.id, VCN, OTHER_VCN];
    },
    async makeAmbiguous(instance) {
      return [instance.id, fake.compute.add({ displayName: instance.nodeName }).id];
    },
    async hide(instance) {
      instanceOf(instance).hidden = true;
    },
    async show(instance) {
      instanceOf(instance).hidden = false;
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

const ANSWERS: Readonly<Record<Breakage, FakeReply>> = {
  Throttled: buildRefusal(429, "TooManyRequests"),
  Denied: buildRefusal(401, "NotAuthenticated"),
  Unavailable: buildRefusal(500, "InternalServerError"),
  stalled: "hang",
};
