import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isWithin, parseCidr } from "#core/cidr.ts";
import type { Write } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import type { Machine, Route, RouteState, Target } from "#core/route/state.ts";
import {
  buildRawNode,
  buildReadyMachine,
  buildRoute,
  buildState,
  buildTable,
  carryOut,
  decideOn,
  formatActions,
  type RawNode,
  SETTINGS,
} from "#test/core/route/world.ts";

const NAMES = ["a", "b", "c", "d"];
const CIDRS = [
  "100.64.0.0/24",
  "100.64.1.0/24",
  "100.64.2.0/24",
  "fd00:10::/64",
  "10.0.0.0/24",
  "0.0.0.0/0",
  "rubbish",
];

const target: fc.Arbitrary<Target> = fc.oneof(
  fc.constantFrom(...NAMES, "gone-node").map((id): Target => ({ kind: "machine", id })),
  fc.constantFrom<Target>(
    { kind: "gone" },
    { kind: "foreign" },
    { kind: "unknown", because: { code: "Throttled", message: "slow" } },
  ),
);
const routes = fc.uniqueArray(
  fc.record({
    cidr: fc.constantFrom(...CIDRS.slice(0, 6), "100.64.9.0/24"),
    target,
    blackhole: fc.boolean(),
  }),
  { selector: ({ cidr }) => cidr, maxLength: 7 },
);
const tables = fc
  .array(routes, { minLength: 1, maxLength: 3 })
  .map((each) =>
    each.map((of, index) => buildTable(of as Route[], { id: `rtb-${index}`, networks: ["10.0.0.0/16"] })),
  );

const machine = (name: string): fc.Arbitrary<Machine> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .record({ forwards: fc.boolean(), running: fc.boolean() })
        .map((more) => buildReadyMachine(name, more)),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Machine>(
        { kind: "missing", message: "none" },
        { kind: "unnamed" },
        { kind: "named", id: name },
        { kind: "unknown", id: name, because: { code: "Unavailable", message: "no answer" } },
      ),
    },
  );
const node = (name: string): fc.Arbitrary<RawNode> =>
  fc
    .record({
      podCIDRs: fc.uniqueArray(fc.constantFrom(...CIDRS), { maxLength: 2 }),
      deleting: fc.boolean(),
      conditions: fc.constantFrom(
        undefined,
        [],
        ["Ready"],
        ["NetworkUnavailable", "Ready"],
        ["Ready", "NetworkUnavailable"],
      ),
    })
    .map(({ podCIDRs, deleting, conditions }) => {
      const metadata = {
        name,
        uid: `uid-${name}`,
        ...(deleting ? { deletionTimestamp: "2026-03-01T11:00:00Z" } : {}),
      };
      const status =
        conditions === undefined ? {} : { conditions: conditions.map((type) => ({ type, status: "True" })) };
      return { ...buildRawNode(name, undefined, { metadata, spec: { podCIDRs } }), status };
    });

const world = fc
  .subarray(NAMES)
  .chain((names) =>
    fc.record({
      nodes: fc.tuple(...names.map(node)),
      machines: fc
        .tuple(...names.map(machine))
        .map((each) => Object.fromEntries(each.map((one, index) => [names[index] ?? "", one]))),
      tables,
      failures: fc.infiniteStream(
        fc.option(fc.constantFrom("Throttled", "Denied", "Conflict", "Invalid"), { freq: 4 }),
      ),
    }),
  )
  .map(({ nodes, machines, tables: of, failures }) => ({
    nodes: [...nodes],
    said: buildState(of, [...nodes], machines),
    failures,
  }));

function check(
  property: fc.IProperty<[{ nodes: RawNode[]; said: RouteState; failures: fc.Stream<string | null> }]>,
): void {
  // biome-ignore lint/nursery/noFloatingPromises: a property that is synchronous is asserted synchronously
  fc.assert(property, { numRuns: 500 });
}

