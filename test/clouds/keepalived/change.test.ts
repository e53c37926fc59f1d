import { describe, expect, test } from "vitest";
import { type Assignment, changed, freeAddress } from "#clouds/keepalived/change.ts";
import { dataOf, type Entry, type Ledger } from "#clouds/keepalived/ledger.ts";

const POOL = "10.0.0.8/29";
const entry = (name: string, ip: string, forwardMethod?: string): Entry => ({
  ...{ uid: `uid-${name}`, ip, serviceNamespace: "default", serviceName: name },
  ...(forwardMethod === undefined ? {} : { forwardMethod }),
});
const ledger = (...entries: readonly Entry[]): Ledger => ({ entries, data: dataOf(entries), marks: {} });
const web = (difference: Partial<Assignment> = {}): Assignment => ({
  ...{ kind: "assign", uid: "uid-web", namespace: "default", name: "web" },
  ...difference,
});
const OTHER = entry("other", "10.0.0.9");

describe("an address", () => {
  test.each<[string, Ledger, Assignment, readonly Entry[]]>([
    ["is the lowest of the pool but its first", ledger(), web(), [entry("web", "10.0.0.9")]],
    ["is the next one that is free", ledger(OTHER), web(), [OTHER, entry("web", "10.0.0.10")]],
    [
      "is the one that is asked for",
      ledger(OTHER),
      web({ ip: "10.0.0.12" }),
      [OTHER, entry("web", "10.0.0.12")],
    ],
    ["may be outside of the pool", ledger(), web({ ip: "192.0.2.1" }), [entry("web", "192.0.2.1")]],
    ["has its method at once", ledger(), web({ forwardMethod: "DR" }), [entry("web", "10.0.0.9", "DR")]],
    [
      "moves where another one is asked for, in its place of the list, with its method",
      ledger(entry("web", "10.0.0.10"), OTHER),
      web({ ip: "10.0.0.11", forwardMethod: "PROXY" }),
      [entry("web", "10.0.0.11", "PROXY"), OTHER],
    ],
    [
      "stays where none is asked for any more",
      ledger(entry("web", "10.0.0.11")),
      web(),
      [entry("web", "10.0.0.11")],
    ],
    ["loses its method", ledger(entry("web", "10.0.0.9", "NAT")), web(), [entry("web", "10.0.0.9")]],
    [
      "stays as it is written, however it is spelt",
      ledger(entry("web", "010.0.0.9")),
      web({ ip: "10.0.0.9" }),
      [entry("web", "010.0.0.9")],
    ],
    [
      "is taken over from an earlier Service of the name, whose it was",
      ledger({ ...entry("web", "10.0.0.9"), uid: "uid-earlier" }),
      web(),
      [entry("web", "10.0.0.9")],
    ],
    ...["web", "", "fd00::1", "::ffff:10.0.0.11"].map(
      (ip): [string, Ledger, Assignment, readonly Entry[]] => [
        `is another one where "${ip}" stood, of which keepalived cannot be told`,
        ledger(OTHER, entry("web", ip)),
        web(),
        [OTHER, entry("web", "10.0.0.10")],
      ],
    ),
    [
      "is the one that is asked for, beside one that is none",
      ledger(entry("other", "web")),
      web({ ip: "10.0.0.9" }),
      [entry("other", "web"), entry("web", "10.0.0.9")],
    ],
    [
      "stands there once",
      ledger(entry("web", "10.0.0.10"), OTHER, entry("web", "10.0.0.11")),
      web(),
      [entry("web", "10.0.0.10"), OTHER],
    ],
    [
      "is another one where two had the same by a mistake",
      ledger(OTHER, entry("web", "10.0.0.9")),
      web(),
      [OTHER, entry("web", "10.0.0.10")],
    ],
  ])("%s", (_, before, assignment, entries) => {
    const done = changed(before, assignment, POOL);
    expect(done).toMatchObject({ kind: "done", ledger: { entries, data: dataOf(entries) } });
    if (done.kind !== "done") throw new Error("not done");
    expect(changed(done.ledger, assignment, POOL)).toEqual(done);
  });

  test("of another Service is not given", () => {
    const held = { kind: "in-use", holder: OTHER };
    expect(changed(ledger(OTHER), web({ ip: "10.0.0.9" }), POOL)).toEqual(held);
    expect(changed(ledger(entry("web", "10.0.0.10"), OTHER), web({ ip: "10.0.0.9" }), POOL)).toEqual(held);
  });

  test("is not to be had from a pool that has none left", () => {
    expect(changed(ledger(OTHER), web(), "10.0.0.9/32")).toEqual({ kind: "exhausted" });
    expect(changed(ledger(OTHER), web({ ip: "10.0.0.10" }), "10.0.0.9/32")).toMatchObject({ kind: "done" });
  });

  test("goes with its entry and its key, and with the mark", () => {
    const before = { ...ledger(entry("web", "10.0.0.10"), OTHER), marks: { "uid-web": "then", b: "then" } };
    expect(changed(before, { kind: "release", uid: "uid-web" }, POOL)).toMatchObject({
      kind: "done",
      entry: null,
      ledger: { entries: [OTHER], data: { "10.0.0.9": "default/other" } },
    });
  });

  test("goes wherever it stands", () => {
    const before = ledger(entry("web", "10.0.0.10"), OTHER, entry("web", "10.0.0.11"));
    const done = changed(before, { kind: "release", uid: "uid-web" }, POOL);
    expect(done).toEqual({ kind: "done", entry: null, ledger: ledger(OTHER) });
  });

  test("is told to keepalived as another one's who has it too", () => {
    const before = ledger(entry("web", "10.0.0.9"), OTHER);
    expect(before.data).toEqual({ "10.0.0.9": "default/web" });
    expect(changed(before, { kind: "release", uid: "uid-web" }, POOL)).toMatchObject({
      ledger: { data: { "10.0.0.9": "default/other" } },
    });
  });

  test("stays in the data where another one has it too", () => {
    const before = ledger(OTHER, entry("web", "10.0.0.9"));
    expect(changed(before, { kind: "release", uid: "uid-web" }, POOL)).toMatchObject({
      ledger: { data: { "10.0.0.9": "default/other" } },
    });
  });
});

test.each([
  ["10.0.0.8/29", ["10.0.0.9", "10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13", "10.0.0.14"]],
  ["10.0.0.13/29", ["10.0.0.9", "10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13", "10.0.0.14"]],
  ["10.0.0.8/31", ["10.0.0.8", "10.0.0.9"]],
  ["10.0.0.8/32", ["10.0.0.8"]],
])("the addresses of %s", (cidr, all) => {
  const entries: Entry[] = [];
  for (let free = freeAddress({ entries }, cidr); free !== undefined; free = freeAddress({ entries }, cidr))
    entries.push(entry(`s${entries.length}`, free));
  expect(entries.map(({ ip }) => ip)).toEqual(all);
});

test("an address that cannot be a key is in no data", () => {
  const entries = [entry("a", "fd00::1"), entry("b", "web"), entry("c", "::ffff:10.0.0.1"), OTHER];
  expect(dataOf(entries)).toEqual({ "10.0.0.9": "default/other" });
});
