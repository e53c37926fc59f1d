import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createMemoryCloud } from "#clouds/memory/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import { nodeController } from "#core/node/controller.ts";
import { Report } from "#core/report.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { createConnectionCache } from "#functions/parts/connection-cache.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { ask, askForJson } from "#test/ask.ts";
import { buildRunningInstance } from "#test/clouds/memory/running-instance.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import {
  AUDIENCE,
  EKS_CLUSTER,
  formatRoleArn,
  type SignInPlane,
  startSignInPlane,
  type WrittenSignIn,
} from "#test/sign-in/plane.ts";
import { OWN_KEYS } from "#test/sts/fake-sts.ts";

const REFUSED_ROLE = "arn:aws:iam::123456789012:role/not-ours";
const SECRET = "secret7a11";

describeWithPart(
  "control-plane",
  "clusters of which some cannot be signed in to, in one warm function",
  (binaries) => {
    let world: SignInPlane;
    let folder: string;
    let close: () => Promise<unknown>;
    const logged: unknown[] = [];
    const clusters = new Map<string, Cluster>();
    let invoke: (cluster: string) => Promise<Report["objects"][number] | undefined>;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "interleaved-"));
      world = await startSignInPlane(binaries);
      world.sts.refusedRoles.add(REFUSED_ROLE);
      vi.stubEnv("AWS_ACCESS_KEY_ID", OWN_KEYS.accessKeyId);
      vi.stubEnv("AWS_SECRET_ACCESS_KEY", OWN_KEYS.secretAccessKey);
      vi.stubEnv("AWS_REGION", "eu-central-1");
      vi.stubEnv("AWS_ENDPOINT_URL_STS", world.sts.url);
      const expired = `${SECRET}.${Buffer.from('{"exp":1700000000}').toString("base64url")}.${SECRET}`;
      await writeFile(join(folder, "expired"), expired);
      await writeFile(join(folder, "revoked"), SECRET);
      const roleArn = formatRoleArn("node");
      const ways: Record<string, WrittenSignIn> = {
        blue: { kind: "web-identity", audience: AUDIENCE, roleArn },
        green: { kind: "eks", clusterName: EKS_CLUSTER, roleArn },
        "wrong-audience": { kind: "web-identity", audience: "red.example", roleArn },
        "wrong-role": { kind: "web-identity", audience: AUDIENCE },
        "refused-role": { kind: "web-identity", audience: AUDIENCE, roleArn: REFUSED_ROLE },
        "wrong-eks-cluster": { kind: "eks", clusterName: "red-eks", roleArn },
        "expired-token": { kind: "token", from: { file: join(folder, "expired") } },
        "revoked-token": { kind: "token", from: { file: join(folder, "revoked") } },
      };
      for (const [name, node] of Object.entries(ways))
        clusters.set(name, world.cluster({ relay: node, node }, { name }));
      const kept = createConnectionCache({ role: "node", most: 10, answersAlone: true });
      const used = new Set<Cluster>();
      const instances = new Map();
      const node = createControllerFunction(nodeController, {
        clusters: async (name) => clusters.get(name),
        cloud: async () => createMemoryCloud({ instances }),
        api: async (cluster) => {
          used.add(cluster);
          return kept(cluster);
        },
        now: () => new Date(),
        log: (line) => logged.push(line),
      });
      close = () =>
        Promise.all(
          [...used].map(async (cluster) =>
            kept(cluster).then(
              (api) => api.close(),
              () => undefined,
            ),
          ),
        );
      let joined = 0;
      invoke = async (cluster) => {
        joined += 1;
        const name = `${cluster}-${joined}`;
        instances.set(name, buildRunningInstance(name, `10.0.0.${joined}`));
        await ask(world.admin, { method: "POST", path: "/api/v1/nodes", body: buildJoiningNode({ name }) });
        const object = await askForJson(world.admin, { method: "GET", path: `/api/v1/nodes/${name}` });
        const event = {
          version: 1,
          id: name,
          cluster,
          clusterHash: clusters.get(cluster)?.hash,
          controller: nodeController.name,
          reason: "watch",
          objects: [object],
        };
        const platform = { awsRequestId: name, getRemainingTimeInMillis: () => 20_000 };
        const report = Report.parse(await node(JSON.parse(JSON.stringify(event)), platform));
        logged.push(report);
        return report.objects[0];
      };
    });
    afterAll(async () => {
      await close?.();
      vi.unstubAllEnvs();
      await world?.close();
      await rm(folder, { recursive: true });
    });

    const API_401 = /401|Unauthorized/;
    test("each failing cluster reports its reason, and the others are not affected", async () => {
      const expected: [string, string, RegExp][] = [
        ["wrong-audience", "retry", API_401],
        ["wrong-role", "retry", API_401],
        ["wrong-eks-cluster", "retry", API_401],
        ["revoked-token", "retry", API_401],
        [
          "refused-role",
          "retry",
          /cluster refused-role, sign-in of the function node: web-identity: the role .*not-ours is refused by AWS/,
        ],
        [
          "expired-token",
          "retry",
          /cluster expired-token, sign-in of the function node: token: the token in the file .*expired has ended at 2023-/,
        ],
      ];
      for (let round = 0; round < 3; round += 1) {
        for (const [cluster, outcome, says] of expected) {
          for (const good of ["blue", "green"])
            expect(await invoke(good)).toMatchObject({ outcome: "changed" });
          const report = await invoke(cluster);
          expect(report, cluster).toMatchObject({ outcome });
          expect(JSON.stringify(report), cluster).toMatch(says);
        }
      }
    });

    test("requests a token once for each cluster, and never uses another's", async () => {
      const before = world.sts.calls("GetWebIdentityToken").length;
      await invoke("blue");
      await invoke("blue");
      expect(world.sts.calls("GetWebIdentityToken").length).toBe(before);
      expect(new Set(world.eks.reviews())).toContain("SignatureDoesNotMatch");
    });

    test("no report and no log line contains a credential", () => {
      const text = JSON.stringify(logged);
      expect(text).toContain("refused by AWS");
      for (const secret of [
        SECRET,
        OWN_KEYS.secretAccessKey,
        "eyJ",
        "k8s-aws-v1.",
        "secret-of-",
        "session-of-",
      ])
        expect(text).not.toContain(secret);
    });
  },
);
