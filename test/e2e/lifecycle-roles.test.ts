import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { INSTANCE_ANNOTATION, SHUTDOWN_TAINT } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { CONTROL_PLANE_USERS, OUR_USERS, type RequestRecord } from "#emulators/harness/control-plane.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import {
  ADMISSION_POLICIES,
  type KubeApiserver,
  OUR_MANIFESTS,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { describeRight, grant, listRights, readRoles, removeRight } from "#test/e2e/granted-rights.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { listUsedRights } from "#test/witness/requests.ts";

const USER = CONTROL_PLANE_USERS["node-lifecycle"].name;
const ROLES = await readRoles("node-lifecycle.yaml");

/** The purpose of each right, as its loss shows. */
const LOSSES: readonly { readonly without: string; readonly loss: Loss }[] = [
  { without: "patch nodes", loss: "unmarked" },
  { without: "get nodes", loss: "not deleted" },
  { without: "list nodes", loss: "not deleted" },
  { without: "delete nodes", loss: "not deleted" },
  { without: "get configmaps", loss: "not deleted" },
  { without: "update configmaps", loss: "not deleted" },
  { without: "create events", loss: "no Event" },
];
type Loss = "unmarked" | "not deleted" | "no Event";

const WAIT = { timeout: 60_000, interval: 50 };

describeWithPart(
  "control-plane",
  "the roles of the identity that deletes, under the policies",
  (binaries) => {
    let folder: string;
    let plane: KubeApiserver;
    let cluster: ClusterUnderTest;
    let ec2: Ec2Server;
    let ccm: Running | undefined;
    let instance: Ec2Instance;
    let node: Node;
    let recordedBefore: number;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "lifecycle-roles-"));
      ec2 = await startEc2();
      cluster = await startCluster(async (planeFolder) => {
        const manifests = [...OUR_MANIFESTS, ADMISSION_POLICIES];
        plane = await startKubeApiserver({ folder: planeFolder, binaries, manifests });
        return plane;
      });
      await writeFile(join(folder, "cloud.yaml"), `region: ${ec2.region}\nvpc: ${DEFAULT_VPC_ID}\n`);
      // Losing the only node of a cluster would mean losing all of them.
      await register(ec2.addInstance());
    });
    afterAll(async () => {
      await cluster?.close();
      await ec2?.close();
      if (folder !== undefined) await rm(folder, { recursive: true });
    });

    beforeEach(async () => {
      instance = ec2.addInstance();
      await register(instance);
      recordedBefore = (await plane.record()).length;
    });
    afterEach(async () => {
      await ccm?.end("SIGKILL");
      ccm = undefined;
      const path = `/api/v1/nodes/${instance.privateDnsName}`;
      await (await cluster.transport("admin")).send({ method: "DELETE", path });
      await grant(cluster, "node-lifecycle", ROLES, ROLES);
    });

    it("allow what the life of a node needs, and nothing else", async () => {
      await start();
      ec2.setState(instance.id, "stopped");
      await vi.waitFor(async () => expect(await isMarked()).toBe(true), WAIT);
      ec2.terminate(instance.id);
      await vi.waitFor(async () => expect(await isGone()).toBe(true), WAIT);
      await vi.waitFor(async () => expect(await reasons()).toContain("DeletingNode"), WAIT);
      const records = await since();
      expect(listUsedRights(records, USER)).toEqual(listRights(ROLES).map(describeRight).sort());
      expect(records.filter(({ user, code }) => OUR_USERS.includes(user) && code === 403)).toEqual([]);
      // The identity that deletes is not the one that initializes.
      expect(deletersOf(records)).toEqual([USER]);
    });

    it("are tested right by right", () => {
      expect(LOSSES.map(({ without }) => without).sort()).toEqual(
        listRights(ROLES).map(describeRight).sort(),
      );
    });

    it.each(LOSSES)("without $without: $loss", async ({ without, loss }) => {
      await grant(cluster, "node-lifecycle", removeRight(ROLES, without), ROLES);
      await start();
      if (loss === "unmarked") ec2.setState(instance.id, "stopped");
      else ec2.terminate(instance.id);
      await vi.waitFor(async () => expect((await since()).filter(isRefused(without))).not.toEqual([]), WAIT);
      switch (loss) {
        case "unmarked":
          return expect(await isMarked()).toBe(false);
        case "not deleted":
          // Work in progress has ended then.
          expect(await ccm?.end("SIGTERM")).toBe(0);
          return expect(await isGone()).toBe(false);
        case "no Event":
          await vi.waitFor(async () => expect(await isGone()).toBe(true), WAIT);
          return expect(await reasons()).not.toContain("DeletingNode");
      }
    });

    async function register({ id, availabilityZone, privateDnsName }: Ec2Instance): Promise<void> {
      node = await cluster.join({ name: privateDnsName, providerID: `aws:///${availabilityZone}/${id}` });
    }

    /** Starts it, and resolves once the node is initialized. */
    async function start(): Promise<void> {
      const flags = ["--cloud-provider", "aws", "--cloud-config", join(folder, "cloud.yaml"), "--port", "0"];
      ccm = startProgram(["run", ...flags, ...(await buildIdentityFlags(plane))], {
        AWS_ENDPOINT_URL_EC2: ec2.url,
        AWS_ACCESS_KEY_ID: "test",
        AWS_SECRET_ACCESS_KEY: "test",
      });
      await ccm.line("Serving");
      await vi.waitFor(async () => {
        const { metadata } = await cluster.read(instance.privateDnsName);
        expect(metadata.annotations?.[INSTANCE_ANNOTATION]).toContain(instance.id);
      }, WAIT);
    }

    async function isMarked(): Promise<boolean> {
      const { spec } = await cluster.read(instance.privateDnsName);
      return spec.taints?.some(({ key }) => key === SHUTDOWN_TAINT.key) ?? false;
    }

    async function isGone(): Promise<boolean> {
      const path = `/api/v1/nodes/${instance.privateDnsName}`;
      return (await (await cluster.transport("admin")).send({ method: "GET", path })).status === 404;
    }

    async function reasons(): Promise<readonly unknown[]> {
      return (await cluster.events(node)).map(({ reason }) => reason);
    }

    async function since(): Promise<readonly RequestRecord[]> {
      return (await plane.record()).slice(recordedBefore);
    }
  },
);

function deletersOf(records: readonly RequestRecord[]): readonly string[] {
  const deletions = records.filter(({ verb, user }) => verb === "delete" && OUR_USERS.includes(user));
  return [...new Set(deletions.map(({ user }) => user))];
}

function isRefused(right: string): (record: RequestRecord) => boolean {
  return ({ user, verb, resource, code }) => user === USER && code === 403 && right === `${verb} ${resource}`;
}
