import { afterAll, beforeAll, expect, test } from "vitest";
import { formatUser } from "#core/identities.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { waitUntil } from "#test/e2e/stage.ts";
import { type AuditStage, CLUSTER_NAME, startAuditStage } from "#test/functions/audit/audit-stage.ts";
import { buildAuditEvent, buildEventList } from "#test/functions/audit/event-builders.ts";

let stage: AuditStage;
beforeAll(async () => {
  stage = await startAuditStage(({ folder }) => startEmbeddedControlPlane({ folder }));
});
afterAll(() => stage?.close());

const report = async (...names: readonly string[]): Promise<number> => {
  const events = names.map((name) => buildAuditEvent("create", { resource: "nodes", name }));
  return stage.report(buildEventList(events), await stage.sign(CLUSTER_NAME));
};

test("reported nodes are done before the answer, by the function's own identity and with lists alone", async () => {
  const names = Array.from({ length: 10 }, (_, index) => `node-${index}`);
  await stage.join(names);
  expect(await report(...names)).toBe(200);
  expect(await stage.waiting()).toEqual([]);
  const own = (await stage.cluster.plane.record()).filter(({ user }) => user === formatUser("audit"));
  expect(new Set(own.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`))).toEqual(
    new Set(["list nodes 200"]),
  );
});

test("a report twice, in another order and about nodes that never were costs a look", async () => {
  await stage.join(["twice"]);
  await Promise.all([report("twice", "never"), report("never", "twice"), report("never")]);
  await waitUntil("the node to come up", async () => (await stage.waiting()).length === 0, 60_000);
  const sent = stage.events.flatMap(({ objects }) => objects);
  expect(sent.filter((object) => JSON.stringify(object).includes('"twice"'))).toHaveLength(1);
});

test("another cluster's token opens nothing", async () => {
  const before = (await stage.cluster.plane.record()).length;
  expect(await stage.report(buildEventList([]), await stage.sign("red"))).toBe(401);
  expect((await stage.cluster.plane.record()).length).toBe(before);
});
