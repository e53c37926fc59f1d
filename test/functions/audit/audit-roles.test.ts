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
import { type ClusterSweep, createSweepTurns, sweepTouched } from "#sweep/sweep-cluster.ts";
import type { ObjectNames } from "#sweep/touched.ts";
import { describeRight, grant, listRights, readRoles, removeRight } from "#test/e2e/granted-rights.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { buildCluster } from "#test/sweep/sweep-builders.ts";
import { listUsedRights } from "#test/witness/requests.ts";

const USER = CONTROL_PLANE_USERS.audit.name;
const OPTIONAL = ["csr-approver", "service-lb-controller"];
const ROLES = await readRoles("audit.yaml", ...OPTIONAL.map((name) => `${name}/audit.yaml`));
const FOLDERS = OPTIONAL.map((name) =>
  fileURLToPath(new URL(`../../../infra/rbac/${name}`, import.meta.url)),
);
const ENTRY = { controllers: ["cloud-node-controller", "csr-approver", "service-lb-controller"] };

/** A node that needs work, and objects that are gone: whatever else reads them is checked. */
const TOUCHED: ReadonlyMap<string, ObjectNames> = new Map([
  ["nodes", new Map([["node-1", { name: "node-1" }]])],
  ["certificatesigningrequests", new Map([["csr-a", { name: "csr-a" }]])],
  ["services", new Map([["default/web", { namespace: "default", name: "web" }]])],
]);

/** Only DigitalOcean's firewall reads the namespace that stands for the cluster. */
const OF_OTHER_CLOUDS = "list namespaces";

describeWithPart("control-plane", "the roles of audit, under the policies", (binaries) => {
  let plane: KubeApiserver;
  let cluster: ClusterUnderTest;
  let recordedBefore: number;

  beforeAll(async () => {
    cluster = await startCluster(async (folder) => {
      const manifests = [...OUR_MANIFESTS, ...FOLDERS, ADMISSION_POLICIES];
      plane = await startKubeApiserver({ folder, binaries, manifests });
      return plane;
    });
    await cluster.join({ name: "node-1" });
  });
  afterAll(() => cluster?.close());
  beforeEach(async () => {
    recordedBefore = (await plane.record()).length;
  });
  afterEach(() => grant(cluster, "audit", ROLES, ROLES));

  const RIGHTS = listRights(ROLES)
    .map(describeRight)
    .filter((right) => right !== OF_OTHER_CLOUDS)
    .sort();

  it("allow what it does, and nothing else", async () => {
    expect(await look()).toMatchObject({ mode: "touched", reported: 1, because: undefined });
    const records = await since();
    expect(listUsedRights(records, USER)).toEqual(RIGHTS);
    expect(records.filter(({ code }) => code >= 400)).toEqual([]);
  });

  it.each(RIGHTS)("without %s it says so", async (right) => {
    await grant(cluster, "audit", removeRight(ROLES, right), ROLES);
    expect(await look()).toMatchObject({ because: { code: "Forbidden" } });
    const refused = (await since()).filter(({ code }) => code === 403);
    expect([...new Set(refused.map(({ verb, resource }) => `${verb} ${resource}`))]).toEqual([right]);
  });

  async function look(): Promise<ClusterSweep> {
    const api = await cluster.transport("audit");
    const world = {
      invoker: { invoke: async (event) => ({ kind: "report", report: buildReport(event) }) as const },
      api: async () => api,
      clock: systemClock,
      random: () => 0.5,
      identity: "roles",
      turns: createSweepTurns(systemClock),
    } satisfies Parameters<typeof sweepTouched>[2];
    return sweepTouched(buildCluster("one", ENTRY), TOUCHED, world, {
      minute: toMinute(Date.now()),
      signal: AbortSignal.timeout(120_000),
    });
  }

  async function since(): Promise<readonly RequestRecord[]> {
    return (await plane.record()).slice(recordedBefore).filter(({ user }) => user === USER);
  }
});
