import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { IDENTITIES } from "#core/identities.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { CONTROL_PLANE_USERS, type RequestRecord } from "#emulators/harness/control-plane.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { describeRight, grant, listRights, readRoles, removeRight } from "#test/e2e/granted-rights.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { listUsedRights } from "#test/witness/requests.ts";

/** Long enough for a node to change between its snapshot and its writes, in milliseconds. */
const LATENCY_MS = 1_000;

const ROLES = { relay: await readRoles("relay.yaml"), node: await readRoles("node.yaml") };
const WHO = ["relay", "node"] as const;
type Who = (typeof WHO)[number];

/** The purpose of each right, as its loss shows. */
const LOSSES: readonly { readonly of: Who; readonly without: string; readonly loss: Loss }[] = [
  { of: "relay", without: "list nodes", loss: "not ready" },
  { of: "relay", without: "watch nodes", loss: "not ready" },
  { of: "relay", without: "patch leases", loss: "not vouched" },
  { of: "node", without: "patch nodes/status", loss: "tainted" },
  { of: "node", without: "patch nodes", loss: "tainted" },
  { of: "node", without: "get nodes", loss: "conflict unresolved" },
  { of: "node", without: "create events", loss: "no Event" },
];
type Loss = "not ready" | "not vouched" | "tainted" | "conflict unresolved" | "no Event";

describeWithPart("control-plane", "the roles of infra/rbac", (binaries) => {
  let folder: string;
  let plane: KubeApiserver;
  let cluster: ClusterUnderTest;
  let ec2: Ec2Server;
  let ccm: Running | undefined;
  let nodes = 0;
  let name: string;
  let recordedBefore: number;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "roles-"));
    ec2 = await startEc2({ behaviour: { latencyMs: LATENCY_MS } });
    cluster = await startCluster(async (planeFolder) => {
      plane = await startKubeApiserver({ folder: planeFolder, binaries });
      return plane;
    });
    await writeFile(join(folder, "cloud.yaml"), `region: ${ec2.region}\nvpc: ${DEFAULT_VPC_ID}\n`);
  });
  afterAll(async () => {
    await cluster?.close();
    await ec2?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  beforeEach(async () => {
    recordedBefore = (await plane.record()).length;
    const instance = ec2.addInstance();
    nodes += 1;
    name = `node-${nodes}`;
    const providerID = `aws:///${instance.availabilityZone}/${instance.id}`;
    await cluster.join({ name, providerID });
  });
  afterEach(async () => {
    await ccm?.end("SIGKILL");
    ccm = undefined;
    await cluster.remove(name);
    for (const who of WHO) await grant(cluster, who, ROLES[who], ROLES[who]);
  });

  it("allow what an initialization needs, and nothing else", async () => {
    await start();
    await conflictInBetween();
    await vi.waitFor(async () => expect(await state()).toEqual(EVERYTHING), WAIT);
    expect(await readiness()).toBe("200 ok");
    await vi.waitFor(async () => expect(await renewals()).not.toEqual([]), WAIT);
    const records = await since();
    for (const who of WHO) {
      const user = CONTROL_PLANE_USERS[who].name;
      expect([who, listUsedRights(records, user)]).toEqual([
        who,
        listRights(ROLES[who]).map(describeRight).sort(),
      ]);
      expect(records.filter((record) => record.user === user && record.code === 403)).toEqual([]);
    }
  });

  it.each(IDENTITIES)("give the %s its own place in the queue", async (as) => {
    const admin = await cluster.transport("admin");
    const path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/serverless-ccm";
    const { metadata } = JSON.parse((await admin.send({ method: "GET", path })).body);
    const own = await cluster.transport(as);
    const { headers } = await own.send({ method: "GET", path: `/api/v1/nodes/${name}` });
    expect(headers["x-kubernetes-pf-flowschema-uid"]).toBe(metadata.uid);
  });

  it("are tested right by right", () => {
    const granted = WHO.flatMap((who) =>
      listRights(ROLES[who]).map((right) => `${who} ${describeRight(right)}`),
    );
    expect(LOSSES.map(({ of, without }) => `${of} ${without}`).sort()).toEqual(granted.sort());
  });

  it.each(LOSSES)("without $without of the $of: $loss", async ({ of, without, loss }) => {
    await grant(cluster, of, removeRight(ROLES[of], without), ROLES[of]);
    await start();
    if (of === "node") await conflictInBetween();
    await vi.waitFor(async () => expect((await since()).filter(refused(of, without))).not.toEqual([]), WAIT);
    await vi.waitFor(async () => expect(await isLost(loss)).toBe(true), WAIT);
  });

  async function start(): Promise<void> {
    const flags = ["--cloud-provider", "aws", "--cloud-config", join(folder, "cloud.yaml"), "--port", "0"];
    flags.push(...(await buildIdentityFlags(plane)));
    ccm = startProgram(["run", ...flags], {
      AWS_ENDPOINT_URL_EC2: ec2.url,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
    });
    await ccm.line("Serving");
  }

  /** While the cloud answers about the node, another taint takes the place of the removed one. */
  async function conflictInBetween(): Promise<void> {
    const asked = ec2.record().length;
    await vi.waitFor(() => expect(ec2.record().length).toBeGreaterThan(asked), WAIT);
    await cluster.patch(name, [
      { op: "add", path: "/spec/taints/0", value: { key: "example.com/other", effect: "NoSchedule" } },
    ]);
  }

  async function state(): Promise<typeof EVERYTHING> {
    const node = await cluster.read(name);
    const used = listUsedRights(await since(), CONTROL_PLANE_USERS.node.name);
    return {
      initialized: !isUninitialized(node),
      readAgain: used.includes("get nodes"),
      event: (await cluster.events(node)).some(({ reason }) => reason === "Synced"),
    };
  }

  async function isLost(loss: Loss): Promise<boolean> {
    switch (loss) {
      case "not ready":
        return /403|forbidden/i.test(await readiness());
      case "not vouched":
        return (await renewals()).length === 0;
      case "tainted":
        return !(await state()).initialized;
      case "conflict unresolved":
        return !(await state()).initialized;
      case "no Event":
        return !(await state()).event;
    }
  }

  /** Returns renewals of the relay's Lease, about every 30 s. */
  async function renewals(): Promise<readonly RequestRecord[]> {
    const ours = (await since()).filter(({ user }) => user === CONTROL_PLANE_USERS.relay.name);
    return ours.filter(
      ({ verb, resource, code }) => verb === "patch" && resource === "leases" && code === 200,
    );
  }

  /** Returns the answer of /readyz. */
  async function readiness(): Promise<string> {
    const { url } = (await ccm?.line("Serving")) ?? {};
    const answer = await fetch(`${url}/readyz`);
    return `${answer.status} ${await answer.text()}`;
  }

  /** Returns the requests of this test. */
  async function since(): Promise<readonly RequestRecord[]> {
    return (await plane.record()).slice(recordedBefore);
  }
});

const EVERYTHING = { initialized: true, readAgain: true, event: true };

const WAIT = { timeout: 90_000, interval: 50 };

function refused(of: Who, right: string): (record: RequestRecord) => boolean {
  return ({ user, verb, resource, subresource, code }) =>
    user === CONTROL_PLANE_USERS[of].name &&
    code === 403 &&
    right === `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}`;
}
