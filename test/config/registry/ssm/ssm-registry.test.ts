import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ParameterPage, ParameterStore } from "#config/registry/ssm/parameter-store.ts";
import { createSsmRegistry, parseSsmPath } from "#config/registry/ssm/ssm-registry.ts";
import { buildEntry } from "#test/config/registry/contract.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const PATH = "/ccm/clusters/";

/** Names on each page of a list; what a list comes to otherwise. */
type Listing = readonly (readonly string[])[] | "throttled" | "cut";

let listing: Listing;
let lists: number;
let gets: string[];
let types: Map<string, string>;
let entries: Map<string, unknown>;
let nowMs: number;
let clock: ManualClock;
let ending: AbortController;
let heard: string[];
beforeEach(() => {
  listing = [["blue", "green"]];
  lists = 0;
  gets = [];
  types = new Map();
  entries = new Map();
  nowMs = 0;
  clock = createManualClock();
  ending = new AbortController();
  heard = [];
});
afterEach(() => ending.abort());

const failure = (name: string): Error => Object.assign(new Error("of the platform"), { name });
const parameter = (name: string) => ({
  name: PATH + name,
  type: types.get(name) ?? "String",
  value: JSON.stringify(entries.get(name) ?? buildEntry(name)),
});

const store: ParameterStore = {
  async list(_path, next): Promise<ParameterPage> {
    const page = Number(next ?? 0);
    if (page === 0) lists += 1;
    if (listing === "throttled" || (listing === "cut" && page === 1)) throw failure("ThrottlingException");
    if (listing === "cut") return { parameters: [], next: "1" };
    return {
      parameters: (listing[page] ?? []).map(parameter),
      next: page + 1 < listing.length ? String(page + 1) : undefined,
    };
  },
  async get(name) {
    gets.push(name);
    if (listing === "throttled") throw failure("ThrottlingException");
    const own = name.slice(PATH.length);
    return listing !== "cut" && listing.flat().includes(own) ? parameter(own) : undefined;
  },
  getMany: async () => [],
};

const open = () => createSsmRegistry(PATH, { store: async () => store, now: () => nowMs, random: () => 0.5 });

function follow(): void {
  void open().follow({
    signal: ending.signal,
    onContent: ({ clusters, faulty }) =>
      heard.push([...clusters, ...faulty].map(({ name }) => name).join(" ")),
    onError: ({ code }) => heard.push(code),
    clock,
    random: () => 0.5,
  });
}
async function pass(seconds: number): Promise<void> {
  for (let left = seconds; left > 0; left -= 1) await clock.advance(1_000);
}
const untilHeard = (...expected: string[]): Promise<void> =>
  waitUntilTrue(`${expected} after ${heard}`, () => heard.join() === expected.join());

describe("a list", () => {
  test("is read to its end across empty pages", async () => {
    listing = [[], ["blue"], [], ["green"]];
    const { clusters } = await open().read();
    expect(clusters.map(({ name }) => name)).toEqual(["blue", "green"]);
  });

  test.each<[string, Listing, string, string]>([
    ["was cut", "cut", "Unreadable", "GetParametersByPath failed (ThrottlingException)"],
    ["was refused", "throttled", "Unreadable", "less often"],
    ["has nothing", [[], []], "Invalid", "no parameter"],
  ])("that %s is not a list", async (_, given, code, says) => {
    listing = given;
    await expect(open().read()).rejects.toMatchObject({ code, message: expect.stringContaining(says) });
  });

  test.each<[string, () => void, string]>([
    ["is encrypted", () => types.set("red", "SecureString"), "write it as a String"],
    ["has another's name", () => entries.set("red", buildEntry("blue")), 'name: "blue" stands where'],
    ["has no name", () => entries.set("red", { ...buildEntry("red"), name: undefined }), "name: is missing"],
    ["is no mapping", () => entries.set("red", "rubbish"), "a mapping"],
  ])("isolates a parameter that %s", async (_, spoil, says) => {
    listing = [["blue", "red"]];
    spoil();
    const { clusters, faulty } = await open().read();
    const [entry] = faulty;
    expect([clusters.map(({ name }) => name), faulty.length, entry?.name]).toEqual([["blue"], 1, "red"]);
    const [fault] = entry?.faults ?? [];
    expect(fault?.document).toBe("ssm:/ccm/clusters/red");
    expect(`${fault?.subject}: ${fault?.message}`).toContain(says);
  });
});

