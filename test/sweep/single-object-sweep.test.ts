import { expect, test } from "vitest";
import { CERTIFICATE_SIGNING_REQUESTS, NODES } from "#core/resources/resource.ts";
import type { ApiObject, Watch } from "#core/watch.ts";
import { buildSweepLines } from "#sweep/payload.ts";
import { toMinute } from "#sweep/select.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { serviceWatch } from "#test/relay/watch-builders.ts";
import { createSweptWorld } from "#test/sweep/sweep-builders.ts";

/**
 * A controller about one object, which reads of all nodes their names; it needs no work, and is looked at
 * every ten minutes.
 */
const aloneWatch: Watch = {
  ...serviceWatch,
  name: "test-alone",
  resource: CERTIFICATE_SIGNING_REQUESTS,
  only: { name: "alone" },
  parse: (value) => ({ kind: "object", object: value as ApiObject }),
  snapshot: ({ metadata }) => ({ metadata }),
  needsWork: () => false,
  related: [
    {
      resource: NODES,
      project: (object) => (object as ApiObject).metadata.name,
      reads: ({ metadata }) => (metadata.name === "alone" ? "all" : []),
    },
  ],
  rechecks: { resync: { fingerprint: () => "", everySeconds: 600, whenRelatedChange: true } },
};

function swept(watch: Watch) {
  const world = createSweptWorld({ watches: [watch], entry: { controllers: [watch.name] } });
  world.invoke = async (event) => ({ kind: "report", report: buildReport(event) });
  for (const name of ["a", "b"]) world.nodes.put(name);
  for (const name of ["alone", "other"]) world.requestsOfLists.put(name);
  return world;
}

test("one object is listed by its name, with what it reads, each minute in which no relay tells of changes", async () => {
  const world = swept(aloneWatch);
  const first = toMinute(world.clock.wallTime().getTime());
  for (let minute = first; minute < first + 3; minute += 1) await world.sweep({ minute });
  expect(world.requestsOfLists.lists).toHaveLength(3);
  for (const path of world.requestsOfLists.lists)
    expect(path).toContain("fieldSelector=metadata.name%3Dalone&");
  expect(
    world.events.map(({ objects }) => objects.map((object) => (object as ApiObject).metadata.name)),
  ).toEqual(Array(3).fill(["alone"]));
  expect(world.events[0]?.related?.["nodes"]?.items).toEqual(["a", "b"]);
});

test("what no related change is a reason to look at is looked at once in its period", async () => {
  const world = swept({ ...aloneWatch, rechecks: { resync: { fingerprint: () => "", everySeconds: 600 } } });
  const first = toMinute(world.clock.wallTime().getTime());
  for (let minute = first; minute < first + 20; minute += 1) await world.sweep({ minute });
  expect(world.events).toHaveLength(2);
});

test("without a relay, orphaned load balancers are looked for once in ten minutes, and their number is reported", async () => {
  const world = createSweptWorld({ entry: { controllers: ["service-lb-controller"] } });
  const orphans = { count: 2, named: [] };
  world.invoke = async (event) => {
    const said = event.controller === "service-lb-orphans" ? { orphans } : {};
    return { kind: "report", report: buildReport(event, () => said) };
  };
  for (const name of ["kube-system", "default"]) world.namespaces.put(name);
  for (const name of ["a", "b"]) world.services.put(name, { metadata: { namespace: "default" } });
  const first = toMinute(world.clock.wallTime().getTime());
  const told: (number | undefined)[] = [];
  for (let minute = first; minute < first + 10; minute += 1)
    told.push((await world.sweep({ minute })).orphans);
  const audits = world.events.filter(({ controller }) => controller === "service-lb-orphans");
  expect(audits).toHaveLength(1);
  expect(audits[0]?.objects.map((object) => (object as ApiObject).metadata.name)).toEqual(["kube-system"]);
  expect(audits[0]?.related?.["services"]?.items).toHaveLength(2);
  expect(told.filter((each) => each !== undefined)).toEqual([2]);
  const [line] = buildSweepLines([{ ...(await world.sweep()), orphans: 2 }]);
  expect(line).toMatchObject({ event: "SweepFinished", orphans: 2 });
});
