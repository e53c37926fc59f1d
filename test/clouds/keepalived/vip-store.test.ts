import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildData, readVipAssignments } from "#clouds/keepalived/load-balancers/vip-assignments.ts";
import { createVipStore } from "#clouds/keepalived/load-balancers/vip-store.ts";
import { canonicalizeIp } from "#core/cidr.ts";
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
    const keeper = createVipStore(objects, AT, cidr);
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
  const ledger = readVipAssignments(objects.get("configmaps", "kube-system/vips"));
  if (typeof ledger === "string") throw new Error(ledger);
  return ledger;
}

describe("the ConfigMap", () => {
  test("a batch of a hundred costs one read, and patches of changes that come together", async () => {
    const { objects, started } = world();
    const { change, read, requests } = started();
    await read();
    const names = Array.from({ length: 100 }, (_, index) => `s${index}`);
    const all = await Promise.all(names.map((name) => change(assign(name))));
    expect(all.every(({ kind }) => kind === "done")).toBe(true);
    expect(requests).toEqual(["ReadConfigMap", "PatchConfigMap"]);
    expect(new Set(entriesIn(objects).entries.map(({ ip }) => ip)).size).toBe(100);
  });

  test("with three concurrent changes still costs one read", async () => {
    const { started } = world();
    const { change, read, requests } = started();
    await read();
    for (let index = 0; index < 99; index += 3)
      await Promise.all([0, 1, 2].map((more) => change(assign(`s${index + more}`))));
    expect(requests.filter((each) => each === "ReadConfigMap")).toHaveLength(1);
    expect(requests.filter((each) => each === "PatchConfigMap")).toHaveLength(33);
  });

  test("that another client has changed is read and decided again", async () => {
    const { objects, started } = world();
    const [one, other] = [started(), started()];
    await one.read();
    await other.read();
    await one.change(assign("a"));
    expect(await other.change(assign("b"))).toMatchObject({ kind: "done", entry: { ip: "10.0.0.2" } });
    expect(other.requests).toEqual(["ReadConfigMap", "PatchConfigMap", "ReadConfigMap", "PatchConfigMap"]);
    expect(entriesIn(objects).entries.map(({ serviceName }) => serviceName)).toEqual(["a", "b"]);
  });

  test("that changes all the time is given up after a while", async () => {
    const { objects, started } = world();
    objects.onRequest = (what) => {
      if (what === "PATCH configmaps") objects.next.push("conflict");
    };
    const { change, requests } = started();
    expect(await change(assign("a"))).toMatchObject({ kind: "conflict" });
    expect(requests.filter((each) => each === "PatchConfigMap")).toHaveLength(5);
    expect(entriesIn(objects).entries).toEqual([]);
  });

  test("a result without a write relies only on a new read", async () => {
    const { objects, started } = world();
    const [one, other] = [started(), started()];
    await one.change(assign("a"));
    await other.change({ kind: "release", uid: "uid-a" });
    expect(await one.change(assign("a"))).toMatchObject({ kind: "done", entry: { ip: "10.0.0.1" } });
    expect(entriesIn(objects).entries).toHaveLength(1);
    await other.change({ kind: "release", uid: "uid-a" });
    await other.change(assign("b", "10.0.0.1"));
    // According to its own write, the address would be its own.
    expect(await one.change(assign("a", "10.0.0.1"))).toMatchObject({ kind: "in-use" });
  });

  test("a lost answer is found by the next try", async () => {
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
    ["is missing", (objects: FakeObjects) => objects.remove("configmaps", "kube-system/vips"), "missing"],
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

test("no address belongs to two Services, in any order of processes, and deciding again changes nothing", async () => {
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
    /** The delays of its requests, in steps of the others. */
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
        expect(new Set(ledger.entries.map((each) => canonicalizeIp(each.ip))).size).toBe(
          ledger.entries.length,
        );
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
        answers.some((answer) => answer?.kind === "done") || entries.length > 0 ? buildData(entries) : {},
      );
      // A Service that got an address, and never released it, still has it: no write has overwritten that.
      for (const uid of new Set(steps.map(({ change }) => change.uid))) {
        const told = answers.filter((answer, at) => steps[at]?.change.uid === uid && answer?.kind === "done");
        const isReleased = steps.some(({ change }) => change.uid === uid && change.kind === "release");
        if (told.length === 0 || isReleased) continue;
        const own = entries.find((each) => each.uid === uid);
        expect(own).toBeDefined();
        // A move whose answer was lost has still happened.
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
