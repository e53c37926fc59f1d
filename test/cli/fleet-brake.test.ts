import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type FleetBrakeFlags, releaseFleetBrake, runFleetBrake } from "#cli/deletion/fleet-brake.ts";
import { openConfigMap, readFleetRecordFlag } from "#cli/deletion/fleet-record.ts";
import { createMemoryRecord } from "#config/fleet-brake/open-record.ts";
import { createFleetRecord, FleetRecord, formatFleetRecord } from "#core/node-lifecycle/fleet-record.ts";
import { type ClusterInReach, startClusterInReach } from "#test/cli/cluster-in-reach.ts";

const PATH = "/api/v1/namespaces/kube-system/configmaps/fleet";
const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();

let management: ClusterInReach;
let record: string;

beforeAll(async () => {
  management = await startClusterInReach();
  record = `kubernetes:kube-system/fleet?kubeconfig=${await management.plane.kubeconfig("admin")}`;
});
afterAll(() => management.close());
beforeEach(() => store(formatFleetRecord(PULLED)));

const PULLED: FleetRecord = {
  version: 1,
  written: minutesAgo(5),
  deletions: [
    { cluster: "tenant-a", uid: "uid-1", at: minutesAgo(6) },
    { cluster: "tenant-a", uid: "uid-2", at: minutesAgo(5) },
    { cluster: "tenant-b", uid: "uid-3", at: minutesAgo(1) },
    { cluster: "tenant-c", uid: "uid-4", at: minutesAgo(40) },
  ],
  brake: {
    since: minutesAgo(5),
    limit: "Clusters",
    cluster: "tenant-d",
    deletions: 4,
    clusters: 3,
    waiting: 7,
  },
};

describe("brake --fleet", () => {
  test("shows since when and why the brake holds, what counts, and where", async () => {
    expect(await lines({})).toEqual([
      expect.stringMatching(/^fleet {7}pulled \S+Z \(5 min ago\): nodes of too many clusters in 10 minutes$/),
      "            4 deletions by then in 3 clusters, and 7 nodes of tenant-d that would have gone too",
      "10 minutes  3 deletions that count, of at most 20",
      "clusters    2 with such deletions, of at most 3; how many there are is not noted",
      "of          tenant-a (2), tenant-b (1)",
      expect.stringMatching(/^written {5}\S+Z \(5 min ago\)$/),
    ]);
    expect(await stored()).toEqual(PULLED);
  });

  test("shows a record that was never written", async () => {
    await store("");
    expect(await lines({})).toEqual([
      "fleet       not pulled",
      "10 minutes  0 deletions that count, of at most 20",
      "clusters    0 with such deletions, of at most 3; how many there are is not noted",
      "written     never",
    ]);
  });

  test("prints the same facts as JSON", async () => {
    const [line = "", ...others] = await lines({ json: true });
    expect(others).toEqual([]);
    expect(JSON.parse(line)).toMatchObject({
      record,
      brake: PULLED.brake,
      deletions: { "tenant-a": 2, "tenant-b": 1 },
      mostClusters: 3,
    });
  });

  test.each([
    ["is missing", undefined, "make it by"],
    ["was edited into rubbish", "{{", "replace it by"],
    ["is of another version", '{"version":2}', "run one version"],
  ])("says what to do if the record %s", async (_, text, message) => {
    await store(text);
    await expect(lines({})).rejects.toThrow(message);
  });
});

