import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { CONTROL_PLANE_USERS, type RequestRecord } from "#emulators/harness/control-plane.ts";
import {
  ADMISSION_POLICIES,
  type KubeApiserver,
  OUR_MANIFESTS,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { toMinute } from "#sweep/select.ts";
import { type ClusterSweep, createSweepTurns, sweepCluster } from "#sweep/sweep-cluster.ts";
import { describeRight, grant, listRights, readRoles, removeRight } from "#test/e2e/granted-rights.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { buildCluster } from "#test/sweep/sweep-builders.ts";
import { listUsedRights } from "#test/witness/requests.ts";

const USER = CONTROL_PLANE_USERS.sweep.name;
const ROLES = await readRoles("sweep.yaml", "csr-approver/sweep.yaml");
const CSR_APPROVER = fileURLToPath(new URL("../../infra/rbac/csr-approver", import.meta.url));

const clock = systemClock;
const ENTRY = { controllers: ["cloud-node-controller", "csr-approver"] };

/** What each right is for, as seen where it is missing. */
const LOSSES: readonly { readonly without: string; readonly found: Partial<ClusterSweep> }[] = [
  // An unreadable Lease proves nothing.
  { without: "get leases", found: { mode: "full", lease: "unreadable", listed: 1, because: undefined } },
  {
    without: "list nodes",
    found: { mode: "full", listed: 0, because: expect.objectContaining({ code: "Forbidden" }) },
  },
  {
    without: "list certificatesigningrequests",
    found: { mode: "full", because: expect.objectContaining({ code: "Forbidden" }) },
  },
];

describeWithPart("control-plane", "the roles of the sweep, under the policies", (binaries) => {
  let plane: KubeApiserver;
  let cluster: ClusterUnderTest;
  let recordedBefore: number;

  beforeAll(async () => {
    cluster = await startCluster(async (folder) => {
      const manifests = [...OUR_MANIFESTS, CSR_APPROVER, ADMISSION_POLICIES];
      plane = await startKubeApiserver({ folder, binaries, manifests });
      return plane;
    });
    await cluster.join({ name: "node-1" });
  });
  afterAll(() => cluster?.close());
  beforeEach(async () => {
    recordedBefore = (await plane.record()).length;
  });
  afterEach(() => grant(cluster, "sweep", ROLES, ROLES));

  it("allow what it does, and nothing else", async () => {
    expect(await sweep()).toMatchObject({ mode: "full", lease: "stale", listed: 1, because: undefined });
    const records = await since();
    expect(listUsedRights(records, USER)).toEqual(listRights(ROLES).map(describeRight).sort());
    expect(records.filter(({ code }) => code >= 400)).toEqual([]);
  });

  it("are looked at right by right", () => {
    expect(LOSSES.map(({ without }) => without).sort()).toEqual(listRights(ROLES).map(describeRight).sort());
  });

  it.each(LOSSES)("without $without it says so, or does more than it must", async ({ without, found }) => {
    await grant(cluster, "sweep", removeRight(ROLES, without), ROLES);
    expect(await sweep()).toMatchObject(found);
    const refused = (await since()).filter(({ code }) => code === 403);
    expect([...new Set(refused.map(({ verb, resource }) => `${verb} ${resource}`))]).toEqual([without]);
  });

  async function sweep(): Promise<ClusterSweep> {
    const api = await cluster.transport("sweep");
    const world = {
      invoker: { invoke: async (event) => ({ kind: "report", report: buildReport(event) }) as const },
      api: async () => api,
      clock,
      random: () => 0.5,
      identity: "roles",
      turns: createSweepTurns(clock),
    } satisfies Parameters<typeof sweepCluster>[1];
    const signal = AbortSignal.timeout(120_000);
    return sweepCluster(buildCluster("one", ENTRY), world, {
      minute: toMinute(clock.wallTime().getTime()),
      signal,
    });
  }

  /** Of the sweep itself, what it asks of its own rights aside. */
  async function since(): Promise<readonly RequestRecord[]> {
    const records = (await plane.record()).slice(recordedBefore);
    return records.filter(({ user, resource }) => user === USER && resource !== "selfsubjectaccessreviews");
  }
});
