import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CloudCall } from "#clouds/cloud.ts";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import {
  buildJsonAnswer,
  buildRancherError,
  buildStatusAnswer,
  type FakeAnswer,
  type FakeMachine,
  TOKEN,
} from "#test/clouds/rancher/fake-management.ts";
import { createRancherWorld, type RancherWorld } from "#test/clouds/rancher/world.ts";

const ABSENT = "00000000-0000-4000-8000-000000000000";
const SEEN = "serverless-ccm.io/instance";

let world: RancherWorld;
beforeEach(async () => {
  world = await createRancherWorld();
});
afterEach(() => world.close());

const labelled = (uid: string): NodeTraits => ({ labels: { "rke.cattle.io/machine": uid } });
const seenAs = (text: string): NodeTraits => ({ annotations: { [SEEN]: text } });
const machine = ({ metadata }: FakeMachine): NodeTraits => labelled(metadata.uid);

async function ask(nodes: readonly NodeTraits[], call: Partial<CloudCall> = {}) {
  return (await world.cloud().instances(nodes.map(buildNode), buildCall({ control: true, ...call }))).answers;
}

describe("a node", () => {
  type Given = (world: RancherWorld) => NodeTraits;
  test.each<[string, Given, Record<string, unknown>]>([
    ["whose label names a Machine exists", ({ fake }) => machine(fake.add()), { kind: "found" }],
    [
      "whose Machine is being deleted exists until the Machine is gone",
      ({ fake }) => {
        const going = fake.add({ phase: "Deleted" });
        going.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
        return machine(going);
      },
      { kind: "found" },
    ],
    [
      "that a Machine names exists",
      ({ fake }) => {
        fake.add({ node: { name: "node-1" } });
        return {};
      },
      { kind: "found", instance: { account: "rancher" } },
    ],
    [
      "that a Machine names by UID exists with any label",
      ({ fake }) => {
        fake.add({ node: { name: "node-1", uid: "uid-of-node-1" } });
        return labelled(ABSENT);
      },
      { kind: "found", instance: { account: "rancher" } },
    ],
    ["that never had a Machine exists", () => ({}), { kind: "found", instance: { account: "rke2" } }],
    [
      "whose label names a missing Machine is gone",
      () => labelled(ABSENT),
      {
        kind: "not-found",
        control: { id: "blue-pool1-abcde-1", account: "rancher", network: "fleet-default/blue/-" },
      },
    ],
    [
      "that was seen with a Machine that is missing now is gone",
      () => seenAs(`rancher/fleet-default/blue/${ABSENT}/node-1`),
      {
        kind: "not-found",
        control: { id: "blue-pool1-abcde-1", account: "rancher", network: "fleet-default/blue/-" },
      },
    ],
    [
      "that was seen with an existing Machine exists with any label",
      ({ fake }) => ({
        ...labelled(ABSENT),
        ...seenAs(`rancher/fleet-default/blue/${fake.add().metadata.uid}/node-1`),
      }),
      { kind: "found" },
    ],
    [
      "that was seen in another cluster is unknown",
      () => seenAs(`rancher/fleet-default/green/${ABSENT}/node-1`),
      { kind: "found" },
    ],
    ["that was seen without a Machine is unknown", () => seenAs("rke2/-/node-1"), { kind: "found" }],
    [
      "whose Machine is gone and whose name another Machine has is reported with both",
      ({ fake }) => {
        fake.add({ name: "blue-successor", node: { name: "node-1", uid: "of-the-next-node" } });
        return labelled(ABSENT);
      },
      { kind: "not-found", takenOverBy: "blue-successor" },
    ],
    [
      "whose label names the Machine of another node is reported as such",
      ({ fake }) => machine(fake.add({ name: "blue-1", node: { name: "node-2" } })),
      { kind: "error", code: "Ambiguous", message: expect.stringMatching(/blue-1.*node-2/) },
    ],
    [
      "that two Machines name is ambiguous",
      ({ fake }) => {
        fake.add({ name: "blue-1", node: { name: "node-1" } });
        fake.add({ name: "blue-2", node: { name: "node-1" } });
        return labelled(ABSENT);
      },
      { kind: "error", code: "Ambiguous", message: expect.stringMatching(/blue-1 and blue-2/) },
    ],
    ["with an empty label counts as one without a label", () => labelled(""), { kind: "found" }],
  ])("%s", async (_, given, expected) => {
    world.fake.add();
    expect(await ask([given(world)])).toMatchObject([expected]);
  });

  test("the location is unproven if all Machines of the cluster are being deleted", async () => {
    world.fake.add().metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    const [answer] = await ask([labelled(ABSENT)]);
    expect(answer).toMatchObject({ kind: "not-found" });
    expect(answer).not.toHaveProperty("control");
  });
});

