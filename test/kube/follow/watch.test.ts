import { afterEach, describe, expect, test } from "vitest";
import type { UnreachableCode } from "#kube/client/errors.ts";
import type { ObjectKey } from "#kube/follow/object-key.ts";
import { watchResource } from "#kube/follow/watch.ts";
import type { WatchNote } from "#kube/follow/watch-handler.ts";
import { buildStatus, createFakeApi, createUnreachable, type FakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";

interface Followed {
  readonly api: FakeApi;
  readonly clock: ManualClock;
  /** The calls of the handler, a word each. */
  readonly told: string[];
  readonly notes: WatchNote[];
  /** How often the watch, or the server, was heard. */
  heard(): number;
  stop(): Promise<void>;
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** Follows a fake API server; with `random` 0 nothing is waited for that need not be. */
async function follow(prepare: (api: FakeApi) => void = () => {}, random = () => 0): Promise<Followed> {
  const api = createFakeApi();
  prepare(api);
  const clock = createManualClock();
  const told: string[] = [];
  const notes: WatchNote[] = [];
  let heard = 0;
  const stopping = new AbortController();
  const word = (what: string, { namespace, name, resourceVersion }: ObjectKey) =>
    told.push(`${what} ${namespace === undefined ? name : `${namespace}/${name}`} ${resourceVersion}`);
  const done = watchResource({
    transport: api,
    path: "/api/v1/nodes",
    project: (object) => object,
    clock,
    random,
    signal: stopping.signal,
    onHeard() {
      heard += 1;
    },
    handler: {
      applied: (_object, key) => word("applied", key),
      deleted: (key) => word("deleted", key),
      restarted: () => told.push("restarted"),
      note: (note) => notes.push(note),
    },
  });
  const stop = (): Promise<void> => {
    stopping.abort();
    return done;
  };
  stops.push(stop);
  await clock.advance(0);
  return { api, clock, told, notes, heard: () => heard, stop };
}

const listsOf = (notes: readonly WatchNote[]): readonly string[] =>
  notes.flatMap((note) => (note.kind === "listed" ? [note.cause] : []));
const endsOf = (notes: readonly WatchNote[]): readonly string[] =>
  notes.flatMap((note) => (note.kind === "ended" ? [note.cause] : []));
const failuresOf = (notes: readonly WatchNote[]): readonly string[] =>
  notes.flatMap((note) => (note.kind === "failed" ? [note.code] : []));
const watchedFrom = (api: FakeApi): readonly (string | null)[] =>
  api.watches.map((path) => new URL(path, "https://fake").searchParams.get("resourceVersion"));

describe("the first list", () => {
  test("asks without a resourceVersion, 500 at a time, and tells every object of every page", async () => {
    const { api, told } = await follow((fake) => {
      for (let index = 0; index < 1_201; index += 1) fake.put(`n${index}`);
    });
    expect(api.lists).toHaveLength(3);
    expect(api.lists.every((path) => path.includes("limit=500") && !path.includes("resourceVersion"))).toBe(
      true,
    );
    expect(new Set(told).size).toBe(1_201);
  });

  test("then watches from the list's version, with bookmarks and a time-out of 240 to 300 s", async () => {
    for (const [random, seconds] of [
      [0, "240"],
      [0.999, "300"],
    ] as const) {
      const { api } = await follow(
        (fake) => void fake.put("a"),
        () => random,
      );
      const query = new URL(api.watches[0] ?? "", "https://fake").searchParams;
      expect(Object.fromEntries(query)).toEqual({
        watch: "1",
        allowWatchBookmarks: "true",
        resourceVersion: "101",
        timeoutSeconds: seconds,
      });
    }
  });

  test("begins again when a continue token expires, and tells each object once", async () => {
    const { api, told } = await follow((fake) => {
      for (let index = 0; index < 600; index += 1) fake.put(`n${index}`);
      const send = fake.send;
      let pages = 0;
      fake.send = async (request) => {
        const answer = await send(request);
        pages += 1;
        if (pages !== 1) return answer;
        fake.expireTokens();
        fake.remove("n0");
        return answer;
      };
    });
    expect(api.lists).toHaveLength(4);
    expect([told.length, told.filter((word) => word.startsWith("applied n0 "))]).toEqual([599, []]);
  });

  test.each([
    { given: "refused", answer: buildStatus(403, "Forbidden", "no"), code: "Forbidden" },
    { given: "not signed in", answer: buildStatus(401, "Unauthorized", "who"), code: "Unauthenticated" },
    { given: "throttled", answer: buildStatus(429, "TooManyRequests", "slow"), code: "Throttled" },
    { given: "a server's error", answer: buildStatus(500, "InternalError", "oops"), code: "Unavailable" },
    { given: "rubbish", answer: { status: 200, body: "<html>" }, code: "BadList" },
    { given: "a list without a version", answer: { status: 200, body: '{"items":[]}' }, code: "BadList" },
    { given: "unreachable", answer: createUnreachable("ConnectionRefused"), code: "ConnectionRefused" },
    { given: "not trusted", answer: createUnreachable("NotTrusted"), code: "NotTrusted" },
  ])("that is $given is reported with its code and tried again", async ({ answer, code }) => {
    const { clock, told, notes } = await follow(
      (fake) => {
        fake.put("a");
        fake.next(answer);
      },
      () => 0.5,
    );
    expect([failuresOf(notes), told]).toEqual([[code], []]);
    await clock.advance(30_000);
    expect(told).toEqual(["applied a 101"]);
  });

  test("keeps trying, at most 30 s apart", async () => {
    const { api, clock, notes } = await follow(
      (fake) => {
        fake.next(...Array.from({ length: 1_000 }, () => createUnreachable("ConnectionRefused")));
      },
      () => 0.999,
    );
    await clock.advance(600_000);
    const delays = notes.flatMap((note) => (note.kind === "failed" ? [note.delayMs] : []));
    expect(Math.max(...delays)).toBeLessThanOrEqual(30_000);
    expect(api.lists.length).toBeGreaterThan(20);
    expect(api.lists.length).toBeLessThan(40);
  });

  test("waits as long as the server asks", async () => {
    const { api, clock } = await follow((fake) =>
      fake.next({ ...buildStatus(429, "x", "slow"), headers: { "retry-after": "7" } }),
    );
    await clock.advance(6_900);
    expect(api.lists).toHaveLength(1);
    await clock.advance(200);
    expect(api.lists).toHaveLength(2);
  });
});

describe("a watch", () => {
  test("tells additions, changes and deletions as they come", async () => {
    const { api, clock, told } = await follow((fake) => void fake.put("a"));
    api.put("b");
    api.put("a");
    api.remove("b");
    await clock.advance(0);
    expect(told).toEqual(["applied a 101", "applied b 102", "applied a 103", "deleted b 104"]);
  });

  test("takes characters that are split between pieces", async () => {
    const { api, clock, told } = await follow();
    const metadata = { name: "knöten", uid: "u", resourceVersion: "200" };
    const line = Buffer.from(`${JSON.stringify({ type: "ADDED", object: { metadata } })}\n`);
    for (const byte of line) api.raw(Uint8Array.of(byte));
    await clock.advance(0);
    expect(told).toEqual(["applied knöten 200"]);
  });

  test("that the server ends is resumed at once from the last version seen, without a list", async () => {
    const { api, clock, told, notes } = await follow(
      (fake) => void fake.put("a"),
      () => 0.999,
    );
    for (let round = 0; round < 20; round += 1) {
      api.put("a");
      await clock.advance(0);
      api.endWatches();
      await clock.advance(0);
    }
    expect(watchedFrom(api)).toEqual(Array.from({ length: 21 }, (_, index) => String(101 + index)));
    expect([told.length, api.lists.length, endsOf(notes).length]).toEqual([21, 1, 20]);
  });

  test("is resumed from a bookmark's version", async () => {
    const { api, clock } = await follow((fake) => void fake.put("a"));
    api.hold(true);
    api.put("b");
    api.bookmark();
    api.hold(false);
    await clock.advance(0);
    api.compact("connect");
    api.endWatches();
    await clock.advance(0);
    expect([watchedFrom(api), api.lists.length]).toEqual([["101", "102"], 1]);
  });

  test("whose connection breaks after progress is resumed at once without a loss", async () => {
    const { api, clock, told, notes } = await follow(
      (fake) => void fake.put("a"),
      () => 0.999,
    );
    api.put("b");
    await clock.advance(0);
    api.breakWatches();
    api.put("c");
    await clock.advance(0);
    expect(told).toEqual(["applied a 101", "applied b 102", "applied c 103"]);
    expect(failuresOf(notes)).toEqual([]);
  });

  test("that repeatedly ends without progress is opened more and more rarely", async () => {
    const { api, clock } = await follow(
      (fake) => void fake.put("a"),
      () => 0.999,
    );
    for (let second = 0; second < 300; second += 1) {
      api.endWatches();
      await clock.advance(1_000);
    }
    expect(api.watches.length).toBeLessThan(30);
    api.put("b");
    await clock.advance(30_000);
    expect(api.openWatches()).toBe(1);
  });

  test.each(["connect", "stream"] as const)(
    "answered 410 in the form of %s is followed by a list, and what was missed is told",
    async (form) => {
      const { api, clock, told, notes } = await follow((fake) => {
        fake.put("kept");
        fake.put("changed");
        fake.put("removed");
        fake.put("replaced");
      });
      api.breakWatches();
      told.length = 0;
      api.put("changed");
      api.remove("removed");
      api.put("replaced", { uid: "another" });
      api.put("added");
      api.compact(form);
      await clock.advance(1_000);
      expect(told).toEqual([
        "deleted removed 103",
        "deleted replaced 104",
        "applied changed 105",
        "applied replaced 107",
        "applied added 108",
      ]);
      expect(listsOf(notes)).toEqual(["start", "gone"]);
    },
  );

  test("answered 410 for ever does not become a storm of lists", async () => {
    const { api, clock } = await follow(
      (fake) => void fake.put("a"),
      () => 0.5,
    );
    const stream = api.stream;
    api.stream = async (request) => {
      api.next(buildStatus(410, "Expired", "gone"));
      return stream(request);
    };
    api.endWatches();
    await clock.advance(120_000);
    expect(api.lists.length).toBeLessThan(20);
  });

  test("loses nothing to a list that breaks off: nothing is concluded from it", async () => {
    const { api, clock, told } = await follow((fake) => {
      for (let index = 0; index < 600; index += 1) fake.put(`n${index}`);
    });
    told.length = 0;
    api.breakWatches();
    api.put("n599");
    api.remove("n1");
    api.compact("connect");
    const send = api.send;
    let pages = 0;
    const toldAtTheBreak: string[][] = [];
    api.send = async (request) => {
      pages += 1;
      if (pages !== 2) return send(request);
      toldAtTheBreak.push([...told]);
      throw createUnreachable("ConnectionLost");
    };
    await clock.advance(30_000);
    expect(toldAtTheBreak).toEqual([[]]);
    expect(told).toEqual(["deleted n1 102", "applied n599 701"]);
  });
});

describe("a watch that cannot be trusted", () => {
  test("silent for 90 s is ended, and a list follows", async () => {
    const { api, clock, notes } = await follow((fake) => void fake.put("a"));
    await clock.advance(89_000);
    expect(listsOf(notes)).toEqual(["start"]);
    await clock.advance(1_500);
    expect([listsOf(notes), endsOf(notes)]).toEqual([["start", "silent"], ["silent"]]);
    expect(api.openWatches()).toBe(1);
  });

  test("silent for 90 s after something came is resumed from there, without a list", async () => {
    const { api, clock, notes } = await follow((fake) => void fake.put("a"));
    await clock.advance(30_000);
    api.put("b");
    await clock.advance(90_500);
    expect([listsOf(notes), endsOf(notes), watchedFrom(api)]).toEqual([
      ["start"],
      ["silent"],
      ["101", "102"],
    ]);
  });

  test("kept alive by bookmarks alone is left alone until its time is up", async () => {
    const { api, clock, notes } = await follow((fake) => void fake.put("a"));
    for (let minute = 0; minute < 4; minute += 1) {
      api.bookmark();
      await clock.advance(57_000);
    }
    expect([listsOf(notes), endsOf(notes)]).toEqual([["start"], []]);
  });

  test("of a store set back to a backup finds it out by the silence, and replaces all it knew", async () => {
    const { api, clock, told } = await follow((fake) => {
      fake.put("a", { uid: "u" });
      fake.put("lost");
    });
    told.length = 0;
    api.endWatches();
    api.restore(50);
    api.put("a", { uid: "u" });
    await clock.advance(91_000);
    expect(told).toEqual(["restarted", "deleted lost 102", "applied a 51"]);
    api.put("b");
    await clock.advance(0);
    expect(told.at(-1)).toBe("applied b 52");
  });

  test("of a store set back tells also what is as it was, as nothing can be compared any more", async () => {
    const { api, clock, told } = await follow((fake) => {
      fake.put("a", { uid: "u" });
      fake.put("b");
    });
    told.length = 0;
    api.endWatches();
    api.restore(100);
    api.put("a", { uid: "u" });
    await clock.advance(91_000);
    expect(told).toEqual(["restarted", "deleted b 102", "applied a 101"]);
  });

  test("of a store set back, and written to until it had overtaken us, is found out by what went back", async () => {
    const { api, clock, told } = await follow((fake) => {
      fake.put("a", { uid: "u" });
      fake.put("a", { uid: "u" });
      fake.put("lost");
    });
    told.length = 0;
    api.breakWatches();
    api.restore(100);
    api.put("a", { uid: "u" });
    for (let index = 0; index < 9; index += 1) api.put("busy");
    api.compact("connect");
    await clock.advance(1_000);
    expect(told).toEqual(["restarted", "deleted lost 103", "applied a 101", "applied busy 110"]);
  });

  test("that the server says is from the future is followed by a list", async () => {
    const { api, clock, notes } = await follow((fake) => void fake.put("a"));
    api.next({
      status: 504,
      body: '{"kind":"Status","code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}',
    });
    api.endWatches();
    await clock.advance(1_000);
    expect(listsOf(notes)).toEqual(["start", "ahead"]);
  });

  test("goes on while the server refuses the periodic list, and is checked once it lists again", async () => {
    const { api, clock, told, notes } = await follow(undefined, () => 0.5);
    const tooMany = buildStatus(429, "TooManyRequests", "busy");
    const { send } = api;
    let isListed = false;
    api.send = (request) =>
      isListed || request.path.includes("watch=1") ? send(request) : Promise.resolve(tooMany);
    for (let minute = 0; minute < 30; minute += 1) {
      await clock.advance(60_000);
      if (minute % 4 === 3) api.endWatches();
      else api.bookmark();
    }
    expect(failuresOf(notes)).toContain("Throttled");
    api.put("n1");
    await clock.advance(0);
    expect(told).toEqual([expect.stringContaining("applied n1")]);
    isListed = true;
    for (let minute = 0; minute < 6; minute += 1) {
      await clock.advance(60_000);
      if (minute === 3) api.endWatches();
      else api.bookmark();
    }
    expect(listsOf(notes)).toEqual(["start", "periodic"]);
  });

  test("is checked by a list at least every 15 minutes, whatever it reports", async () => {
    for (const random of [0, 0.999]) {
      const { api, clock, notes } = await follow(
        (fake) => void fake.put("a"),
        () => random,
      );
      for (let minute = 0; minute < 15; minute += 1) {
        api.bookmark();
        await clock.advance(60_000);
      }
      expect(listsOf(notes)).toContain("periodic");
      expect(listsOf(notes).length).toBeLessThan(4);
    }
  });

  test.each([
    { given: "no JSON", line: "{rubbish\n" },
    { given: "no event", line: '{"type":"ADDED"}\n' },
    { given: "an unknown type", line: '{"type":"OTHER","object":{}}\n' },
    { given: "a line beyond the limit", line: "x".repeat(4 * 1024 * 1024 + 1), code: "ClusterLimited" },
  ])("says $given: that is reported and followed by a list", async ({ line, code = "BadWatchEvent" }) => {
    const { api, clock, told, notes } = await follow((fake) => void fake.put("a"));
    api.raw(line);
    api.hold(true);
    api.put("b");
    await clock.advance(30_000);
    expect([failuresOf(notes), listsOf(notes)]).toEqual([[code], ["start", "rubbish"]]);
    expect(told).toEqual(["applied a 101", "applied b 102"]);
  });

  test.each([
    { given: "without a uid", metadata: { name: "x", resourceVersion: "200" } },
    { given: "without metadata", metadata: undefined },
    { given: "with a number for a name", metadata: { name: 5, uid: "u", resourceVersion: "200" } },
  ])("shows an object $given: that is reported, and the others go on", async ({ metadata }) => {
    const { api, clock, told, notes } = await follow((fake) => void fake.put("a"));
    api.raw(`${JSON.stringify({ type: "MODIFIED", object: { metadata } })}\n`);
    api.put("b");
    await clock.advance(0);
    expect(told).toEqual(["applied a 101", "applied b 102"]);
    expect(notes.map((note) => note.kind)).toContain("malformed");
  });

  test("answers an ERROR event other than 410: backs off, resumes, and lists after the third in a row", async () => {
    const { api, clock, notes } = await follow(
      (fake) => void fake.put("a"),
      () => 0.5,
    );
    const error =
      '{"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError","message":"etcd"}}\n';
    api.next({ body: error }, { body: error });
    api.raw(error);
    await clock.advance(60_000);
    expect(failuresOf(notes)).toEqual(["Unavailable", "Unavailable", "Unavailable"]);
    expect(listsOf(notes)).toEqual(["start", "failures"]);
  });

  test("shows a name with another uid: a deletion and an addition", async () => {
    const { api, clock, told } = await follow((fake) => void fake.put("a", { uid: "first" }));
    api.put("a", { uid: "second" });
    await clock.advance(0);
    expect(told).toEqual(["applied a 101", "deleted a 101", "applied a 102"]);
  });
});

describe("objects of one name in two namespaces", () => {
  const inNamespace = (namespace: string) => ({ metadata: { namespace } });

  test("are two objects: neither's events touch the other", async () => {
    const { api, clock, told } = await follow((fake) => {
      fake.put("web", inNamespace("a"));
      fake.put("web", inNamespace("b"));
    });
    api.put("web", inNamespace("a"));
    api.put("web", inNamespace("b"));
    api.remove("web", "a");
    await clock.advance(0);
    expect(told).toEqual([
      "applied a/web 101",
      "applied b/web 102",
      "applied a/web 103",
      "applied b/web 104",
      "deleted a/web 105",
    ]);
  });

  test("are two objects to a list that looks for what was missed", async () => {
    const { api, clock, told } = await follow((fake) => {
      fake.put("web", inNamespace("a"));
      fake.put("web", inNamespace("b"));
    });
    told.length = 0;
    api.breakWatches();
    api.remove("web", "b");
    api.compact("connect");
    await clock.advance(1_000);
    expect(told).toEqual(["deleted b/web 102"]);
  });
});

describe("a server that is well", () => {
  test("behind a proxy that cuts quiet streams is asked again soon, however often that happens", async () => {
    const { api, clock, told } = await follow(
      (fake) => void fake.put("a"),
      () => 0.999,
    );
    for (let cut = 0; cut < 30; cut += 1) {
      await clock.advance(20_000);
      api.breakWatches();
      await clock.advance(1_000);
    }
    api.breakWatches();
    api.put("b");
    await clock.advance(1_000);
    expect(told.at(-1)).toBe("applied b 102");
  });

  test("again after a long outage is not held to the waits of that outage", async () => {
    const { api, clock, told } = await follow(
      (fake) => {
        fake.put("a");
        fake.next(...Array.from({ length: 12 }, () => createUnreachable("ConnectionRefused")));
      },
      () => 0.999,
    );
    while (api.openWatches() === 0) await clock.advance(1_000);
    api.endWatches();
    api.put("b");
    await clock.advance(1_000);
    expect(told.at(-1)).toBe("applied b 102");
  });

  test("but refuses to be watched, though not to be listed, is not listed in a storm", async () => {
    const { api, clock } = await follow(
      (fake) => void fake.put("a"),
      () => 0.999,
    );
    api.stream = async () => {
      throw createUnreachable("ConnectionRefused");
    };
    api.endWatches();
    await clock.advance(600_000);
    expect(api.lists.length).toBeLessThan(40);
  });
});

describe("pages that are too large to be read", () => {
  /** Pages of more than so many objects are not answered but for their metadata. */
  function readsAtMost(fake: FakeApi, most: () => number, code: UnreachableCode = "AnswerTooLarge"): void {
    const send = fake.send;
    fake.send = async (request) => {
      const answer = await send(request);
      const isMetadata = request.accept?.includes("as=PartialObjectMetadataList") === true;
      if (!isMetadata && JSON.parse(answer.body).items.length > most()) throw createUnreachable(code);
      return answer;
    };
  }
  const limitsOf = (api: FakeApi): readonly string[] =>
    api.lists.map((path) => new URL(path, "https://fake").searchParams.get("limit") ?? "");

  test("are halved until they fit, and grow back later", async () => {
    let most = 200;
    const { api, clock, told } = await follow((fake) => {
      for (let index = 0; index < 700; index += 1) fake.put(`n${index}`);
      readsAtMost(fake, () => most);
    });
    expect(new Set(told).size).toBe(700);
    expect(limitsOf(api)).toEqual(["500", "250", "125", "125", "125", "125", "125", "125"]);
    most = 10_000;
    for (let list = 0; list < 10; list += 1) {
      api.breakWatches();
      api.put("n0");
      api.compact("connect");
      await clock.advance(1_000);
    }
    expect(limitsOf(api).at(-1)).toBe("500");
  });

  test("down to one object, which is named where it is too large by itself", async () => {
    const { api, notes } = await follow(
      (fake) => {
        for (let index = 0; index < 3; index += 1) fake.put(`n${index}`);
        readsAtMost(fake, () => 0);
      },
      () => 0.5,
    );
    expect(limitsOf(api)).toEqual(["500", "250", "125", "62", "31", "15", "7", "3", "1", "1"]);
    expect(notes).toMatchObject([
      { kind: "limited", limit: "pageBytes" },
      {
        kind: "failed",
        code: "ClusterLimited",
        limit: "pageBytes",
        message: expect.stringContaining("(n0)"),
      },
    ]);
  });

  test("in time are smaller in the lists that follow, until one is complete", async () => {
    const { api, clock, told } = await follow(
      (fake) => {
        for (let index = 0; index < 600; index += 1) fake.put(`n${index}`);
        readsAtMost(fake, () => 250, "TimedOut");
      },
      () => 0.5,
    );
    await clock.advance(5_000);
    expect([new Set(told).size, limitsOf(api)]).toEqual([600, ["500", "250", "250", "250"]]);
  });
});

test("ends on its signal, with no request left open", async () => {
  const { api, stop } = await follow((fake) => void fake.put("a"));
  await stop();
  expect(api.openWatches()).toBe(0);
});

test("versions that are no integers are followed like any other", async () => {
  const { api, clock, told, notes } = await follow();
  for (const resourceVersion of ["x-1", "x-2"]) {
    api.raw(
      `${JSON.stringify({ type: "MODIFIED", object: { metadata: { name: "a", uid: "u", resourceVersion } } })}\n`,
    );
  }
  await clock.advance(0);
  api.endWatches();
  await clock.advance(0);
  expect([told, watchedFrom(api).at(-1)]).toEqual([["applied a x-1", "applied a x-2"], "x-2"]);
  expect(failuresOf(notes)).toEqual([]);
});

describe("a watch with a lost connection", () => {
  const comparisons = (api: FakeApi): number => api.lists.filter((path) => path.endsWith("?limit=1")).length;

  test("compares versions by a list of one object, and is resumed from the last version seen", async () => {
    const { api, clock, told, notes } = await follow((fake) => {
      fake.put("a");
      fake.put("b");
    });
    told.length = 0;
    api.breakWatches();
    await clock.advance(0);
    expect([comparisons(api), watchedFrom(api), listsOf(notes)]).toEqual([1, ["102", "102"], ["start"]]);
    api.put("c");
    await clock.advance(0);
    expect(told).toEqual(["applied c 103"]);
  });

  test("finds a store that was set back at once, and replaces all it knew", async () => {
    const { api, clock, told } = await follow((fake) => {
      fake.put("a", { uid: "u" });
      fake.put("lost");
    });
    told.length = 0;
    api.breakWatches();
    api.restore(50);
    api.put("a", { uid: "u" });
    await clock.advance(0);
    expect(told).toEqual(["restarted", "deleted lost 102", "applied a 51"]);
  });

  test("lists again if the number of objects differs, because a restored store may have overtaken it", async () => {
    const { api, clock, told, notes } = await follow((fake) => void fake.put("a", { uid: "u" }));
    told.length = 0;
    api.breakWatches();
    api.restore(90);
    api.put("a", { uid: "u" });
    for (let index = 0; index < 20; index += 1) api.put(`joined-${index}`);
    api.compact("stream");
    await clock.advance(0);
    expect([listsOf(notes), told.filter((word) => word.startsWith("applied joined-"))]).toEqual([
      ["start", "ahead"],
      expect.objectContaining({ length: 20 }),
    ]);
  });

  test.each<UnreachableCode>(["ConnectionRefused", "ConnectFailed"])(
    "lists again if connections were refused meanwhile (%s), because another store may have overtaken it",
    async (code) => {
      const { api, clock, told, notes } = await follow((fake) => void fake.put("a", { uid: "u" }));
      told.length = 0;
      api.breakWatches();
      api.next(createUnreachable(code));
      api.restore(90);
      api.put("a", { uid: "u" });
      api.put("a", { uid: "u" });
      for (let index = 0; index < 20; index += 1) api.put("a", { uid: "u" });
      await clock.advance(1_000);
      expect([listsOf(notes), told]).toEqual([["start", "failures"], ["applied a 112"]]);
    },
  );

  test("continues to compare until it gets an answer, and resumes if only packets were lost", async () => {
    const { api, clock, notes } = await follow((fake) => void fake.put("a"));
    api.breakWatches();
    api.next(createUnreachable("ConnectTimedOut"), createUnreachable("ConnectTimedOut"));
    await clock.advance(0);
    expect([comparisons(api), listsOf(notes), watchedFrom(api)]).toEqual([
      2,
      ["start", "failures"],
      ["101", "101"],
    ]);
  });

  test("is not resumed on another connection without a comparison, although the server ended it in good order", async () => {
    const { api, clock, told } = await follow((fake) => {
      fake.put("a", { uid: "u" });
      fake.put("lost");
    });
    told.length = 0;
    api.put("b");
    await clock.advance(0);
    api.endWatches();
    api.reconnect();
    api.restore(50);
    api.put("a", { uid: "u" });
    await clock.advance(0);
    expect(told).toEqual(["applied b 103", "restarted", "deleted lost 102", "deleted b 103", "applied a 51"]);
  });

  test("is not taken to be alive by comparisons alone, where each window is lost before it brings anything", async () => {
    const { api, clock, heard } = await follow((fake) => void fake.put("a"));
    const counts: number[] = [];
    for (let loss = 0; loss < 4; loss += 1) {
      await clock.advance(60_000);
      api.breakWatches();
      await clock.advance(0);
      counts.push(heard());
    }
    expect([counts, comparisons(api)]).toEqual([[1, 1, 1, 1], 4]);
    api.put("b");
    await clock.advance(0);
    api.breakWatches();
    await clock.advance(0);
    expect(heard()).toBe(3);
  });

  test("is resumed without a list on the same connection", async () => {
    const { api, clock } = await follow((fake) => void fake.put("a"));
    for (let end = 0; end < 20; end += 1) {
      api.put("a");
      await clock.advance(0);
      api.endWatches();
      await clock.advance(0);
    }
    expect([api.lists.length, api.watches.length]).toEqual([1, 21]);
  });
});
