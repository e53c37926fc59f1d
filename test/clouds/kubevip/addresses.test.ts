import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ADDRESSES_ANNOTATION as ADDRESSES,
  CHOSEN_ANNOTATION as CHOSEN,
} from "#clouds/kubevip/load-balancers/holders.ts";
import { createPlay, type Difference } from "#test/clouds/kubevip/play.ts";
import { SEED } from "#test/seed.ts";

const DATA = { "cidr-global": "10.0.0.0/29" };
const LABEL = { implementation: "kube-vip" };
const addressed = (address: string, difference: Difference = {}): Difference => ({
  ...difference,
  metadata: { labels: LABEL, annotations: { [ADDRESSES]: address }, ...difference.metadata },
});
const YOUNG = { creationTimestamp: "2026-02-01T00:00:00Z" };

describe("a Service", () => {
  test("gets an address in two rounds, and keeps it", async () => {
    const play = createPlay({ ...DATA, "interface-global": "eth1" });
    play.create("blue/web", { metadata: { labels: { a: "b", "ipam-address": "10.0.0.9" } } });
    expect(await play.process().invoke("blue/web")).toMatchObject([{ kind: "wait", afterSeconds: 1 }]);
    const { metadata, spec } = play.read("blue/web");
    expect([metadata.annotations, metadata.labels, spec.loadBalancerIP]).toEqual([
      { [ADDRESSES]: "10.0.0.1", [CHOSEN]: "10.0.0.1", "kube-vip.io/serviceInterface": "eth1" },
      { a: "b", ...LABEL },
      "10.0.0.1",
    ]);
    expect(await play.process().invoke("blue/web")).toEqual([{ kind: "handed-over", warnings: [] }]);
    expect(play.read("blue/web").metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  test("gets both families", async () => {
    const play = createPlay({ "cidr-global": "10.0.0.0/29,fd00::/126" });
    play.create("blue/web", { spec: { ipFamilyPolicy: "RequireDualStack" } });
    await play.process().invoke("blue/web");
    expect(play.read("blue/web").metadata.annotations?.[ADDRESSES]).toBe("10.0.0.1,fd00::");
    expect(play.read("blue/web").spec.loadBalancerIP).toBe("10.0.0.1");
  });

  test.each<[string, Difference, object]>([
    [
      "that names an address in its spec gets it in canonical spelling",
      { spec: { loadBalancerIP: "FD00:0::7" }, metadata: { labels: { "ipam-address": "x" } } },
      { annotations: { [ADDRESSES]: "fd00::7" }, labels: LABEL, loadBalancerIP: "FD00:0::7" },
    ],
    [
      "that names addresses by annotation gets the label",
      { metadata: { annotations: { [ADDRESSES]: "192.0.2.7, fd00::7" } } },
      { annotations: { [ADDRESSES]: "192.0.2.7, fd00::7" }, labels: LABEL, loadBalancerIP: undefined },
    ],
    [
      "that names two different addresses gets that of the annotation",
      { spec: { loadBalancerIP: "10.0.0.6" }, metadata: { annotations: { [ADDRESSES]: "10.0.0.5" } } },
      { annotations: { [ADDRESSES]: "10.0.0.5" }, labels: LABEL, loadBalancerIP: "10.0.0.6" },
    ],
    [
      "that names another address than the chosen one moves to it",
      {
        spec: { loadBalancerIP: "10.0.0.6" },
        metadata: { annotations: { [ADDRESSES]: "10.0.0.5", [CHOSEN]: "10.0.0.5" } },
      },
      { annotations: { [ADDRESSES]: "10.0.0.6" }, labels: LABEL, loadBalancerIP: "10.0.0.6" },
    ],
  ])("%s", async (_, difference, expected) => {
    const play = createPlay(undefined);
    play.create("blue/web", difference);
    await play.process().invoke("blue/web");
    const { metadata, spec } = play.read("blue/web");
    const { annotations, labels } = metadata;
    expect({ annotations, labels, loadBalancerIP: spec.loadBalancerIP }).toEqual(expected);
    expect(await play.process().invoke("blue/web")).toEqual([{ kind: "handed-over", warnings: [] }]);
  });

  test.each<[string, Difference, object | undefined, string, object?]>([
    ["no ConfigMap", {}, undefined, "NoPool"],
    ["no pool", {}, {}, "NoPool"],
    ["an invalid pool", {}, { "cidr-global": "web/24" }, "InvalidPool"],
    ["a pool without the IP family", { spec: { ipFamilies: ["IPv6"] } }, DATA, "PoolLacksFamily"],
    ["an exhausted pool", {}, { "range-global": "10.0.0.5-10.0.0.5" }, "PoolExhausted"],
    ["an invalid address", { spec: { loadBalancerIP: "10.0.0" } }, DATA, "InvalidField"],
    [
      "too many addresses",
      {
        metadata: {
          annotations: { [ADDRESSES]: Array.from({ length: 17 }, (_, at) => `10.1.0.${at}`).join() },
        },
      },
      DATA,
      "InvalidAnnotation",
    ],
    [
      "an invalid annotation",
      { metadata: { annotations: { [ADDRESSES]: "10.0.0.1;" } } },
      DATA,
      "InvalidAnnotation",
    ],
    ["an address of another Service", { spec: { loadBalancerIP: "10.0.0.5" } }, DATA, "AddressInUse"],
    [
      "an address outside the pool",
      { spec: { loadBalancerIP: "192.0.2.1" } },
      DATA,
      "AddressOutsidePool",
      { outsidePool: "refuse" },
    ],
    [
      "an address outside the pool, by annotation",
      { metadata: { annotations: { [ADDRESSES]: "192.0.2.1" } } },
      DATA,
      "AddressOutsidePool",
      { outsidePool: "refuse" },
    ],
  ])("is rejected because of %s, and nothing is written", async (_, difference, data, code, cloud = {}) => {
    const play = createPlay(data as Record<string, string> | undefined, cloud);
    play.create("red/other", addressed("10.0.0.5"));
    play.create("blue/web", difference);
    const before = play.read("blue/web");
    expect(await play.process().invoke("blue/web")).toMatchObject([{ kind: "refused", issue: { code } }]);
    expect(play.read("blue/web")).toEqual(before);
  });

  test("that names an address in the pool gets it, where others are rejected", async () => {
    const play = createPlay(DATA, { outsidePool: "refuse" });
    play.create("blue/web", { spec: { loadBalancerIP: "10.0.0.5" } });
    await play.process().invoke("blue/web");
    expect(play.read("blue/web").metadata.annotations?.[ADDRESSES]).toBe("10.0.0.5");
  });

  test("that cannot be read does not keep the others from an address", async () => {
    const play = createPlay(DATA);
    play.create("red/broken", addressed("10.0.0.1; 10.0.0.2"));
    play.create("blue/web");
    await play.process().invoke("blue/web");
    expect(play.read("blue/web").metadata.annotations?.[ADDRESSES]).toBe("10.0.0.1");
  });

  test("of another type gives back the chosen address, and nothing else", async () => {
    const play = createPlay(DATA);
    play.create("blue/web");
    await play.process().invoke("blue/web");
    const { metadata, spec } = play.read("blue/web");
    play.objects.put("services", { metadata, spec: { ...spec, type: "ClusterIP" } });
    expect(await play.process().invoke("blue/web")).toEqual([{ kind: "handed-over", warnings: [] }]);
    const left = play.read("blue/web");
    expect([left.metadata.annotations, left.metadata.labels, left.spec.loadBalancerIP]).toEqual([
      {},
      {},
      undefined,
    ]);
    play.create("blue/named", { ...addressed("10.0.0.5"), spec: { type: "ClusterIP" } });
    await play.process().invoke("blue/named");
    expect(play.read("blue/named").metadata.annotations).toEqual({ [ADDRESSES]: "10.0.0.5" });
  });
});

describe("two Services with one address", () => {
  const both = async (one: Difference, other: Difference, data: Record<string, string> = DATA) => {
    const play = createPlay(data);
    play.create("red/old", one);
    play.create("blue/young", { ...other, metadata: { ...YOUNG, ...other.metadata } });
    const last = [];
    for (let round = 0; round < 4; round += 1)
      for (const name of ["red/old", "blue/young"]) last.push((await play.process().invoke(name))[0]);
    const of = (name: string) => play.read(name).metadata.annotations?.[ADDRESSES];
    return { addresses: [of("red/old"), of("blue/young")], steps: last.slice(-2) };
  };
  const chosen = (address: string, difference: Difference = {}): Difference =>
    addressed(address, {
      ...difference,
      metadata: { labels: LABEL, annotations: { [ADDRESSES]: address, [CHOSEN]: address } },
    });
  const fine = { kind: "handed-over", warnings: [] };
  const warned = { kind: "handed-over", warnings: [{ code: "AddressInUse", field: ADDRESSES }] };

  test.each<[string, Difference, Difference, readonly string[], readonly object[]]>([
    [
      "both chosen automatically: the younger gets another one",
      chosen("10.0.0.3"),
      chosen("10.0.0.3"),
      ["10.0.0.3", "10.0.0.1"],
      [fine, fine],
    ],
    [
      "named by the older one: the younger gets another one",
      addressed("10.0.0.3"),
      chosen("10.0.0.3"),
      ["10.0.0.3", "10.0.0.1"],
      [fine, fine],
    ],
    [
      "named by the younger one: it gets a Warning and keeps it",
      chosen("10.0.0.3"),
      addressed("10.0.0.3"),
      ["10.0.0.3", "10.0.0.3"],
      [fine, warned],
    ],
    [
      "named by both, for different ports: both keep it",
      addressed("10.0.0.3"),
      addressed("10.0.0.3", { spec: { ports: [{ port: 443, protocol: "TCP" }] } }),
      ["10.0.0.3", "10.0.0.3"],
      [fine, fine],
    ],
    [
      "equal in one of two addresses: the younger gets new ones",
      chosen("10.0.0.3"),
      chosen("fd00::9,10.0.0.3"),
      ["10.0.0.3", "10.0.0.1"],
      [fine, fine],
    ],
    [
      "requested by DHCP: both keep it",
      chosen("0.0.0.0"),
      chosen("0.0.0.0"),
      ["0.0.0.0", "0.0.0.0"],
      [fine, fine],
    ],
  ])("%s", async (_, one, other, addresses, steps) => {
    const ended = await both(one, other);
    expect(ended.addresses).toEqual(addresses);
    expect(ended.steps).toMatchObject(steps);
  });

  test("that share it by the pool's setting keep it", async () => {
    const data = { ...DATA, "allow-share-global": "true" };
    const ended = await both(
      chosen("10.0.0.3"),
      chosen("10.0.0.3", { spec: { ports: [{ port: 443, protocol: "TCP" }] } }),
      data,
    );
    expect(ended).toMatchObject({ addresses: ["10.0.0.3", "10.0.0.3"], steps: [fine, fine] });
  });
});

test("keep it after the ConfigMap that allowed sharing is gone", async () => {
  const play = createPlay(undefined);
  const shared = (port: number, created: string): Difference => ({
    metadata: {
      labels: LABEL,
      annotations: { [ADDRESSES]: "10.0.0.3", [CHOSEN]: "10.0.0.3" },
      creationTimestamp: created,
    },
    spec: { ports: [{ port, protocol: "TCP" }] },
  });
  play.create("red/old", shared(80, "2026-01-01T00:00:00Z"));
  play.create("blue/young", shared(443, "2026-02-01T00:00:00Z"));
  expect(await play.process().invoke("blue/young")).toEqual([{ kind: "handed-over", warnings: [] }]);
  expect(play.read("blue/young").metadata.annotations?.[ADDRESSES]).toBe("10.0.0.3");
});

test("an earlier read does not replace a later one, however long it took", async () => {
  const play = createPlay({ "cidr-global": "10.0.0.0/24" });
  for (const name of ["blue/a", "blue/b", "blue/c"]) play.create(name);
  const slow = Promise.withResolvers<void>();
  let isFirst = true;
  play.objects.onLeave = async (what) => {
    if (what !== "LIST services" || !isFirst) return;
    isFirst = false;
    await slow.promise;
  };
  const process = play.process();
  const first = process.invoke("blue/a");
  await Promise.resolve();
  await process.invoke("blue/b");
  // The Service's address is visible on it, and the reservation has ended.
  await process.invoke("blue/b");
  slow.resolve();
  await first;
  const addresses = ["blue/a", "blue/b"].map((name) => play.read(name).metadata.annotations?.[ADDRESSES]);
  expect(new Set(addresses).size).toBe(2);
});

test("a batch of a hundred costs one read and one list in each of its rounds, and each gets its own address", async () => {
  const play = createPlay({ "cidr-global": "10.0.0.0/24" });
  const names = Array.from({ length: 100 }, (_, index) => `blue/s${index}`);
  for (const name of names) play.create(name);
  const process = play.process();
  await process.invoke(...names);
  expect(play.objects.requests).toEqual(["GET configmaps", "LIST services"]);
  const addresses = names.map((name) => play.read(name).metadata.annotations?.[ADDRESSES]);
  expect(new Set(addresses).size).toBe(100);
  expect(await process.invoke(...names)).toEqual(names.map(() => ({ kind: "handed-over", warnings: [] })));
  expect(play.objects.requests).toHaveLength(4);
});

test("in any order of processes, in the end no address belongs to two Services", async () => {
  const count = 6;
  const names = Array.from({ length: count }, (_, index) => `ns-${index % 2}/s${index}`);
  const step = fc.record({
    process: fc.integer({ min: 0, max: 2 }),
    services: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 4 }),
  });
  const order = fc.record({
    steps: fc.array(step, { minLength: 2, maxLength: 12 }),
    delays: fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 60 }),
    ages: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: count, maxLength: count }),
  });
  await fc.assert(
    fc.asyncProperty(order, async ({ steps, delays, ages }) => {
      const play = createPlay({ "cidr-global": "10.0.0.0/28" });
      for (const [index, name] of names.entries())
        play.create(name, { metadata: { creationTimestamp: `2026-01-0${ages[index]}T00:00:00Z` } });
      play.objects.onRequest = async () => {
        for (let left = delays.shift() ?? 0; left > 0; left -= 1) await Promise.resolve();
      };
      const processes = [play.process(), play.process(), play.process()];
      await Promise.all(steps.map(({ process, services }) => processes[process]?.invoke(...services)));
      // Due Services are invoked again until nothing is left to do.
      for (let round = 0; round < 8; round += 1) for (const name of names) await play.process().invoke(name);
      const addresses = names.map((name) => play.read(name).metadata.annotations?.[ADDRESSES]);
      expect(new Set(addresses).size).toBe(count);
      expect(addresses).not.toContain(undefined);
      const before = names.map((name) => play.read(name).metadata.resourceVersion);
      for (const name of names)
        expect(await play.process().invoke(name)).toEqual([{ kind: "handed-over", warnings: [] }]);
      expect(names.map((name) => play.read(name).metadata.resourceVersion)).toEqual(before);
    }),
    { seed: SEED, numRuns: 200 },
  );
});
