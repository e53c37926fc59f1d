import { describe, expect, test } from "vitest";
import type { DecisionContext } from "#core/controller.ts";
import type { CloudAction, Decision } from "#core/decision.ts";
import type { Holding } from "#core/service/holdings.ts";
import type { DroppedOrphans } from "#core/service/model.ts";
import { formatActionKey, type KnownAudit } from "#core/service/orphans/audit.ts";
import { decideDrops } from "#core/service/orphans/drop.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  createWorld,
  MINUTE_MS,
  NOON_MS,
  namespace,
  removeService,
  runPass,
  serve,
} from "#test/core/service/orphans/world.ts";

const MODEL: DroppedOrphans = {
  mark: ({ id }, text) => ({ action: "Mark", target: id, parameters: { text } }),
  unmark: ({ id }) => ({ action: "Unmark", target: id, parameters: {} }),
  drop: ({ id }) => ({ action: "Drop", target: id, parameters: {} }),
};

/** The text of a mark that is a number of seconds old. */
const markOf = (secondsAgo: number): string =>
  [0, MINUTE_MS].map((later) => new Date(NOON_MS - secondsAgo * 1_000 + later).toISOString()).join("/");

const line = (name: string, mark?: string): Holding => ({
  ...{ kind: "address", id: `uid-${name}`, name: "10.0.0.1", service: `default/${name}` },
  ...(mark === undefined ? {} : { mark }),
});

function audit(
  found: Partial<KnownAudit["orphans"]>,
  {
    tried = [],
    failure,
  }: { readonly tried?: readonly string[]; readonly failure?: KnownAudit["failure"] } = {},
): KnownAudit {
  const nothing = { retained: [], gone: [], replaced: [], control: undefined };
  return {
    kind: "known",
    orphans: { ...nothing, ...found },
    removable: undefined,
    tried: new Set(tried),
    failure,
  };
}

const SERVICES = ["b", "c"].map((name) => ({ key: `default/${name}`, uid: `uid-${name}` }));

const context = (count: DecisionContext["count"] = { kind: "count", count: 2 }): DecisionContext => ({
  reason: "refresh",
  now: new Date(NOON_MS),
  related: { services: { resourceVersion: "1", items: SERVICES } },
  settings: { ...DEFAULT_SETTINGS, cloud: { provider: "shelf" } },
  count,
});

const decide = (known: KnownAudit, count?: DecisionContext["count"]): Decision =>
  decideDrops(namespace, known, MODEL, context(count));

const actions = (decision: Decision): readonly CloudAction[] =>
  decision.kind === "change" ? decision.writes.filter((write) => write.on === "cloud") : [];
const keys = (decision: Decision): readonly string[] => actions(decision).map(formatActionKey);

describe("an entry without a Service", () => {
  test.each<[string, Holding, readonly string[]]>([
    ["is marked when it is found first", line("a"), ["Mark uid-a"]],
    ["is left alone within a minute", line("a", markOf(59)), []],
    ["is dropped after a minute", line("a", markOf(60)), ["Drop uid-a"]],
    ["is dropped at any later audit", line("a", markOf(100_000)), ["Drop uid-a"]],
    ["is marked again if the mark is from the future", line("a", markOf(-1)), ["Mark uid-a"]],
    ["is marked again if the mark is invalid", line("a", "then"), ["Mark uid-a"]],
  ])("%s", (_, holding, expected) => {
    expect(keys(decide(audit({ gone: [holding] })))).toEqual(expected);
    expect(keys(decide(audit({ replaced: [holding] })))).toEqual(expected);
    // Nothing is done while a Service may be missing in the list.
    for (const count of [{ kind: "count", count: 3 } as const, { kind: "unknown", message: "?" } as const])
      expect(decide(audit({ gone: [holding] }), count)).toMatchObject({
        kind: "retry",
        because: { code: "ServicesIncomplete" },
        afterSeconds: 60,
      });
  });

  test("is marked with the time from which it may be dropped", () => {
    expect(actions(decide(audit({ gone: [line("a")] })))).toMatchObject([
      {
        parameters: { text: "2026-03-01T12:00:00.000Z/2026-03-01T12:01:00.000Z" },
        precondition: { deleting: false },
      },
    ]);
  });

  test("is dropped only while no Service of type LoadBalancer has its uid", () => {
    const [drop] = actions(decide(audit({ gone: [line("a", markOf(60))] })));
    expect(drop?.precondition).toEqual({
      uid: namespace.metadata.uid,
      deleting: false,
      absent: {
        ...{ apiVersion: "v1", resource: "services", namespace: "default", name: "a" },
        having: [
          { op: "test", path: "/metadata/uid", value: "uid-a" },
          { op: "test", path: "/spec/type", value: "LoadBalancer" },
        ],
      },
    });
  });

  test("does not prevent others from being marked or dropped", () => {
    const known = audit({ gone: [line("a"), line("b", markOf(60))], replaced: [line("c", markOf(30))] });
    expect(decide(known)).toMatchObject({ kind: "change", independent: true });
    expect(keys(decide(known))).toEqual(["Mark uid-a", "Drop uid-b"]);
  });

  test("is one of at most a hundred in an audit; the next audit continues", () => {
    const gone = Array.from({ length: 101 }, (_, index) => line(`s${index}`));
    const first = keys(decide(audit({ gone })));
    expect(first).toHaveLength(100);
    expect(decide(audit({ gone }, { tried: first }))).toMatchObject({ kind: "retry", afterSeconds: 65 });
  });
});