describe("while it is followed", () => {
  test("what is missing counts when two whole lists lack it, and what comes back in between never went", async () => {
    follow();
    await untilHeard("blue green");
    listing = [["blue"]];
    await pass(31);
    expect([heard, lists]).toEqual([["blue green"], 2]);
    listing = [["blue", "green"]];
    await pass(6);
    expect([heard, lists]).toEqual([["blue green"], 3]);
    listing = [["blue"]];
    await pass(37);
    await untilHeard("blue green", "blue");
  });

  test("failed reads become rarer, remove no cluster and are reported once", async () => {
    follow();
    await untilHeard("blue green");
    listing = "cut";
    await pass(30 + 60 + 120 + 10);
    expect([heard, lists]).toEqual([["blue green", "Unreadable"], 4]);
    listing = [["blue", "green"]];
    await pass(240);
    await untilHeard("blue green", "Unreadable", "blue green");
  });
});

describe("by name", () => {
  test("is cached for a while, and reread at most once a second", async () => {
    const clusters = open().byName();
    for (const at of [0, 10_000, 29_000]) {
      nowMs = at;
      await clusters("blue");
    }
    expect(gets).toEqual([`${PATH}blue`]);
    for (const at of [29_100, 29_200, 29_900]) {
      nowMs = at;
      await clusters("blue", { fresh: true });
    }
    expect(gets.length).toBe(2);
    nowMs = 60_000;
    await Promise.all([clusters("blue"), clusters("blue"), clusters("blue", { fresh: true })]);
    expect(gets.length).toBe(3);
  });

  test.each(["../blue", "a/b", "Blue", ""])("asks for nothing where %j is no name", async (name) => {
    expect([await open().byName()(name), gets]).toEqual([undefined, []]);
  });

  test("keeps known entries while SSM does not answer, and fails without one", async () => {
    const clusters = open().byName();
    await clusters("blue");
    await clusters.all();
    listing = "throttled";
    nowMs = 100_000;
    expect([(await clusters("blue", { fresh: true }))?.name, (await clusters.all()).length]).toEqual([
      "blue",
      2,
    ]);
    await expect(clusters("green")).rejects.toThrow("ssm:GetParameter failed (ThrottlingException)");
  });

  test("unknown names never evict existing ones, however many are requested", async () => {
    const clusters = open().byName();
    await clusters("blue");
    for (let index = 0; index < 5_000; index += 1) await clusters(`made-up-${index}`);
    gets.length = 0;
    expect(await clusters("blue")).toMatchObject({ name: "blue" });
    expect(gets).toEqual([]);
  });

  test("a reread finds a new cluster and a removed one", async () => {
    const clusters = open().byName();
    expect(await clusters("red")).toBeUndefined();
    listing = [["red"]];
    nowMs += 60_000;
    expect(await clusters("red")).toMatchObject({ name: "red" });
    listing = [[]];
    nowMs += 60_000;
    expect(await clusters("red")).toBeUndefined();
    listing = "throttled";
    nowMs += 60_000;
    expect(await clusters("red")).toBeUndefined();
  });

  test.each([
    ["a few clusters are listed anew after half a minute", 2, 30_000],
    ["250 clusters, too", 250, 30_000],
    ["1,000 clusters after two minutes", 1_000, 120_000],
    ["more clusters no later", 3_000, 120_000],
  ])("%s", async (_, count, keptMs) => {
    const names = Array.from({ length: count }, (_, number) => `tenant-${number}`);
    listing = [names];
    const { all } = open().byName();
    await all();
    nowMs = keptMs - 1;
    expect([(await all()).length, lists]).toEqual([count, 1]);
    listing = [names.slice(1)];
    nowMs = keptMs;
    expect([(await all()).length, lists]).toEqual([count - 1, 2]);
  });

  test("lists nothing ahead: functions that start together would all do so", async () => {
    expect([await open().byName().ahead(), lists]).toEqual([[], 0]);
  });
});

test.each<[string, string | undefined]>([
  ["ssm:/ccm/clusters/", "/ccm/clusters/"],
  ["ssm:/ccm", "/ccm/"],
  ["ssm:ccm/", undefined],
  ["ssm:/", undefined],
  ["ssm:/aws/reference/", undefined],
  ["ssm:/a//b/", undefined],
  ["ssm:/a/*", undefined],
])("reads %s as the path %s", (reference, path) => {
  expect(parseSsmPath(reference)).toBe(path);
});
