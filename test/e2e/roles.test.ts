import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { isUninitialized } from "#core/node/taints.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { CONTROL_PLANE_USERS, type RequestRecord } from "#emulators/harness/control-plane.ts";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { type ClusterRole, type Right, readRole, rightsOf, roleWithout } from "#test/e2e/granted-rights.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { rightsUsed } from "#test/witness/requests.ts";

/** Long enough for a node to change between its snapshot and its writes, in milliseconds. */
const LATENCY_MS = 1_000;

const [RELAY, FUNCTIONS] = await Promise.all([readRole("relay.yaml"), readRole("functions.yaml")]);

/** What each right is for, as seen where it is missing. */
const LOSSES: readonly {
  readonly without: Right;
  readonly of: "relay" | "functions";
  readonly loss: Loss;
}[] = [
  { of: "relay", without: { verb: "list", resource: "nodes" }, loss: "not ready" },
  { of: "relay", without: { verb: "watch", resource: "nodes" }, loss: "not ready" },
  { of: "functions", without: { verb: "patch", resource: "nodes/status" }, loss: "tainted" },
  { of: "functions", without: { verb: "patch", resource: "nodes" }, loss: "tainted" },
  { of: "functions", without: { verb: "get", resource: "nodes" }, loss: "conflict unresolved" },
  { of: "functions", without: { verb: "create", resource: "events" }, loss: "no Event" },
];
type Loss = "not ready" | "tainted" | "conflict unresolved" | "no Event";

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
    await Promise.all([RELAY, FUNCTIONS].map(grant));
  });

  it("allow what a bring-up does, and nothing else", async () => {
    await start();
    await conflictInBetween();
    await vi.waitFor(async () => expect(await state()).toEqual(EVERYTHING), WAIT);
    expect(await readiness()).toBe("200 ok");
    const records = await since();
    for (const [role, user] of [
      [RELAY, CONTROL_PLANE_USERS.relay],
      [FUNCTIONS, CONTROL_PLANE_USERS.functions],
    ] as const) {
      expect(rightsUsed(records, user.name)).toEqual(rightsOf(role).map(describeRight).sort());
      expect(records.filter((record) => record.user === user.name && record.code === 403)).toEqual([]);
    }
  });

  it.each(["relay", "functions"] as const)("give the %s a place of its own in the queue", async (as) => {
    const admin = await cluster.transport("admin");
    const path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/serverless-ccm";
    const { metadata } = JSON.parse((await admin.send({ method: "GET", path })).body);
    const nodes = `/api/v1/nodes${as === "relay" ? "" : `/${name}`}`;
    const { status, headers } = await (await cluster.transport(as)).send({ method: "GET", path: nodes });
    expect([status, headers["x-kubernetes-pf-flowschema-uid"]]).toEqual([200, metadata.uid]);
  });

  it("are looked at right by right", () => {
    const granted = [RELAY, FUNCTIONS].flatMap(rightsOf).map(describeRight);
    expect(LOSSES.map(({ without }) => describeRight(without)).sort()).toEqual(granted.sort());
  });

  it.each(LOSSES.map((row) => ({ ...row, right: describeRight(row.without) })))(
    "without $right of the $of: $loss",
    async ({ of, without, loss }) => {
      await grant(roleWithout(of === "relay" ? RELAY : FUNCTIONS, without));
      await start();
      if (loss !== "not ready") await conflictInBetween();
      await vi.waitFor(
        async () => expect((await since()).filter(refused(of, without))).not.toEqual([]),
        WAIT,
      );
      await vi.waitFor(async () => expect(await isLost(loss)).toBe(true), WAIT);
    },
  );

  async function start(): Promise<void> {
    const flags = ["--cloud-provider", "aws", "--cloud-config", join(folder, "cloud.yaml"), "--port", "0"];
    flags.push("--kubeconfig", await plane.kubeconfig("functions"));
    flags.push("--relay-kubeconfig", await plane.kubeconfig("relay"));
    ccm = startProgram(["run", ...flags], {
      AWS_ENDPOINT_URL_EC2: ec2.url,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
    });
    await ccm.line("Serving");
  }

  /** While the cloud is asked about the node, another taint takes the place of the one that is to be removed. */
  async function conflictInBetween(): Promise<void> {
    const asked = ec2.record().length;
    await vi.waitFor(() => expect(ec2.record().length).toBeGreaterThan(asked), WAIT);
    await cluster.patch(name, [
      { op: "add", path: "/spec/taints/0", value: { key: "example.com/other", effect: "NoSchedule" } },
    ]);
  }

  async function state(): Promise<typeof EVERYTHING> {
    const node = await cluster.read(name);
    const used = rightsUsed(await since(), CONTROL_PLANE_USERS.functions.name);
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
      case "tainted":
        return !(await state()).initialized;
      case "conflict unresolved":
        return !(await state()).initialized;
      case "no Event":
        return !(await state()).event;
    }
  }

  /** What /readyz answers. */
  async function readiness(): Promise<string> {
    const { url } = (await ccm?.line("Serving")) ?? {};
    const answer = await fetch(`${url}/readyz`);
    return `${answer.status} ${await answer.text()}`;
  }

  /** Requests of this test. */
  async function since(): Promise<readonly RequestRecord[]> {
    return (await plane.record()).slice(recordedBefore);
  }

  /** Replaces a role, and waits until the API server goes by it. */
  async function grant(role: ClusterRole): Promise<void> {
    const admin = await cluster.transport("admin");
    const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${role.metadata.name}`;
    const contentType = "application/merge-patch+json";
    await admin.send({ method: "PATCH", path, contentType, body: { rules: role.rules } });
    const as = role.metadata.name === RELAY.metadata.name ? "relay" : "functions";
    const all = rightsOf(as === "relay" ? RELAY : FUNCTIONS).map(describeRight);
    const granted = rightsOf(role).map(describeRight);
    const user = await cluster.transport(as);
    await vi.waitFor(async () => {
      for (const right of all) expect(await mayUse(user, right)).toBe(granted.includes(right));
    }, WAIT);
  }
});

const EVERYTHING = { initialized: true, readAgain: true, event: true };

const WAIT = { timeout: 30_000, interval: 50 };

function describeRight({ verb, resource }: Right): string {
  return `${verb} ${resource}`;
}

function refused(of: "relay" | "functions", right: Right): (record: RequestRecord) => boolean {
  return ({ user, verb, resource, subresource, code }) =>
    user === CONTROL_PLANE_USERS[of].name &&
    code === 403 &&
    verb === right.verb &&
    right.resource === (subresource === undefined ? resource : `${resource}/${subresource}`);
}

async function mayUse(user: ClusterUnderTest["functions"], right: string): Promise<boolean> {
  const [verb, target = ""] = right.split(" ");
  const [resource, subresource] = target.split("/");
  const answer = await user.send({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: { verb, resource, subresource } },
    },
  });
  return JSON.parse(answer.body).status.allowed;
}
