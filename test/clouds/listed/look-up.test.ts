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
  ["nothing is known", [], undefined],
  ["no list was read", [undefined, undefined], undefined],
  ["the first list shows it", [listing([one("1", "a")]), undefined], found("1")],
  ["a later list shows it", [listing([]), listing([one("2", "a")])], found("2")],
  ["the first list lacks a page", [listing([one("1", "a")], HALF)], undefined],
  ["the list before lacks a page", [listing([], HALF), listing([one("2", "a")])], undefined],
  ["the list before is not known", [undefined, listing([one("2", "a")])], undefined],
  ["a later list lacks a page", [listing([one("1", "a")]), listing([one("2", "a")], HALF)], found("1")],
  ["two lists show it", [listing([one("1", "a")]), listing([one("2", "a")])], ambiguous],
  ["one list shows it twice", [listing([one("2", "a"), one("1", "a")])], ambiguous],
  ["a machine is in both lists", [listing([one("1", "a")]), listing([one("1", "a")])], found("1")],
  ["another is foreign", [listing([one("1", "a", { isTheirs: true }), one("2", "a")])], found("2")],
  ["it is foreign", [listing([one("1", "a", { isTheirs: true })])], { kind: "fault", fault: THEIRS }],
  ["it is an address", [listing([one("1", "b", { addresses: ["a", "a"] })])], found("1", true)],
  [
    "two have the address",
    [listing([one("1", "b", { addresses: ["a"] }), one("2", "c", { addresses: ["a"] })])],
    ambiguous,
  ],
  [
    "the address is foreign, too",
    [listing([one("1", "b", { addresses: ["a"], isTheirs: true })])],
    undefined,
  ],
  [
    "a name goes before an address",
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
  ["half a list shows it", [listing([one("1", "a")], HALF)], found("1")],
  ["a later list alone is known", [undefined, listing([one("1", "a")])], found("1")],
  ["no list shows it", [listing([one("2", "a")])], undefined],
])("by an ID, if %s", (_, view, match) => {
  const node = { metadata: { name: "a" }, spec: { providerID: "box://1" } };
  const said = lookUp({ node, query: { kind: "id", id: "1" } }, view, checkOwnership);
  if (match === undefined) expect(said).toBeUndefined();
  else expect(said).toMatchObject(match);
});
