import { expect, test } from "vitest";
import { buildOrphanFacts, ObjectReport, type Orphan } from "#core/report.ts";
import { LogLine } from "#test/log-line.ts";

const report = (orphans?: ObjectReport["orphans"]): ObjectReport =>
  ObjectReport.parse({ index: 0, outcome: "unchanged", because: { code: "UpToDate", message: "" }, orphans });

const orphan = (id: string, more: Partial<Orphan> = {}): Orphan => ({
  kind: "network load balancer",
  id,
  name: id,
  service: "default/web",
  code: "ServiceGone",
  ...more,
});

const times = { since: "2026-03-01T12:00:00.000Z", deletedFrom: "2026-03-01T12:15:00.000Z" };

test("each orphan has a documented log line, and the first has the total if not all are named", () => {
  const named = [orphan("a", times), orphan("b", { code: "ServiceReplaced" })];
  const lines = buildOrphanFacts([report({ count: 5, named }), report(), report({ count: 0, named: [] })]);
  const line = { kind: "network load balancer" };
  const service = { namespace: "default", name: "web" };
  expect(lines).toEqual([
    { ...line, ...service, ...times, target: "a", code: "ServiceGone", count: 5 },
    { ...line, ...service, target: "b", code: "ServiceReplaced" },
  ]);
  for (const each of lines) {
    const common = { level: "warn", event: "OrphanedLoadBalancer", cluster: "a", controller: "c" };
    const written = { time: "2026-03-01T12:00:00Z", ...common, ...each };
    expect(LogLine.safeParse(JSON.parse(JSON.stringify(written))).error).toBeUndefined();
  }
  expect(buildOrphanFacts([report({ count: 1, named: [orphan("a")] })])[0]).not.toHaveProperty("count");
});
