import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "#kube/connect.ts";
import type { Transport } from "#kube/transport.ts";
import { CONTROL_PLANE_USERS, type RequestRecord } from "#local/control-plane.ts";
import { DEFAULT_VPC_ID } from "#local/ec2/build-instance.ts";
import { type Ec2Server, startEc2 } from "#local/ec2/server.ts";
import { joiningNode } from "#local/joining-node.ts";
import { type KubeApiserver, startKubeApiserver } from "#local/kube-apiserver.ts";
import { type NodeHistory, recordNodeHistory } from "#local/node-history.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const NODES = 1_000;
const AT_ONCE = 32;

/** EC2's latency as seen from another machine of the region, in milliseconds. */
const LATENCY_MS = 60;

describeWithPart("control-plane", "a thousand nodes on a real API server", (binaries) => {
  let folder: string;
  let plane: KubeApiserver;
  let ec2: Ec2Server;
  let admin: Transport;
  let history: NodeHistory;
  let program: Running | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "thousand-"));
    plane = await startKubeApiserver({ folder: join(folder, "plane"), binaries });
    ec2 = await startEc2({ behaviour: { latencyMs: LATENCY_MS } });
    const token = (await readFile(plane.tokenFile("admin"), "utf8")).trim();
    admin = connect({
      server: plane.server,
      certificateAuthority: await readFile(plane.certificateAuthorityFile, "utf8"),
      authorization: async () => `Bearer ${token}`,
    });
    history = await recordNodeHistory(admin);
    await writeFile(join(folder, "cloud.yaml"), `region: ${ec2.region}\nvpc: ${DEFAULT_VPC_ID}\n`);
  });

  afterEach(async () => {
    await program?.end("SIGKILL");
    program = undefined;
    await history.close();
    await admin.close();
    await ec2.close();
    await plane.close();
    await rm(folder, { recursive: true });
  });

  async function start(): Promise<void> {
    const cloud = ["--cloud-provider", "aws", "--cloud-config", join(folder, "cloud.yaml")];
    const access = [
      "--kubeconfig",
      await plane.kubeconfig("functions"),
      "--relay-kubeconfig",
      await plane.kubeconfig("relay"),
    ];
    program = startProgram(["run", ...cloud, ...access, "--port", "0"], {
      AWS_ENDPOINT_URL_EC2: ec2.url,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
    });
    await program.line("Listed");
  }

  async function registerAll(): Promise<void> {
    const waiting = ec2.addInstances(Array.from({ length: NODES }, () => ({})));
    let next = 0;
    const register = async (): Promise<void> => {
      for (let instance = waiting[next++]; instance !== undefined; instance = waiting[next++]) {
        const providerID = `aws:///${instance.availabilityZone}/${instance.id}`;
        const body = joiningNode({ name: instance.privateDnsName, providerID });
        const answer = await admin.send({ method: "POST", path: "/api/v1/nodes", body });
        if (answer.status !== 201) throw new Error(answer.body);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, register));
  }

  function allUp(): Promise<void> {
    const up = (): number =>
      [...history.records.values()].filter((node) => node.schedulableAt !== undefined).length;
    return history.until(`${NODES} nodes to come up`, () => up() === NODES, 120_000);
  }

  async function expectTwoWritesEach(): Promise<void> {
    const records = await plane.record();
    const ours = records.filter(
      ({ user, resource }) => user === CONTROL_PLANE_USERS.functions.name && resource === "nodes",
    );
    const byNode = Map.groupBy(ours, ({ name }) => name);
    const plain = [...byNode.values()].filter(isTwoWrites).length;
    expect(byNode.size).toBe(NODES);
    expect(plain).toBeGreaterThanOrEqual(0.95 * NODES);
    expect(records.filter(({ code }) => code === 429)).toEqual([]);
    expect([...history.records.values()].filter(({ naked }) => naked)).toEqual([]);
    expect(history.hole).toBeUndefined();
  }

  test("that are there when the relay lists: two writes each, no read, at most 15 calls to EC2", async () => {
    await registerAll();
    await start();
    await allUp();
    await expectTwoWritesEach();
    expect(ec2.record().length).toBeLessThanOrEqual(15);
  });

  test("that register while it watches: two writes each, no read, at most 50 calls to EC2", async () => {
    await start();
    await registerAll();
    await allUp();
    await expectTwoWritesEach();
    expect(ec2.record().length).toBeLessThanOrEqual(50);
  });
});

function isTwoWrites(requests: readonly RequestRecord[]): boolean {
  const [first, second] = requests;
  return requests.length === 2 && first?.subresource === "status" && [first, second].every(isAppliedPatch);
}

function isAppliedPatch(request: RequestRecord | undefined): boolean {
  return request?.verb === "patch" && request.code === 200;
}
