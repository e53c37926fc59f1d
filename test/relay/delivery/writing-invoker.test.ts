import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Decision } from "#core/decision.ts";
import { Node } from "#core/node/node.ts";
import type { DeferredWrites, Report } from "#core/report.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { createWritingInvoker } from "#relay/delivery/writing-invoker.ts";
import { ask, askForJson } from "#test/ask.ts";
import { type PrivateCluster, startPrivateCluster } from "#test/relay/delivery/private-cluster.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

let world: PrivateCluster;
beforeEach(async () => {
  world = await startPrivateCluster();
});
afterEach(() => world.close());

const named = (count: number): string[] => Array.from({ length: count }, (_, index) => `node-${index + 1}`);

async function writers(): Promise<readonly string[]> {
  const records = (await world.plane.record()).filter(
    ({ verb, user }) => verb === "patch" && user !== "admin",
  );
  return [
    ...new Set(records.map(({ user, resource, subresource = "" }) => `${user} ${resource}/${subresource}`)),
  ].sort();
}

describe("a cluster whose API server no function reaches", () => {
  test("300 nodes are initialized, with the relay as the writer; the function never tries to write", async () => {
    await world.startRelay();
    await world.join(...named(300));
    await world.untilUp(300);
    expect(world.tries()).toBe(0);
    expect(await writers()).toEqual(["serverless-ccm-node nodes/", "serverless-ccm-node nodes/status"]);
    const records = [...world.history.records.values()];
    expect(records.filter(({ naked, deleted }) => naked || deleted)).toEqual([]);
    expect(world.history.hole).toBeUndefined();
  });

  test("the next relay initializes the rest after one stopped halfway: nothing is lost", async () => {
    const first = await world.startRelay();
    await world.join(...named(300));
    await waitUntilTrue("some nodes to come up", () => world.up() >= 40, 60_000);
    await first.close();
    const before = world.up();
    await world.startRelay();
    await world.untilUp(300);
    expect(before).toBeLessThan(300);
    expect([...world.history.records.values()].filter(({ naked, deleted }) => naked || deleted)).toEqual([]);
  });

  test("an announced machine is looked up, and nothing is written", async () => {
    const reports: Report[] = [];
    world.forge = (report) => {
      if (report.controller === "node-claim-announcements") reports.push(report);
      return report;
    };
    await world.startRelay();
    const path = "/apis/karpenter.sh/v1/nodeclaims";
    const claim = { apiVersion: "karpenter.sh/v1", kind: "NodeClaim", metadata: { name: "claim" } };
    await ask(world.admin, { method: "POST", path, body: claim });
    await ask(world.admin, {
      ...{ method: "PATCH", path: `${path}/claim/status`, contentType: "application/merge-patch+json" },
      body: { status: { providerID: "memory:///zone-a/node-1" } },
    });
    await waitUntilTrue("its look-up", () => reports.length > 0, 60_000);
    expect(reports[0]?.handedBack?.next).toMatchObject({
      kind: "decisions",
      items: [{ decision: { kind: "skip", because: { code: "NoInstance" } } }],
    });
    expect(await writers()).toEqual([]);
  });

  test("a node that changes between decision and write is decided on again", async () => {
    const taint = { key: "example.com/own", effect: "NoSchedule" };
    let invocations = 0;
    world.forge = async (report) => {
      invocations += 1;
      if (invocations > 1) return report;
      const body = [{ op: "add", path: "/spec/taints/0", value: taint }];
      const contentType = "application/json-patch+json";
      await ask(world.admin, { method: "PATCH", path: "/api/v1/nodes/node-1", body, contentType });
      return report;
    };
    await world.startRelay();
    await world.join("node-1");
    await world.untilUp(1);
    expect(invocations).toBeGreaterThan(1);
    const node = await askForJson(world.admin, { method: "GET", path: "/api/v1/nodes/node-1" });
    expect(Node.parse(node).spec.taints).toContainEqual(taint);
    expect(world.lines).toContainEqual(
      expect.objectContaining({ name: "node-1", because: expect.objectContaining({ code: "Conflict" }) }),
    );
  });
});

