import { expect, test } from "vitest";
import { type CallContext, createMeter } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { createListing, type Listing } from "#clouds/listed/listing.ts";
import type { Machine, Query } from "#clouds/listed/query.ts";
import { resolve } from "#clouds/listed/resolve.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { buildNode } from "#test/clouds/builders.ts";

const LISTED: Machine = { id: "1", name: "listed" };
const READ: Machine = { id: "2", name: "read" };

const listing = (startedAt: number, machines: readonly Machine[]): Listing<Machine> =>
  createListing({ startedAt, pages: 1, incomplete: undefined, machines });

const turn: CallContext = { signal: new AbortController().signal, meter: createMeter() };

test.each<[string, () => Listing<Machine> | undefined]>([
  ["grows too old", () => undefined],
  ["gives way to another batch's, which lacks it", () => listing(50, [READ])],
])("a listed instance is not gone because that list %s while others are read", async (_, next) => {
  let recent: Listing<Machine> | undefined = listing(0, [LISTED]);
  const nodes = [buildNode({ name: "listed" }), buildNode({ name: "read" })] as const;
  const queries = new Map<(typeof nodes)[number], Query>([
    [nodes[0], { kind: "id", id: LISTED.id }],
    [nodes[1], { kind: "id", id: READ.id }],
  ]);
  const directory = { getRecent: () => recent, list: async () => fault("Unavailable", "unexpected call") };
  const reads = {
    isCheaperFor: () => true,
    readAll: async (ids: ReadonlySet<string>) => {
      expect([...ids]).toEqual([READ.id]);
      recent = next();
      return new Map<string, Outcome<Machine | undefined>>([[READ.id, ok(READ)]]);
    },
  };
  const found = await resolve(
    queries,
    { directories: [directory], reads, checkOwnership: () => undefined, now: () => 100 },
    turn,
  );
  expect([...found.values()]).toEqual([
    { kind: "machine", machine: LISTED, guess: false },
    { kind: "machine", machine: READ, guess: false },
  ]);
});

test("an ID without an answer is not gone", async () => {
  const node = buildNode();
  const directory = {
    getRecent: () => undefined,
    list: async () => fault("Unavailable", "unexpected call"),
  };
  const reads = { isCheaperFor: () => true, readAll: async () => new Map() };
  const queries = new Map<typeof node, Query>([[node, { kind: "id", id: "1" }]]);
  const found = await resolve(
    queries,
    { directories: [directory], reads, checkOwnership: () => undefined, now: () => 0 },
    turn,
  );
  expect(found.get(node)).toMatchObject({ kind: "fault", fault: { code: "Unavailable" } });
});
