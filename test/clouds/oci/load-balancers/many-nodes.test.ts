import { createPrivateKey } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createOciCloud } from "#clouds/oci/cloud.ts";
import { OciCloudConfig } from "#clouds/oci/config.ts";
import { ociLoadBalancerModel } from "#clouds/oci/load-balancers/model.ts";
import { MAX_BACKENDS } from "#clouds/oci/load-balancers/targets.ts";
import { buildCall } from "#test/clouds/builders.ts";
import { API_KEY } from "#test/clouds/oci/fake/credentials.ts";
import {
  buildCloudConfig,
  type FakeAccount,
  startFakeAccount,
} from "#test/clouds/oci/load-balancers/fake-account.ts";
import { buildFoundAnswer, createPlayer } from "#test/clouds/oci/load-balancers/play.ts";
import {
  buildQuestion,
  buildService,
  buildSettings,
  CLUSTER,
} from "#test/clouds/oci/load-balancers/service.ts";

let account: FakeAccount;
beforeEach(async () => {
  account = await startFakeAccount();
});
afterEach(() => account.close());

test("1,000 nodes cost requests in proportion to pages", async () => {
  const nodes = Array.from({ length: 1_000 }, () => account.oci.compute.add()).map(({ id, displayName }) => ({
    name: displayName,
    providerID: `oci://${id}`,
  }));
  const cloudConfig = buildCloudConfig(account, "unused", API_KEY.fingerprint);
  const key = createPrivateKey(API_KEY.pem);
  const cloud = createOciCloud(OciCloudConfig.parse(cloudConfig), async () => key, { clusterName: CLUSTER });
  const observed = await cloud.capabilities?.["loadBalancers"]?.observe(
    [buildQuestion(buildService(), nodes)],
    buildCall(),
  );
  await cloud.close();
  const [answer] = observed?.answers ?? [];
  if (answer?.kind !== "observed") throw new Error(JSON.stringify(answer));
  expect(Object.keys((answer.state as { addresses: object }).addresses)).toHaveLength(1_000);
  // Instances, attachments, addresses in pages of 500; and of the Service its lists and its subnet.
  expect(account.oci.requests.length).toBeLessThanOrEqual(20);
  const step = ociLoadBalancerModel.planStep(
    buildQuestion(buildService(), nodes),
    answer.state,
    buildSettings(cloudConfig),
  );
  expect(step.kind).toBe("act");
});

/** Builds a player and nodes with distinct addresses, in the order of their addresses. */
const playWithNodes = (count: number) => {
  const player = createPlayer(account);
  const nodes = Array.from({ length: count }, (_, index) => ({
    name: `node-${index}`,
    providerID: `oci://ocid1.instance.oc1.phx.i${index}`,
  }));
  player.answers = new Map(
    nodes.map(({ providerID }, index) => {
      const answer = buildFoundAnswer(providerID.slice("oci://".length));
      if (answer.kind !== "found") throw new Error(answer.message);
      const address = `10.${Math.floor(index / 200)}.0.${index % 200}`;
      return [
        providerID.slice("oci://".length),
        { ...answer, instance: { ...answer.instance, addresses: [{ type: "InternalIP", address }] } },
      ];
    }),
  );
  return { player, nodes };
};

test("above the maximum some nodes are left out, and a message says so", async () => {
  const { player, nodes } = playWithNodes(MAX_BACKENDS + 1);
  const { end } = await player.settle(buildQuestion(buildService(), nodes));
  player.close();
  expect(end).toMatchObject({ kind: "settled", warnings: [{ code: "TooManyTargets" }] });
  const [balancer] = account.lb.balancers.values();
  expect(balancer?.backendSets["TCP-80"]?.["backends"]).toHaveLength(MAX_BACKENDS);
});

test("above the maximum, new nodes displace none that serve", async () => {
  const { player, nodes } = playWithNodes(MAX_BACKENDS + 8);
  const listBackends = (): readonly string[] => {
    const [balancer] = account.lb.balancers.values();
    const backends = balancer?.backendSets["TCP-80"]?.["backends"] as { ipAddress: string }[];
    return backends.map(({ ipAddress }) => ipAddress).sort();
  };
  await player.settle(buildQuestion(buildService(), nodes.slice(8)));
  const before = listBackends();
  expect(before).toHaveLength(MAX_BACKENDS);
  const { end, actions } = await player.settle(buildQuestion(buildService(), nodes));
  expect([end, actions]).toMatchObject([{ kind: "settled", warnings: [{ code: "TooManyTargets" }] }, []]);
  expect(listBackends()).toEqual(before);
  // One place becomes free when a node leaves.
  await player.settle(buildQuestion(buildService(), [...nodes.slice(0, 8), ...nodes.slice(9)]));
  expect(await player.follow(buildQuestion(buildService(), nodes.slice(0, -1)))).toHaveLength(1);
  player.close();
  const after = new Set(listBackends());
  expect(before.filter((address) => !after.has(address))).toHaveLength(2);
});
