import { expect, test } from "vitest";
import type { Fault } from "#clouds/http/outcome.ts";
import { createListing, type Listing } from "#clouds/listed/listing.ts";
import { type CheckOwnership, type ListingsView, lookUp } from "#clouds/listed/look-up.ts";

interface Box {
  readonly id: string;
  readonly name: string;
  readonly addresses?: readonly string[];
  readonly isTheirs?: true;
}

const HALF: Fault = { code: "Unavailable", message: "a page failed" };
const THEIRS: Fault = { code: "Foreign", message: "foreign" };
const checkOwnership: CheckOwnership<Box> = ({ isTheirs }) => (isTheirs ? THEIRS : undefined);

const listing = (machines: readonly Box[], incomplete?: Fault): Listing<Box> =>
  createListing({
    ...{ startedAt: 0, pages: 1, incomplete, machines },
    listAddresses: ({ addresses = [] }) => addresses,
  });
const one = (id: string, name: string, more: Partial<Box> = {}): Box => ({ id, name, ...more });
const found = (id: string, guess = false) => ({ kind: "machine", machine: { id }, guess });
const ambiguous = { kind: "fault", fault: { code: "Ambiguous", message: expect.stringContaining("1, 2") } };

test.each<[string, ListingsView<Box>, object | undefined]>([
  ["there are no lists: no answer", [], undefined],
  ["no list was read: no answer", [undefined, undefined], undefined],
  ["the first list shows it: found", [listing([one("1", "a")]), undefined], found("1")],
  ["a later list shows it: found", [listing([]), listing([one("2", "a")])], found("2")],
  ["the first list lacks a page: no answer", [listing([one("1", "a")], HALF)], undefined],
  ["the earlier list lacks a page: no answer", [listing([], HALF), listing([one("2", "a")])], undefined],
  ["the earlier list was not read: no answer", [undefined, listing([one("2", "a")])], undefined],
  [
    "a later list lacks a page: found",
    [listing([one("1", "a")]), listing([one("2", "a")], HALF)],
    found("1"),
  ],
  [
    "two lists show different machines: ambiguous",
    [listing([one("1", "a")]), listing([one("2", "a")])],
    ambiguous,
  ],
  ["one list shows two machines: ambiguous", [listing([one("2", "a"), one("1", "a")])], ambiguous],
  [
    "both lists show the same machine: found",
    [listing([one("1", "a")]), listing([one("1", "a")])],
    found("1"),
  ],
  [
    "the other machine with the name is foreign: found",
    [listing([one("1", "a", { isTheirs: true }), one("2", "a")])],
    found("2"),
  ],
  [
    "the only machine with the name is foreign: Foreign",
    [listing([one("1", "a", { isTheirs: true })])],
    { kind: "fault", fault: THEIRS },
  ],
  [
    "the name is a machine's address: found as a guess",
    [listing([one("1", "b", { addresses: ["a", "a"] })])],
    found("1", true),
  ],
  [
    "two machines have the address: ambiguous",
    [listing([one("1", "b", { addresses: ["a"] }), one("2", "c", { addresses: ["a"] })])],
    ambiguous,
  ],
  [
    "only a foreign machine has the address: no answer",
    [listing([one("1", "b", { addresses: ["a"], isTheirs: true })])],
    undefined,
  ],
  [
    "one machine has the name and another the address: found by name",
    [listing([one("1", "a"), one("2", "b", { addresses: ["a"] })])],
    found("1"),
  ],
])("by a name, if %s", (_, view, match) => {
  const node = { metadata: { name: "a" }, spec: {} };
  const said = lookUp({ node, query: { kind: "name", name: "a" } }, view, checkOwnership);
  if (match === undefined) expect(said).toBeUndefined();
  else expect(said).toMatchObject(match);
});

test.each<[string, ListingsView<Box>, object | undefined]>([
  ["an incomplete list shows it: found", [listing([one("1", "a")], HALF)], found("1")],
  ["only a later list was read: found", [undefined, listing([one("1", "a")])], found("1")],
  ["no list shows it: no answer", [listing([one("2", "a")])], undefined],
])("by an ID, if %s", (_, view, match) => {
  const node = { metadata: { name: "a" }, spec: { providerID: "box://1" } };
  const said = lookUp({ node, query: { kind: "id", id: "1" } }, view, checkOwnership);
  if (match === undefined) expect(said).toBeUndefined();
  else expect(said).toMatchObject(match);
});
