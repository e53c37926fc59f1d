import { afterEach, describe, expect, test } from "vitest";
import { DEFAULT_BOUNDS, type FollowBounds } from "#kube/follow/bounds.ts";
import { pause } from "#kube/follow/clock.ts";
import { watchResource } from "#kube/follow/watch.ts";
import type { WatchNote } from "#kube/follow/watch-handler.ts";
import { createFakeApi, type FakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface Followed {
  readonly api: FakeApi;
  readonly clock: ManualClock;
  /** The calls of the handler, a word each. */
  readonly told: string[];
  readonly notes: WatchNote[];
  /** The limits that are in force. */
  limited(): readonly string[];
}

interface Given {
  readonly bounds?: Partial<FollowBounds>;
  readonly prepare?: (api: FakeApi, clock: ManualClock) => void;
  readonly random?: () => number;
}

async function follow({ bounds = {}, prepare = () => {}, random = () => 0 }: Given): Promise<Followed> {
  const api = createFakeApi();
  const clock = createManualClock();
  prepare(api, clock);
  const told: string[] = [];
  const notes: WatchNote[] = [];
  const inForce = new Set<string>();
  const stopping = new AbortController();
  const done = watchResource({
    transport: api,
    path: "/api/v1/nodes",
    project: (object) => object,
    bounds: { ...DEFAULT_BOUNDS, ...bounds },
    clock,
    random,
    signal: stopping.signal,
    handler: {
      applied: (_object, { name }) => told.push(`applied ${name}`),
      deleted: ({ name }) => told.push(`deleted ${name}`),
      restarted: () => told.push("restarted"),
      note(note) {
        notes.push(note);
        if (note.kind === "limited") inForce.add(note.limit);
        if (note.kind === "within-limits") for (const limit of note.limits) inForce.delete(limit);
      },
    },
  });
  stops.push(() => {
    stopping.abort();
    return done;
  });
  await clock.advance(0);
  return { api, clock, told, notes, limited: () => [...inForce] };
}

const putMany = (api: FakeApi, count: number, prefix = "n"): void => {
  for (let index = 0; index < count; index += 1) api.put(`${prefix}${index}`);
};
const failuresOf = (notes: readonly WatchNote[]): readonly unknown[] =>
  notes.flatMap((note) => (note.kind === "failed" ? [note.limit ?? note.code] : []));
const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;

describe("more objects than may be followed", () => {
  const bounds = { objects: 3 };

  test("in a list: those within the limit are reported, and the others are left out", async () => {
    const { api, clock, told, limited } = await follow({ bounds, prepare: (fake) => putMany(fake, 5) });
    expect([told, limited()]).toEqual([["applied n0", "applied n1", "applied n2"], ["objects"]]);
    told.length = 0;
    api.put("n1");
    api.put("n4");
    api.put("new");
    await clock.advance(0);
    expect([told, limited()]).toEqual([["applied n1"], ["objects"]]);
  });

  test("in a watch", async () => {
    const { api, clock, told, limited } = await follow({ bounds, prepare: (fake) => putMany(fake, 1) });
    putMany(api, 1_000, "a");
    await clock.advance(0);
    expect([told, limited()]).toEqual([["applied n0", "applied a0", "applied a1"], ["objects"]]);
  });

  test("make room as they go, for those that are left out too", async () => {
    const { api, clock, told, limited } = await follow({ bounds, prepare: (fake) => putMany(fake, 5) });
    told.length = 0;
    api.remove("n1");
    api.put("n4");
    await clock.advance(0);
    expect([told, limited()]).toEqual([["deleted n1", "applied n4"], ["objects"]]);
    api.remove("n3");
    await clock.advance(0);
    expect(limited()).toEqual([]);
  });

  test("that were left out are found by a list when there is room, although nothing is heard of them", async () => {
    const { api, clock, told, limited } = await follow({ bounds, prepare: (fake) => putMany(fake, 4) });
    await clock.advance(60_000);
    api.remove("n0");
    api.endWatches();
    await clock.advance(1_000);
    expect([told.slice(3), limited()]).toEqual([["deleted n0", "applied n3"], []]);
  });

  test("next to known ones: known objects stay, whatever precedes them in a list", async () => {
    const { api, clock, told, limited } = await follow({ bounds, prepare: (fake) => putMany(fake, 5) });
    told.length = 0;
    api.hold(true);
    api.remove("n0");
    api.put("n0");
    api.put("n1");
    api.compact("connect");
    api.endWatches();
    await clock.advance(1_000);
    expect([told, limited()]).toEqual([["deleted n0", "applied n1", "applied n3"], ["objects"]]);
  });

  test("by far: the list is cut, and no object counts as deleted because of that", async () => {
    const { api, clock, told, limited } = await follow({
      bounds: { objects: 300 },
      prepare: (fake) => putMany(fake, 1_600),
    });
    expect([told.length, api.lists.length, limited()]).toEqual([300, 2, ["objects"]]);
    told.length = 0;
    api.hold(true);
    api.remove("n0");
    api.put("n1");
    api.compact("connect");
    api.endWatches();
    await clock.advance(1_000);
    expect([told, api.lists.length]).toEqual([["applied n1"], 4]);
    for (let index = 300; index < 1_600; index += 1) api.remove(`n${index}`);
    api.compact("connect");
    api.endWatches();
    await clock.advance(1_000);
    expect([told, limited()]).toEqual([["applied n1", "deleted n0"], []]);
  });
});

describe("objects that are too large together", () => {
  const bounds = { objectBytes: 10_000 };
  const spec = (bytes: number) => ({ spec: { text: "x".repeat(bytes) } });

  test("in a list and in a watch are left out, and those that are known go on until they grow", async () => {
    const { api, clock, told, limited } = await follow({
      bounds,
      prepare(fake) {
        for (const name of ["a", "b", "c"]) fake.put(name, spec(4_000));
      },
    });
    expect([told, limited()]).toEqual([["applied a", "applied b"], ["objects"]]);
    told.length = 0;
    api.put("d", spec(4_000));
    api.put("small");
    api.put("a", spec(9_000));
    await clock.advance(0);
    expect([told, limited()]).toEqual([["applied small", "deleted a"], ["objects"]]);
    told.length = 0;
    api.put("c", spec(3_000));
    await clock.advance(0);
    expect(told).toEqual(["applied c"]);
  });
});

describe("an endless list", () => {
  const page = (items: unknown, next: string, text = "") =>
    JSON.stringify({ items, metadata: { resourceVersion: "1", continue: next }, text });
  const object = (name: string) => ({ metadata: { name, uid: name, resourceVersion: "1" } });

  test.each<{
    given: string;
    body: (page: number) => string;
    bounds?: Partial<FollowBounds>;
    requests: number;
    limit: string;
  }>([
    {
      given: "with pages of objects",
      body: (number) =>
        page(
          Array.from({ length: 500 }, (_, index) => object(`n${number}-${index}`)),
          `t${number}`,
        ),
      bounds: { listPages: 50 },
      requests: 41,
      limit: "objects",
    },
    {
      given: "with empty pages",
      body: (number) => page([], `t${number}`),
      requests: 1_000,
      limit: "listPages",
    },
    {
      given: "with large pages",
      body: (number) => page([], `t${number}`, "x".repeat(1_000_000)),
      bounds: { listBytes: 3_500_000 },
      requests: 4,
      limit: "listBytes",
    },
    {
      given: "with pages of more than was asked for",
      body: () =>
        page(
          Array.from({ length: 501 }, (_, index) => object(`n${index}`)),
          "t",
        ),
      requests: 1,
      limit: "pageItems",
    },
  ])("$given is ended", async ({ body, bounds = {}, requests, limit }) => {
    let pages = 0;
    let honest = false;
    const { clock, limited } = await follow({
      bounds,
      random: () => 0.999,
      prepare(fake) {
        putMany(fake, 2);
        const send = fake.send;
        fake.send = async (request) => {
          pages += 1;
          return honest ? send(request) : { status: 200, headers: {}, body: body(pages) };
        };
      },
    });
    for (let turn = 0; turn < 100 && limited().length === 0; turn += 1) await clock.advance(0);
    expect([pages, limited()]).toEqual([requests, [limit]]);
    honest = true;
    await clock.advance(20 * 60_000);
    expect(limited()).toEqual([]);
  });

  test("slowly is ended", async () => {
    const { clock, limited, notes } = await follow({
      bounds: { listSeconds: 60 },
      random: () => 0.5,
      prepare(fake, clock) {
        fake.send = async ({ signal = new AbortController().signal }) => {
          await pause(clock, 25_000, signal);
          return { status: 200, headers: {}, body: page([], "t") };
        };
      },
    });
    await clock.advance(76_000);
    expect([failuresOf(notes), limited()]).toEqual([["listSeconds"], ["listSeconds"]]);
  });
});

describe("malformed objects", () => {
  const malformed = (count: number): string =>
    line("ADDED", { metadata: { name: "x\u001b[2J" } }).repeat(count);

  test("a few are reported together, and the watch continues", async () => {
    const { api, clock, notes, limited, told } = await follow({ prepare: (fake) => putMany(fake, 1) });
    api.raw(malformed(100));
    api.put("after");
    await clock.advance(0);
    api.endWatches();
    await clock.advance(0);
    const counted = notes.flatMap((note) => (note.kind === "malformed" ? [note.objects] : []));
    expect([counted, limited(), told]).toEqual([[1, 99], [], ["applied n0", "applied after"]]);
    const first = notes.find((note) => note.kind === "malformed");
    expect(first).toMatchObject({ message: expect.stringContaining('"x\\u{001B}[2J"') });
  });

  test("one more than may be ends the watch, and a list follows", async () => {
    const { api, clock, notes, limited } = await follow({ prepare: (fake) => putMany(fake, 1) });
    api.raw(malformed(101));
    await clock.advance(0);
    expect([failuresOf(notes), limited()]).toEqual([["malformedObjects"], ["malformedObjects"]]);
    expect(notes.filter(({ kind }) => kind === "listed")).toHaveLength(2);
    await clock.advance(30_000);
    expect(limited()).toEqual([]);
  });

  test.each([
    {
      given: "malformed objects",
      text: line("BOOKMARK", { metadata: { resourceVersion: "500" } }) + malformed(200),
      limit: "malformedObjects",
    },
    {
      given: "rubbish",
      text: `${line("BOOKMARK", { metadata: { resourceVersion: "500" } })}rubbish\n`,
      limit: "malformedObjects",
    },
  ])(
    "a server that repeatedly sends $given, and other data in between, is asked less and less",
    async ({ text, limit }) => {
      let hostile = true;
      const { api, clock, limited } = await follow({
        random: () => 0.999,
        prepare(fake) {
          putMany(fake, 1);
          const stream = fake.stream;
          fake.stream = async (request) => {
            const opened = await stream(request);
            if (hostile) fake.raw(text);
            return opened;
          };
        },
      });
      await clock.advance(10 * 60_000);
      expect(api.watches.length).toBeLessThan(30);
      expect(limited()).toEqual([limit]);
      hostile = false;
      await clock.advance(60_000);
      expect([limited(), api.openWatches()]).toEqual([[], 1]);
    },
  );
});

describe("a watch that brings too much at once", () => {
  test("is read at its rate, which is reported, until it has calmed down", async () => {
    const { api, clock, told, limited } = await follow({
      bounds: { watchEventsPerSecond: 100 },
      prepare: (fake) => putMany(fake, 1),
    });
    told.length = 0;
    api.hold(true);
    for (let index = 0; index < 5_000; index += 1) api.put("n0");
    api.hold(false);
    await clock.advance(1_000);
    const burst = told.length;
    await clock.advance(9_000);
    expect([
      burst > 1_000 && burst < 1_300,
      told.length - burst > 700 && told.length - burst < 1_100,
    ]).toEqual([true, true]);
    expect(limited()).toEqual(["watchPace"]);
    await clock.advance(60_000);
    expect([told.length, limited()]).toEqual([5_000, []]);
  });

  test("with a burst for each object that there is goes through at once", async () => {
    const { api, clock, told, limited } = await follow({ prepare: (fake) => putMany(fake, 1) });
    told.length = 0;
    api.hold(true);
    for (let round = 0; round < 8; round += 1) putMany(api, 2_000);
    api.hold(false);
    await clock.advance(0);
    for (let turn = 0; turn < 100 && told.length < 16_000; turn += 1) await clock.advance(0);
    expect([told.length, limited()]).toEqual([16_000, []]);
  });

  test.each([
    {
      given: "values in a line",
      text: `{"type":"ADDED","object":{"a":[${"{},".repeat(200_000)}{}]}}\n`,
      limit: "watchLineValues",
    },
    {
      given: "nesting in a line",
      text: `{"type":"ADDED","object":${'{"a":'.repeat(200_000)}`,
      limit: "watchLineValues",
      more: "\n",
    },
    { given: "bytes in a line", text: "x".repeat(9 * 1024 * 1024), limit: "watchLineBytes" },
  ])("of $given is ended", async ({ text, more = "", limit }) => {
    const { api, clock, limited, notes } = await follow({ prepare: (fake) => putMany(fake, 1) });
    api.raw(text + more);
    await clock.advance(0);
    expect([failuresOf(notes), limited()]).toEqual([[limit], [limit]]);
    await clock.advance(30_000);
    expect(limited()).toEqual([]);
  });

  test("an error that is nested deeply is no fault of ours", async () => {
    const { api, clock, notes } = await follow({ prepare: (fake) => putMany(fake, 1) });
    const deep = `${'{"a":'.repeat(40_000)}1${"}".repeat(40_000)}`;
    api.raw(`{"type":"ERROR","object":{"code":500,"message":"oops","details":${deep}}}\n`);
    await clock.advance(0);
    expect(failuresOf(notes)).toEqual(["Unavailable"]);
  });
});

test("a late watch is opened again, and its received data are discarded", async () => {
  const { api, clock, told, notes } = await follow({
    bounds: { watchEventsPerSecond: 10 },
    prepare: (fake) => putMany(fake, 1),
  });
  told.length = 0;
  api.hold(true);
  for (let index = 0; index < 2_000; index += 1) api.put("n0");
  api.hold(false);
  await clock.advance(12_000);
  expect(told.length).toBeLessThan(300);
  api.compact("connect");
  await clock.advance(12_000);
  // Thirty seconds' worth instead of two hundred.
  expect(told.length).toBeLessThan(450);
  expect(notes.filter((note) => note.kind === "listed" && note.cause === "gone")).toHaveLength(1);
});

describe("a server that always ends the watch", () => {
  test.each([
    {
      given: "ends it behind each event",
      act: (api: FakeApi) => {
        api.bookmark();
        api.endWatches();
      },
    },
    {
      given: "has forgotten its version behind each event",
      act: (api: FakeApi) => {
        api.bookmark();
        api.raw(line("ERROR", { code: 410 }));
      },
    },
  ])("$given: is asked less and less", async ({ act }) => {
    let hostile = true;
    const { api, clock, limited } = await follow({
      random: () => 0.999,
      prepare(fake) {
        putMany(fake, 1);
        const stream = fake.stream;
        fake.stream = async (request) => {
          const opened = await stream(request);
          if (hostile) act(fake);
          return opened;
        };
      },
    });
    await clock.advance(10 * 60_000);
    expect(api.requests.length).toBeLessThan(150);
    expect(limited()).toEqual(["watchPace"]);
    hostile = false;
    await clock.advance(60_000);
    expect(limited()).toEqual([]);
  });
});