test("the mark of an entry whose Service exists is removed, whatever is known about others", () => {
  const held = [line("a", markOf(60)), line("b")];
  expect(keys(decide(audit({ retained: held })))).toEqual(["Unmark uid-a"]);
  expect(
    keys(decide(audit({ retained: held, gone: [line("c")] }), { kind: "unknown", message: "?" })),
  ).toEqual(["Unmark uid-a"]);
});

test.each<[string, KnownAudit, object]>([
  ["nothing is left", audit({ retained: [line("a")] }), { kind: "unchanged" }],
  [
    "all entries without a Service are dropped",
    audit({ gone: [line("a", markOf(60))] }, { tried: ["Drop uid-a"] }),
    { kind: "unchanged" },
  ],
  [
    "entries are marked",
    audit({ gone: [line("a", markOf(60)), line("b")] }, { tried: ["Drop uid-a", "Mark uid-b"] }),
    { kind: "retry", because: { code: "OrphansMarked" }, afterSeconds: 65 },
  ],
  [
    "an action failed",
    audit({ gone: [line("a")] }, { tried: ["Mark uid-a"], failure: { code: "Denied", message: "no" } }),
    { kind: "skip", because: { code: "Denied" } },
  ],
])("an audit ends if %s", (_, known, expected) => {
  expect(decide(known)).toMatchObject(expected);
});

describe("the audit", () => {
  const lines = () => {
    const world = createWorld(false);
    world.areLines = true;
    for (const name of ["lives", "gone", "replaced", "retyped"]) serve(world, name);
    removeService(world, "gone");
    world.services.set("default/replaced", "another");
    world.plain.add("default/retyped");
    return world;
  };
  const done = (world: ReturnType<typeof createWorld>) => world.done.map(({ what }) => what);

  test("drops entries without a Service of type LoadBalancer, also with orphan deletion disabled", async () => {
    const world = lines();
    const first = await runPass(world);
    expect(first.decision).toMatchObject({ kind: "retry", because: { code: "OrphansMarked" } });
    expect(first.told).toMatchObject({ count: 3 });
    world.nowMs += MINUTE_MS;
    expect((await runPass(world)).decision).toMatchObject({ kind: "unchanged" });
    const names = ["gone", "retyped", "replaced"];
    expect(done(world)).toEqual([
      ...names.map((name) => `Mark lb-${name}`),
      ...names.map((name) => `Drop lb-${name}`),
    ]);
    expect([...world.held.keys()]).toEqual(["lb-lives"]);
  });

  test.each([["gone"], ["replaced"]])("counts Services only for an entry that is %s", async (name) => {
    const world = lines();
    for (const other of ["gone", "replaced", "retyped"]) if (other !== name) world.held.delete(`lb-${other}`);
    const count = { kind: "unknown", message: "?" } as const;
    expect((await runPass(world, { count })).decision).toMatchObject({
      because: { code: "ServicesIncomplete" },
    });
    expect(done(world)).toEqual([]);
  });

  test("is repeated if the Services are unknown", async () => {
    const { decision } = await runPass(lines(), { related: {} });
    expect(decision).toMatchObject({ kind: "retry", because: { code: "ServicesUnknown" } });
  });
});

test("an entry that names no Service has no owner", () => {
  const nameless = { kind: "address", id: "uid-a", name: "10.0.0.1", mark: markOf(60) };
  const [drop] = actions(decide(audit({ gone: [nameless] })));
  expect(drop?.precondition.absent).toMatchObject({ namespace: "", name: "" });
});