describe("no Machine is reported as gone by", () => {
  type Break = (world: RancherWorld) => void;
  const fault =
    (answer: FakeAnswer): Break =>
    ({ fake }) => {
      fake.fault = ({ path }) => (path.endsWith("/machines") ? answer : undefined);
    };
  const page = (traits: Record<string, unknown>): FakeAnswer =>
    buildJsonAnswer(200, { kind: "MachineList", metadata: { continue: "" }, items: [], ...traits });

  test.each<[string, Break, string, string]>([
    ["a list without any Machine", ({ fake }) => fake.machines.splice(0), "Unavailable", "existence: none"],
    [
      "a list with only Machines of others",
      ({ fake }) => {
        fake.machines.splice(0);
        fake.add({ cluster: "green" });
      },
      "Unavailable",
      "no Machine of cluster blue",
    ],
    [
      "a list that was not narrowed to the cluster",
      fault(
        page({
          items: [{ metadata: { name: "green-1", uid: "u", labels: {} }, spec: { clusterName: "green" } }],
        }),
      ),
      "Unavailable",
      "green-1",
    ],
    [
      "an item that is not a Machine",
      fault(page({ items: [{ metadata: {} }] })),
      "Unavailable",
      "not a Machine",
    ],
    ["a list without items", fault(page({ items: null })), "Unavailable", "no Machine of cluster"],
    [
      "a list of something else",
      fault(buildJsonAnswer(200, { kind: "NodeList", metadata: {}, items: [] })),
      "Unavailable",
      "not a list",
    ],
    [
      "a page of a console",
      fault({ status: 200, body: "<html>", headers: { "content-type": "text/html" } }),
      "Unavailable",
      "not the API's JSON",
    ],
    [
      "a rejected token",
      fault(buildRancherError(401, "Unauthorized", "must authenticate")),
      "Denied",
      "must authenticate",
    ],
    ["a token without the right to list", fault(buildStatusAnswer(403, "Forbidden")), "Denied", "Forbidden"],
    ["a missing collection", fault(buildStatusAnswer(404, "NotFound")), "Unavailable", "rancher.url"],
    ["a throttle", fault(buildStatusAnswer(429, "TooManyRequests")), "Throttled", "TooManyRequests"],
    ["a server that fails", fault(buildStatusAnswer(503, "ServiceUnavailable")), "Unavailable", "503"],
    [
      "a redirect",
      fault({ status: 302, body: "", headers: { location: "https://elsewhere.example.com" } }),
      "Unavailable",
      "redirects are not followed",
    ],
    [
      "an invalid group",
      ({ fake }) => {
        fake.fault = ({ path }) =>
          path.endsWith("/cluster.x-k8s.io") ? buildJsonAnswer(200, { kind: "APIGroup" }) : undefined;
      },
      "Unavailable",
      "not an API group",
    ],
    [
      "a server without Cluster API",
      ({ fake }) => {
        fake.fault = ({ path }) =>
          path.endsWith("/cluster.x-k8s.io") ? buildStatusAnswer(404, "NotFound") : undefined;
      },
      "Unavailable",
      "rancher.url",
    ],
    [
      "a second page that fails",
      ({ fake }) => {
        for (let index = 0; index < 3; index += 1) fake.add();
        fake.pageSize = 2;
        fake.fault = ({ query }) =>
          query["continue"] === undefined ? undefined : buildStatusAnswer(410, "Expired");
      },
      "Unavailable",
      "Expired",
    ],
    [
      "pages without an end",
      ({ fake }) => {
        fake.fault = ({ path }) =>
          path.endsWith("/machines") ? page({ metadata: { continue: "again" } }) : undefined;
      },
      "Unavailable",
      "repeats",
    ],
  ])("%s", async (_, breakIt, code, words) => {
    world.fake.add();
    breakIt(world);
    const answers = await ask([labelled(ABSENT), {}]);
    expect(answers.map(formatAnswer)).toEqual([code, code]);
    for (const answer of answers) {
      expect(answer).toMatchObject({ message: expect.stringContaining(words) });
      expect(JSON.stringify(answer)).not.toContain(TOKEN);
    }
  });

  test("a server that echoes the token, which is not quoted", async () => {
    fault(buildStatusAnswer(403, `Forbidden for ${TOKEN}`))(world);
    const [answer] = await ask([{}]);
    expect(answer).toMatchObject({ code: "Denied" });
    expect(JSON.stringify(answer)).not.toContain(TOKEN);
  });
});

describe("requests", () => {
  const asked = () =>
    world.fake.requests.map(({ path, query }) =>
      path.endsWith("/machines") ? `list ${query["limit"]}` : "group",
    );

  test("1,000 nodes are two pages of one list", async () => {
    const nodes = Array.from({ length: 1_000 }, (_, index) => ({
      name: `node-${index}`,
      ...machine(world.fake.add()),
    }));
    const answers = await ask(nodes);
    expect(answers.every(({ kind }) => kind === "found")).toBe(true);
    expect(asked()).toEqual(["group", "list 500", "list 500"]);
  });

  test("the version is read once, and again if a list is missing", async () => {
    const cloud = world.cloud();
    const node = buildNode(machine(world.fake.add()));
    const look = async () => (await cloud.instances([node], buildCall())).answers.map(formatAnswer);
    expect(await look()).toEqual(["node-1"]);
    expect(await look()).toEqual(["node-1"]);
    world.fake.version = "v1beta2";
    expect(await look()).toEqual(["Unavailable"]);
    expect(await look()).toEqual(["node-1"]);
    expect(asked()).toEqual(["group", "list 500", "list 500", "list 500", "group", "list 500"]);
  });

  test("a list serves for a while for its own entries, and never for missing ones", async () => {
    const cloud = world.cloud(undefined, { maxListAgeMs: 10_000 });
    const there = world.fake.add();
    const look = async (...nodes: NodeTraits[]) =>
      (await cloud.instances(nodes.map(buildNode), buildCall())).answers.map(({ kind }) => kind);
    expect(await look(machine(there))).toEqual(["found"]);
    expect(await look(machine(there))).toEqual(["found"]);
    expect(asked()).toHaveLength(2);
    expect(await look(machine(there), labelled(ABSENT))).toEqual(["found", "not-found"]);
    expect(await look({})).toEqual(["found"]);
    expect(asked()).toHaveLength(4);
    world.pass(10_000);
    expect(await look(machine(there))).toEqual(["found"]);
    expect(asked()).toHaveLength(5);
  });
});
