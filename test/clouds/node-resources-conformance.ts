import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { TAGS_LABEL } from "#core/contracts.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import {
  type Forgery,
  type NodeStage,
  type StoredObject,
  startNodeStage,
} from "#test/clouds/node-resources/stage.ts";
import type { NodeResourcesWorld } from "#test/clouds/node-resources/world.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

const TIMEOUT_MS = 120_000;
const ANOTHER_UID = "99999999-9999-4999-8999-999999999999";
const DELETED = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 };

const changed = (object: StoredObject, metadata: object): object => ({
  ...object,
  metadata: { ...object.metadata, ...metadata },
});
/** Returns the same number of nodes, the first replaced by another one. */
const withPhantom = (nodes: readonly StoredObject[]): readonly object[] =>
  nodes.map((node, index) =>
    index === 0 ? { metadata: { ...node.metadata, name: "phantom", uid: ANOTHER_UID }, spec: {} } : node,
  );

/** Events about the victim's cluster that contradict its API server. */
const FORGED_EVENTS: readonly (readonly [string, Forgery])[] = [
  ["without nodes", { nodes: () => [] }],
  ["that lacks a node", { nodes: (nodes) => nodes.slice(1) }],
  ["with an unknown node in place of one", { nodes: withPhantom }],
  ["with one node in place of another", { nodes: (nodes) => nodes.map(() => nodes[1] ?? {}) }],
  [
    "with all nodes without their provider IDs",
    { nodes: (nodes) => nodes.map(({ metadata }) => ({ metadata, spec: {} })) },
  ],
  ["with all nodes being deleted", { nodes: (nodes) => nodes.map((node) => changed(node, DELETED)) }],
  [
    "with other UIDs of all nodes",
    { nodes: (nodes) => nodes.map((node) => changed(node, { uid: ANOTHER_UID })) },
  ],
  [
    "with another UID of the cluster and no nodes",
    { nodes: () => [], namespace: (namespace) => changed(namespace, { uid: ANOTHER_UID }) },
  ],
  [
    "with the cluster being deleted and no nodes",
    { nodes: () => [], namespace: (namespace) => changed(namespace, DELETED) },
  ],
];

/**
 * The contract of attacks on a cloud's node resources, either routes or tags. It covers forged and stale
 * events, a forged list of nodes, and forged uids, finalizers and annotations. It also covers resources of
 * others under our name.
 */
export function testNodeResourcesConformance(
  name: string,
  build: () => Promise<NodeResourcesWorld>,
  start: (folder: string) => Promise<ControlPlane>,
): void {
  describe(`${name} keep the contract of attacks`, { timeout: TIMEOUT_MS }, () => {
    let cluster: ClusterUnderTest;
    let world: NodeResourcesWorld;
    let stage: NodeStage;

    beforeAll(async () => {
      cluster = await startCluster(start);
      world = await build();
      stage = await startNodeStage(cluster, world);
    }, TIMEOUT_MS);
    afterAll(async () => {
      await world?.close();
      await cluster?.close();
    });
    beforeEach(() => stage.reset(), TIMEOUT_MS);

    /** Creates two nodes of the victim and their resources, next to machines of others. */
    async function settled(): Promise<readonly string[]> {
      const bare = await Promise.all([world.launch("victim"), world.launch("victim")]);
      const before = await world.outline("victim");
      for (const [index, providerID] of bare.entries())
        await stage.join(`node-${index}`, providerID, `100.64.${index}.0/24`);
      await stage.invokeAll();
      const after = await world.outline("victim");
      expect(after).not.toEqual(before);
      return after;
    }

    test.each(FORGED_EVENTS)("an event %s removes nothing", async (_, forgery) => {
      const ours = await settled();
      await stage.invokeAll(forgery);
      await stage.invokeAll();
      expect(await world.outline("victim")).toEqual(ours);
    });

    test("a stale event restores nothing on the machine of a removed node", async () => {
      const ours = await settled();
      const machine = await world.launch("victim");
      await stage.join("former", machine, "100.64.9.0/24");
      await stage.invokeAll();
      const former = (await world.outline("victim")).filter((line) => !ours.includes(line));
      expect(former).not.toEqual([]);
      await stage.remove("former");
      await stage.invokeAll();
      const rest = await world.outline("victim");
      await stage.invokeAll();
      expect(rest.filter((line) => ours.includes(line))).toEqual(ours);
      expect(await world.outline("victim")).toEqual(rest);
    });

    test("another cluster whose API server shows the victim's nodes and uids changes nothing of the victim's", async () => {
      const ours = await settled();
      await stage.invokeAll({ cluster: "hostile" });
      expect(await world.outline("victim")).toEqual(ours);
    });

    test("another cluster whose API server lists no nodes, or forges their count, changes nothing of the victim's", async () => {
      const ours = await settled();
      await stage.join("hostile", await world.launch("hostile"), "100.64.100.0/24");
      await stage.invokeAll({ cluster: "hostile" });
      const [first] = FORGED_EVENTS;
      for (const listed of [[], [{ metadata: { name: "a", uid: ANOTHER_UID } }]])
        await stage.invokeAll({ ...first?.[1], cluster: "hostile", nodes: () => listed, listed });
      expect(await world.outline("victim")).toEqual(ours);
    });

    test.each(["hostile", "no cluster"] as const)(
      "a node that names a machine of %s changes nothing of that machine",
      async (owner) => {
        const ours = await settled();
        const machine = await world.launch(owner);
        const theirs = await world.outline(owner);
        await stage.join("forged", machine, "100.64.50.0/24");
        await stage.invokeAll();
        expect([await world.outline(owner), await world.outline("victim")]).toEqual([theirs, ours]);
        await stage.remove("forged");
        await stage.invokeAll();
        expect([await world.outline(owner), await world.outline("victim")]).toEqual([theirs, ours]);
      },
    );

    test.each(["hostile", "no cluster"] as const)(
      "resources of %s under the victim's name stay, with any nodes",
      async (owner) => {
        const ours = await settled();
        await world.plant(await world.launch(owner));
        const theirs = await world.outline(owner);
        await stage.invokeAll();
        await stage.invokeAll({ nodes: (nodes) => nodes.slice(1) });
        expect([await world.outline(owner), await world.outline("victim")]).toEqual([theirs, ours]);
      },
    );

    test("forged finalizers, labels and annotations on a node reach no other owner's machine", async () => {
      const ours = await settled();
      const machine = await world.launch("hostile");
      const theirs = await world.outline("hostile");
      await stage.join("forged", machine, "100.64.51.0/24", {
        labels: { [TAGS_LABEL]: "00000000000000000000000000000000" },
        annotations: { "serverless-ccm.io/instance": machine },
        finalizers: ["service.kubernetes.io/load-balancer-cleanup"],
      });
      await stage.invokeAll();
      await stage.remove("forged");
      await stage.invokeAll();
      expect([await world.outline("hostile"), await world.outline("victim")]).toEqual([theirs, ours]);
    });
  });
}
