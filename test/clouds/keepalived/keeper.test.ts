import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createKeeper } from "#clouds/keepalived/keeper.ts";
import { dataOf, readLedger } from "#clouds/keepalived/ledger.ts";
import { canonicalIp } from "#core/cidr.ts";
import { createFakeObjects, type FakeObjects } from "#test/clouds/fake-objects.ts";
import { SEED } from "#test/seed.ts";

const AT = { namespace: "kube-system", name: "vips" };
const SIGNAL = new AbortController().signal;
const assign = (name: string, ip?: string) => ({
  ...({ kind: "assign", uid: `uid-${name}`, namespace: "default", name } as const),
  ...(ip === undefined ? {} : { ip }),
});

function world(cidr = "10.0.0.0/24") {
  const objects = createFakeObjects();
  objects.put("configmaps", { metadata: AT });
  const started = () => {
    const requests: string[] = [];
    const keeper = createKeeper(objects, AT, cidr);
    const note = (operation: string): void => void requests.push(operation);
    return {
      requests,
      change: (change: Parameters<typeof keeper.change>[0], signal = SIGNAL) =>
        keeper.change(change, signal, note),
      read: () => keeper.read(SIGNAL, note),
    };
  };
  return { objects, started };
}

function entriesIn(objects: FakeObjects) {
  const ledger = readLedger(objects.get("configmaps", "kube-system/vips"));
  if (typeof ledger === "string") throw new Error(ledger);
  return ledger;
}

describe("the ConfigMap", () => {
  test("a batch of a hundred costs one read, and patches of those that come together", async () => {
    const { objects, started } = world();
    const { change, read, requests } = started();
    await read();
    const names = Array.from({ length: 100 }, (_, index) => `s${index}`);
    const all = await Promise.all(names.map((name) => change(assign(name))));
    expect(all.every(({ kind }) => kind === "done")).toBe(true);
    expect(requests).toEqual(["ReadConfigMap", "PatchConfigMap"]);
    expect(new Set(entriesIn(objects).entries.map(({ ip }) => ip)).size).toBe(100);
  });

  test("of which three are carried out at a time costs one read all the same", async () => {
    const { started } = world();
    const { change, read, requests } = started();
    await read();
    for (let index = 0; index < 99; index += 3)
      await Promise.all([0, 1, 2].map((more) => change(assign(`s${index + more}`))));
    expect(requests.filter((each) => each === "ReadConfigMap")).toHaveLength(1);
    expect(requests.filter((each) => each === "PatchConfigMap")).toHaveLength(33);
  });

  test("that somebody else has written is read and decided anew", async () => {
    const { objects, started } = world();
    const [one, other] = [started(), started()];
    await one.read();
    await other.read();
    await one.change(assign("a"));
    expect(await other.change(assign("b"))).toMatchObject({ kind: "done", entry: { ip: "10.0.0.2" } });
    expect(other.requests).toEqual(["ReadConfigMap", "PatchConfigMap", "ReadConfigMap", "PatchConfigMap"]);
    expect(entriesIn(objects).entries.map(({ serviceName }) => serviceName)).toEqual(["a", "b"]);
  });

  test("that is written all the time is given up after a while", async () => {
    const { objects, started } = world();
    objects.onRequest = (what) => {
      if (what === "PATCH configmaps") objects.next.push("conflict");
    };
    const { change, requests } = started();
    expect(await change(assign("a"))).toMatchObject({ kind: "conflict" });
    expect(requests.filter((each) => each === "PatchConfigMap")).toHaveLength(5);
    expect(entriesIn(objects).entries).toEqual([]);
  });

  test("what needs no write is said of what was just read alone", async () => {
    const { objects, started } = world();
    const [one, other] = [started(), started()];
    await one.change(assign("a"));
    await other.change({ kind: "release", uid: "uid-a" });
    expect(await one.change(assign("a"))).toMatchObject({ kind: "done", entry: { ip: "10.0.0.1" } });
    expect(entriesIn(objects).entries).toHaveLength(1);
    await other.change({ kind: "release", uid: "uid-a" });
    await other.change(assign("b", "10.0.0.1"));
    // By what it wrote itself the address would be its own.
    expect(await one.change(assign("a", "10.0.0.1"))).toMatchObject({ kind: "in-use" });
  });

  test("an answer that is lost is found when it is tried again", async () => {
    const { objects, started } = world();
    const { change, read, requests } = started();
    await read();
    objects.next.push("lost");
    expect(await change(assign("a"))).toMatchObject({ kind: "error", code: "Unavailable" });
    expect(await change(assign("a"))).toMatchObject({ kind: "done", entry: { ip: "10.0.0.1" } });
    expect(requests).toEqual(["ReadConfigMap", "PatchConfigMap", "ReadConfigMap"]);
    expect(entriesIn(objects).entries).toHaveLength(1);
  });

  test.each([
    ["is not there", (objects: FakeObjects) => objects.remove("configmaps", "kube-system/vips"), "missing"],
    [
      "cannot be read",
      (objects: FakeObjects) =>
        objects.put("configmaps", {
          metadata: { ...AT, annotations: { "k8s.co/cloud-provider-config": "[" } },
        }),
      "unreadable",
    ],
  ])("that %s is not written", async (_, breakIt, kind) => {
    const { objects, started } = world();
    breakIt(objects);
    const { change, requests } = started();
    expect(await change(assign("a"))).toMatchObject({ kind });
    expect(await change({ kind: "release", uid: "uid-a" })).toMatchObject({ kind });
    expect(requests).toEqual(["ReadConfigMap", "ReadConfigMap"]);
  });

  test("nothing starts after the deadline", async () => {
    const { started } = world();
    const { change, requests } = started();
    expect(await change(assign("a"), AbortSignal.abort())).toMatchObject({ kind: "error", code: "Aborted" });
    expect(requests).toEqual([]);
  });
});