type Decisions = Extract<DeferredWrites["next"], { readonly kind: "decisions" }>;

/** Returns the report with a forged first decision. */
function withForged(
  report: Report,
  forge: (decision: Extract<Decision, { kind: "change" }>) => unknown,
): Report {
  const { handedBack } = report;
  if (handedBack?.next.kind !== "decisions") return report;
  const items = handedBack.next.items.map(({ index, decision }, place) => ({
    index,
    decision: place === 0 && decision.kind === "change" ? forge(decision) : decision,
  }));
  return { ...report, handedBack: { ...handedBack, next: { kind: "decisions", items } as Decisions } };
}

describe("a function that an attacker controls", () => {
  test.each<[string, (report: Report) => Report, string]>([
    [
      "decides on another node",
      (report) =>
        withForged(report, (decision) => ({ ...decision, object: { ...decision.object, name: "node-9" } })),
      "another object",
    ],
    [
      "writes to another node",
      (report) =>
        withForged(report, (decision) => ({
          ...decision,
          writes: decision.writes.map((write) => ({ ...write, name: "node-9" })),
        })),
      "another object was sent",
    ],
    [
      "deletes",
      (report) =>
        withForged(report, (decision) => {
          const { uid, name } = decision.object;
          const target = { on: "cluster", apiVersion: "v1", resource: "nodes", name };
          return { ...decision, writes: [{ ...target, verb: "delete", precondition: { uid } }] };
        }),
      "delete of nodes",
    ],
    ...(
      [
        ["cordons", "/spec/unschedulable", true],
        ["taints", "/spec/taints/-", { key: "example.com/a", effect: "NoExecute" }],
        ["labels", "/metadata/labels/node-role.kubernetes.io~1control-plane", ""],
        ["holds by a finalizer", "/metadata/finalizers", ["example.com/a"]],
        ["says that all is well", "/status/conditions", [{ type: "Ready", status: "True" }]],
      ] as const
    ).map(([what, path, value]): [string, (report: Report) => Report, string] => [
      what,
      (report) =>
        withForged(report, (decision) => ({
          ...decision,
          writes: decision.writes.map((write) =>
            "patch" in write ? { ...write, patch: [...write.patch, { op: "add", path, value }] } : write,
          ),
        })),
      `patch of nodes node-1 that writes ${path}, which node does not write so`,
    ]),
    [
      "answers for another cluster",
      (report) => ({ ...report, cluster: "tenant-b" }),
      "another event, cluster",
    ],
  ])("%s: nothing of its report is written, and the fault is reported", async (_, forge, why) => {
    world.forge = forge;
    await world.startRelay();
    await world.join("node-1", "node-2");
    await waitUntilTrue("the refusal to be said", () => refusals().length > 0, 60_000);
    expect(refusals()[0]?.["message"]).toContain(why);
    expect(world.up()).toBe(0);
    expect(await writers()).toEqual([]);
    world.forge = (report) => report;
    await world.untilUp(2);
  });

  const refusals = () =>
    world.lines.filter(({ event, code }) => event === "InvocationFailed" && code === "DecisionsRefused");
});

test("reports a controller for which no relay writes", async () => {
  const options = { cluster: world.cluster, transport: world.admin, clock: systemClock };
  const invoker = createWritingInvoker({
    ...options,
    invoker: { invoke: () => Promise.reject(new Error("invoked")) },
  });
  const event = {
    ...{ version: 1 as const, id: "event-1", cluster: "tenant-a", clusterHash: world.cluster.hash },
    ...{ controller: "service-lb-controller", reason: "watch" as const, objects: [{}] },
  };
  expect(await invoker.invoke(event, new AbortController().signal)).toMatchObject({
    kind: "failed",
    code: "NotSupported",
    message: "with writes: relay, no identity writes for service-lb-controller",
  });
});
