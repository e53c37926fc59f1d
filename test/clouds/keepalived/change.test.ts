import { describe, expect, test } from "vitest";
import {
  type Assignment,
  applyChange,
  findLowestFreeAddress,
} from "#clouds/keepalived/load-balancers/change.ts";
import {
  buildData,
  type Entry,
  type VipAssignments,
} from "#clouds/keepalived/load-balancers/vip-assignments.ts";

const POOL = "10.0.0.8/29";
const entry = (name: string, ip: string, forwardMethod?: string): Entry => ({
  ...{ uid: `uid-${name}`, ip, serviceNamespace: "default", serviceName: name },
  ...(forwardMethod === undefined ? {} : { forwardMethod }),
});
const ledger = (...entries: readonly Entry[]): VipAssignments => ({
  entries,
  data: buildData(entries),
  marks: {},
});
const web = (difference: Partial<Assignment> = {}): Assignment => ({
  ...{ kind: "assign", uid: "uid-web", namespace: "default", name: "web" },
  ...difference,
});
const OTHER = entry("other", "10.0.0.9");

describe("an address", () => {
  test.each<[string, VipAssignments, Assignment, readonly Entry[]]>([
    ["is the lowest of the pool after the first", ledger(), web(), [entry("web", "10.0.0.9")]],
    ["is the next free one", ledger(OTHER), web(), [OTHER, entry("web", "10.0.0.10")]],
    ["is the requested one", ledger(OTHER), web({ ip: "10.0.0.12" }), [OTHER, entry("web", "10.0.0.12")]],
    ["may be requested outside of the pool", ledger(), web({ ip: "192.0.2.1" }), [entry("web", "192.0.2.1")]],
    [
      "has its forwarding method immediately",
      ledger(),
      web({ forwardMethod: "DR" }),
      [entry("web", "10.0.0.9", "DR")],
    ],
    [
      "moves to another requested one in the same entry, with its method",
      ledger(entry("web", "10.0.0.10"), OTHER),
      web({ ip: "10.0.0.11", forwardMethod: "PROXY" }),
      [entry("web", "10.0.0.11", "PROXY"), OTHER],
    ],
    [
      "stays if no address is requested any more",
      ledger(entry("web", "10.0.0.11")),
      web(),
      [entry("web", "10.0.0.11")],
    ],
    [
      "loses its forwarding method",
      ledger(entry("web", "10.0.0.9", "NAT")),
      web(),
      [entry("web", "10.0.0.9")],
    ],
    [
      "stays as written if the requested one differs only in spelling",
      ledger(entry("web", "010.0.0.9")),
      web({ ip: "10.0.0.9" }),
      [entry("web", "010.0.0.9")],
    ],
    [
      "is taken over from an earlier Service with the name",
      ledger({ ...entry("web", "10.0.0.9"), uid: "uid-earlier" }),
      web(),
      [entry("web", "10.0.0.9")],
    ],
    ...["web", "", "fd00::1", "::ffff:10.0.0.11"].map(
      (ip): [string, VipAssignments, Assignment, readonly Entry[]] => [
        `replaces the invalid entry "${ip}"`,
        ledger(OTHER, entry("web", ip)),
        web(),
        [OTHER, entry("web", "10.0.0.10")],
      ],
    ),
    [
      "is the requested one even if another entry is invalid",
      ledger(entry("other", "web")),
      web({ ip: "10.0.0.9" }),
      [entry("other", "web"), entry("web", "10.0.0.9")],
    ],
    [
      "is written once if there were two entries",
      ledger(entry("web", "10.0.0.10"), OTHER, entry("web", "10.0.0.11")),
      web(),
      [entry("web", "10.0.0.10"), OTHER],
    ],
    [
      "is another one if two Services had the same",
      ledger(OTHER, entry("web", "10.0.0.9")),
      web(),
      [OTHER, entry("web", "10.0.0.10")],
    ],
  ])("%s", (_, before, assignment, entries) => {
    const done = applyChange(before, assignment, POOL);
    expect(done).toMatchObject({ kind: "done", ledger: { entries, data: buildData(entries) } });
    if (done.kind !== "done") throw new Error("not done");
    expect(applyChange(done.ledger, assignment, POOL)).toEqual(done);
  });

  test("of another Service is not assigned", () => {
    const held = { kind: "in-use", holder: OTHER };
    expect(applyChange(ledger(OTHER), web({ ip: "10.0.0.9" }), POOL)).toEqual(held);
    expect(applyChange(ledger(entry("web", "10.0.0.10"), OTHER), web({ ip: "10.0.0.9" }), POOL)).toEqual(
      held,
    );
  });

  test("cannot come from an exhausted pool", () => {
    expect(applyChange(ledger(OTHER), web(), "10.0.0.9/32")).toEqual({ kind: "exhausted" });
    expect(applyChange(ledger(OTHER), web({ ip: "10.0.0.10" }), "10.0.0.9/32")).toMatchObject({
      kind: "done",
    });
  });

  test("is removed with its entry, its key and the mark", () => {
    const before = { ...ledger(entry("web", "10.0.0.10"), OTHER), marks: { "uid-web": "then", b: "then" } };
    expect(applyChange(before, { kind: "release", uid: "uid-web" }, POOL)).toMatchObject({
      kind: "done",
      entry: null,
      ledger: { entries: [OTHER], data: { "10.0.0.9": "default/other" } },
    });
  });

  test("is removed from every place", () => {
    const before = ledger(entry("web", "10.0.0.10"), OTHER, entry("web", "10.0.0.11"));
    const done = applyChange(before, { kind: "release", uid: "uid-web" }, POOL);
    expect(done).toEqual({ kind: "done", entry: null, ledger: ledger(OTHER) });
  });

  test("keeps its key in the data for another Service that has it too", () => {
    const before = ledger(entry("web", "10.0.0.9"), OTHER);
    expect(before.data).toEqual({ "10.0.0.9": "default/web" });
    expect(applyChange(before, { kind: "release", uid: "uid-web" }, POOL)).toMatchObject({
      ledger: { data: { "10.0.0.9": "default/other" } },
    });
  });

  test("stays in the data if another Service has it too", () => {
    const before = ledger(OTHER, entry("web", "10.0.0.9"));
    expect(applyChange(before, { kind: "release", uid: "uid-web" }, POOL)).toMatchObject({
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
  for (
    let free = findLowestFreeAddress({ entries }, cidr);
    free !== undefined;
    free = findLowestFreeAddress({ entries }, cidr)
  )
    entries.push(entry(`s${entries.length}`, free));
  expect(entries.map(({ ip }) => ip)).toEqual(all);
});

test("an address that cannot be a key is not in the data", () => {
  const entries = [entry("a", "fd00::1"), entry("b", "web"), entry("c", "::ffff:10.0.0.1"), OTHER];
  expect(buildData(entries)).toEqual({ "10.0.0.9": "default/other" });
});