describe("brake --fleet --reset", () => {
  test("releases the brake, and counts what may still be under way", async () => {
    const [said, brakeLine] = await lines({ reset: true });
    expect(said).toMatch(
      /^the brake of the fleet, pulled \S+Z, is released: deletions are counted from zero$/,
    );
    expect(brakeLine).toBe("fleet       not pulled");
    const { brake, deletions } = await stored();
    expect([brake, deletions.map(({ uid }) => uid)]).toEqual([undefined, ["uid-3"]]);
  });

  test("records the number of clusters if a registry is named, and drops nothing for it", async () => {
    const file = join(management.folder, "clusters.yaml");
    const entry = {
      server: "https://api.example.com",
      cloud: { provider: "memory", instancesFile: "x.json" },
    };
    const clusters = Array.from({ length: 250 }, (_, number) => ({ name: `tenant-${number}`, ...entry }));
    await writeFile(file, JSON.stringify({ clusters }));
    const { brake: _, ...free } = PULLED;
    await store(formatFleetRecord(free));
    const written = await lines({ reset: true, clustersFile: file });
    expect(written[0]).toBe("the brake of the fleet is not pulled; 250 clusters are noted");
    expect(written).toContain("clusters    2 with such deletions, of at most 5; there are 250");
    expect(await stored()).toEqual({ ...free, clusters: 250 });
    expect((await lines({ reset: true }))[0]).toBe(
      "the brake of the fleet is not pulled: nothing was changed",
    );
  });

  test.each([
    ["missing", undefined],
    ["empty", ""],
    ["rubbish", "{{"],
  ])("creates a record that is %s", async (_, text) => {
    await store(text);
    expect((await lines({ reset: true }))[0]).toContain("is made: deletions of all clusters");
    expect(await stored()).toEqual(createFleetRecord());
  });

  test("leaves a record of another version alone", async () => {
    await store('{"version":2}');
    await expect(lines({ reset: true })).rejects.toThrow("was not reset");
    expect(await text()).toBe('{"version":2}');
  });

  test("gives up after too many concurrent writes", async () => {
    const never = { ...createMemoryRecord(), swap: async () => false };
    const reset = releaseFleetBrake(never, 3, AbortSignal.timeout(120_000));
    await expect(reset).rejects.toThrow("another writer changed memory 5 times meanwhile; try again");
  });
});

describe("the flags", () => {
  test.each<[string, string | undefined, FleetBrakeFlags, Record<string, string>, string]>([
    ["no record", undefined, {}, {}, "--fleet-brake: is required"],
    [
      "no reference",
      undefined,
      { fleetBrake: "s3:bucket" },
      {},
      '--fleet-brake: "s3:bucket" names no record',
    ],
    ["none in the environment", undefined, {}, { FLEET_BRAKE: "x" }, '$FLEET_BRAKE: "x" names no record'],
    ["a cluster", "tenant-a", { fleetBrake: "memory" }, {}, "CLUSTER: cannot be combined with --fleet"],
  ])("%s is a fault", async (_, name, flags, environment, message) => {
    await expect(runFleetBrake(name, flags, () => undefined, environment)).rejects.toThrow(message);
  });

  test.each([
    ["kubernetes:ops/fleet", true],
    ["kubernetes:ops/fleet.v1?kubeconfig=/etc/k.yaml", true],
    ["kubernetes:ops", false],
    ["kubernetes:", false],
    ["kubernetes:Ops/fleet", false],
    ["kubernetes:ops/../fleet", false],
  ])("%s", (reference, isOne) => {
    expect(openConfigMap(reference)?.name).toBe(isOne ? reference : undefined);
  });

  test("there is no brake without flags", () => {
    const faults: never[] = [];
    expect([readFleetRecordFlag(undefined, { FLEET_BRAKE: "" }, faults), faults]).toEqual([undefined, []]);
  });
});

async function lines(more: FleetBrakeFlags): Promise<string[]> {
  const written: string[] = [];
  await runFleetBrake(undefined, more, (line) => written.push(line), { FLEET_BRAKE: record });
  return written;
}

async function store(text: string | undefined): Promise<void> {
  await management.admin.send({ method: "DELETE", path: PATH });
  if (text === undefined) return;
  const metadata = { namespace: "kube-system", name: "fleet" };
  const data = text === "" ? undefined : { fleet: text };
  await management.put(PATH, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
}

async function text(): Promise<string> {
  return ((await management.get(PATH)) as { readonly data: { readonly fleet: string } }).data.fleet;
}

async function stored(): Promise<FleetRecord> {
  return FleetRecord.parse(JSON.parse(await text()));
}