const failing = (failures: fc.Stream<string | null>) => (): Reason | undefined => {
  const code = failures.next().value ?? undefined;
  return code === undefined ? undefined : { code, message: code };
};

describe("for any tables, nodes and machines", () => {
  test("a decision on the result of all writes changes nothing", () => {
    check(
      fc.property(world, ({ nodes, said }) => {
        const { subject, nodes: after } = carryOut(said, nodes);
        const now = (subject.answer as { readonly state: RouteState }).state;
        expect(decideOn(now, after).kind).not.toBe("change");
      }),
    );
  });

  test("foreign routes, and those outside the cluster's networks, stay unchanged, whatever fails", () => {
    check(
      fc.property(world, ({ nodes, said, failures }) => {
        const { writes } = carryOut(said, nodes, failing(failures));
        if (said.kind !== "tables") return;
        const networks = SETTINGS.routes.clusterCIDRs.flatMap((text) => parseCidr(text) ?? []);
        for (const { id, routes: of } of said.tables) {
          for (const { cidr, target: to } of of) {
            const network = parseCidr(cidr);
            const isOurs = network !== undefined && networks.some((each) => isWithin(network, each));
            if (isOurs && (to.kind === "machine" || to.kind === "gone")) continue;
            expect(formatActions(writes).filter((action) => action.endsWith(`${id} ${cidr}`))).toEqual([]);
          }
        }
      }),
    );
  });

  test("no route is created outside the cluster's networks, to another node's machine, or before it forwards", () => {
    check(
      fc.property(world, ({ nodes, said, failures }) => {
        const { writes } = carryOut(said, nodes, failing(failures));
        const forwarding = new Set(
          said.kind === "tables"
            ? Object.values(said.machines).flatMap((each) =>
                each.kind === "ready" && each.forwards ? each.id : [],
              )
            : [],
        );
        for (const write of writes) {
          if (write.on !== "cloud") continue;
          if (write.action === "forward") forwarding.add(write.target);
          if (write.action !== "create" && write.action !== "replace") continue;
          const [, cidr = ""] = write.target.split(" ");
          const owners = nodes
            .filter(({ spec }) => spec.podCIDRs?.includes(cidr))
            .map(({ metadata }) => metadata.name);
          const { instance = "" } = write.parameters["target"] as { readonly instance?: string };
          expect(owners).toContain(instance);
          expect(forwarding).toContain(instance);
          expect(cidr).toMatch(/^(100\.64|fd00:10:)/);
        }
      }),
    );
  });

  test("without nodes nothing is deleted", () => {
    check(
      fc.property(world, ({ said }) => {
        const none = said.kind === "tables" ? { ...said, machines: {} } : said;
        expect(carryOut(none, []).keys).toEqual([]);
      }),
    );
  });

  test("each write is tried once in a pass", () => {
    check(
      fc.property(world, ({ nodes, said, failures }) => {
        const { keys } = carryOut(said, nodes, failing(failures));
        expect(new Set(keys).size).toBe(keys.length);
      }),
    );
  });

  test("the order of nodes and routes has no effect", () => {
    check(
      fc.property(world, ({ nodes, said }) => {
        const of = (write: Write): string => JSON.stringify(write);
        const turned =
          said.kind === "tables"
            ? { ...said, tables: said.tables.map((each) => ({ ...each, routes: each.routes.toReversed() })) }
            : said;
        const [one, other] = [carryOut(said, nodes), carryOut(turned, nodes.toReversed())];
        expect(other.writes.map(of).toSorted()).toEqual(one.writes.map(of).toSorted());
      }),
    );
  });
});

test("a route is identified by its network in any spelling", () => {
  const nodes = [buildRawNode("a", "fd00:10:0:0::/64"), buildRawNode("b", "100.64.01.0/24")];
  const there = [buildRoute("FD00:10::/64", "a"), buildRoute("100.64.1.9/24", "b")];
  expect(carryOut(buildState([buildTable(there)], nodes), nodes).keys).toEqual([
    "condition a",
    "condition b",
  ]);
});