test("no address is two Services', in whatever order processes come to it, and deciding again changes nothing", async () => {
  const name = fc.integer({ min: 0, max: 9 }).map((index) => `s${index}`);
  const ip = fc.option(
    fc.integer({ min: 0, max: 15 }).map((last) => `10.0.0.${last}`),
    { nil: undefined },
  );
  const step = fc.record({
    process: fc.integer({ min: 0, max: 2 }),
    change: fc.oneof(
      fc.tuple(name, ip).map(([each, at]) => assign(each, at)),
      name.map((each) => ({ kind: "release", uid: `uid-${each}` }) as const),
    ),
    /** How long its requests take, in turns of the others. */
    delays: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 6 }),
    isLost: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const { objects, started } = world("10.0.0.0/29");
      const processes = [started(), started(), started()];
      const delays = steps.flatMap((each) => each.delays);
      objects.onRequest = async (what) => {
        for (let left = delays.shift() ?? 0; left > 0; left -= 1) await Promise.resolve();
        const ledger = entriesIn(objects);
        expect(new Set(ledger.entries.map((each) => canonicalIp(each.ip))).size).toBe(ledger.entries.length);
        if (what === "PATCH configmaps" && steps[delays.length % steps.length]?.isLost)
          objects.next.unshift("lost");
      };
      const answers = await Promise.all(
        steps.map(({ process, change }) => processes[process]?.change(change)),
      );
      objects.onRequest = () => undefined;
      const { entries, data } = entriesIn(objects);
      expect(new Set(entries.map((each) => each.ip)).size).toBe(entries.length);
      expect(data).toEqual(
        answers.some((answer) => answer?.kind === "done") || entries.length > 0 ? dataOf(entries) : {},
      );
      // Who was told an address, and never to let it go, has it: nobody has overwritten that.
      for (const uid of new Set(steps.map(({ change }) => change.uid))) {
        const told = answers.filter((answer, at) => steps[at]?.change.uid === uid && answer?.kind === "done");
        const isReleased = steps.some(({ change }) => change.uid === uid && change.kind === "release");
        if (told.length === 0 || isReleased) continue;
        const own = entries.find((each) => each.uid === uid);
        expect(own).toBeDefined();
        // A move whose answer was lost has happened all the same.
        if (answers.some((answer, at) => steps[at]?.change.uid === uid && answer?.kind === "error")) continue;
        expect(told.map((answer) => (answer?.kind === "done" ? answer.entry?.ip : ""))).toContain(own?.ip);
      }
      const version = objects.get("configmaps", "kube-system/vips")?.metadata.resourceVersion;
      for (const { serviceName } of entries) await started().change(assign(serviceName));
      expect(objects.get("configmaps", "kube-system/vips")?.metadata.resourceVersion).toBe(version);
    }),
    { seed: SEED, numRuns: 300 },
  );
});
