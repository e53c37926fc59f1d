import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import { INSTANCE_ANNOTATION, REGION_LABELS } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { nodeLifecycleController } from "#core/node-lifecycle/controller.ts";
import { STATE } from "#core/node-lifecycle/state.ts";
import type { Report } from "#core/report.ts";
import { formatCreationPath, formatObjectPath } from "#core/resources/resource.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { ADMISSION_POLICIES, OUR_MANIFESTS, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const HOME = { account: "123456789012", region: "eu-central-1", vpc: "vpc-00000000000000aaa" };
const TAGS = { "kubernetes.io/cluster/demo": "owned" };
const START_MS = Date.now();
/** The brake alone would let a fifth of them go. */
const NODES = 20;

interface Accident {
  readonly title: string;
  /** Where the function looks. Instances with the cluster's tag are there, too. */
  readonly account?: string;
  readonly region?: string;
  readonly settings?: object;
  /** The nodes carry no annotation: the stock controller initialized them. */
  readonly unseen?: boolean;
}

const ACCIDENTS: readonly Accident[] = [
  { title: "the role of another account is assumed", account: "210987654321" },
  { title: "another region is configured", region: "eu-west-1" },
  {
    title: "another region is configured, and nodes go that were never seen with an instance",
    region: "eu-west-1",
    unseen: true,
    settings: { deletion: { unseen: true } },
  },
];

/** Tests deletion with AWS's code on an EC2 with instances of the same tag in two places. */
function describeWrongPlace(title: string, start: (folder: string) => Promise<ControlPlane>): void {
  describe(`living nodes on ${title}`, () => {
    let cluster: ClusterUnderTest;
    let admin: Transport;
    let lifecycle: Transport;
    const endpoints: Ec2Server[] = [];

    beforeAll(async () => {
      vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
      vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
      vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
      cluster = await startCluster(start);
      admin = await cluster.transport("admin");
      lifecycle = await cluster.transport("node-lifecycle");
    });
    afterAll(async () => {
      vi.unstubAllEnvs();
      for (const each of endpoints) await each.close();
      await cluster?.close();
    });
    beforeEach(async () => {
      for (const { metadata } of await nodes()) await cluster.remove(metadata.name);
      await send("DELETE", formatObjectPath(STATE, STATE.at));
      const manifest = await readFile(new URL("../../infra/state/config-map.yaml", import.meta.url), "utf8");
      expect(
        (await send("POST", formatCreationPath(STATE, STATE.at.namespace), parse(manifest))).status,
      ).toBe(201);
    });

    const send = async (method: ApiRequest["method"], path: string, body?: unknown) => {
      const answer = await admin.send({ method, path, ...(body === undefined ? {} : { body }) });
      return { status: answer.status, body: JSON.parse(answer.body) as Record<string, unknown> };
    };
    const nodes = async (): Promise<readonly Node[]> =>
      ((await send("GET", "/api/v1/nodes")).body as { items: readonly Node[] }).items;

    async function place({ account, region }: Pick<Accident, "account" | "region"> = {}): Promise<Ec2Server> {
      const ec2 = await startEc2({ account: account ?? HOME.account, region: region ?? HOME.region });
      endpoints.push(ec2);
      return ec2;
    }

    /** Creates nodes with a running instance each, whose kubelets have been silent for an hour. */
    async function silent(ec2: Ec2Server, unseen = false): Promise<readonly Node[]> {
      const instances = ec2.addInstances(
        Array.from({ length: NODES }, () => ({ vpcId: HOME.vpc, tags: TAGS })),
      );
      return Promise.all(
        instances.map(async ({ id, availabilityZone, privateDnsName: name }) => {
          const providerID = `aws:///${availabilityZone}/${id}`;
          const joining = buildJoiningNode({ name, providerID }) as unknown as Node;
          const annotations = unseen ? {} : { [INSTANCE_ANNOTATION]: `${HOME.account}/${HOME.vpc}/${id}` };
          const body = {
            ...joining,
            metadata: {
              ...joining.metadata,
              annotations,
              labels: { ...joining.metadata.labels, [REGION_LABELS.stable]: HOME.region },
            },
            spec: { ...joining.spec, taints: undefined },
            status: {
              ...joining.status,
              conditions: [{ type: "Ready", status: "Unknown", lastTransitionTime: hourAgo() }],
            },
          };
          expect((await send("POST", "/api/v1/nodes", body)).status).toBe(201);
          return cluster.read(name);
        }),
      );
    }

    /** One pass over all nodes, as a new process would make it. */
    async function pass(
      ec2: Ec2Server,
      { account = HOME.account, region = HOME.region, settings = {} }: Partial<Accident>,
      atSeconds: number,
    ): Promise<Report> {
      const entry = Cluster.parse({
        name: "demo",
        server: "https://127.0.0.1",
        cloud: {
          provider: "aws",
          region,
          clusterTag: "demo",
          roleArn: `arn:aws:iam::${account}:role/ccm`,
        },
        nodes: settings,
      });
      if (entry.cloud.provider !== "aws") throw new Error("not AWS");
      vi.stubEnv("AWS_ENDPOINT_URL_EC2", ec2.url);
      vi.stubEnv("AWS_ENDPOINT_URL_STS", ec2.url);
      const cloud = createAwsCloud(entry.cloud as Parameters<typeof createAwsCloud>[0], {
        clusterName: "demo",
      });
      const run = createControllerFunction(nodeLifecycleController, {
        clusters: async () => entry,
        cloud: async () => cloud,
        api: async () => lifecycle,
        now: () => new Date(START_MS + atSeconds * 1_000),
      });
      const event = {
        version: 1,
        id: "event-1",
        cluster: "demo",
        clusterHash: entry.hash,
        controller: nodeLifecycleController.name,
        reason: "monitor",
        objects: await nodes(),
      };
      try {
        return await run(JSON.parse(JSON.stringify(event)), {
          awsRequestId: "1",
          getRemainingTimeInMillis: () => 30_000,
        });
      } finally {
        await cloud.close();
      }
    }

    const codesOf = ({ objects }: Report): string[] => [
      ...new Set(objects.map(({ because }) => because.code)),
    ];

    test.each(ACCIDENTS)("survive where $title", async ({ unseen = false, ...accident }) => {
      const home = await place();
      const elsewhere = await place(accident);
      elsewhere.addInstances(
        // Ids are made from the index, and differ from those of the cluster's own.
        Array.from({ length: NODES }, (_, index) => ({
          index: 1_000 + index,
          vpcId: "vpc-00000000000000bbb",
          tags: TAGS,
        })),
      );
      const living = await silent(home, unseen);
      const codes: string[] = [];
      for (const seconds of [0, 40, 80, 1_200])
        codes.push(...codesOf(await pass(elsewhere, accident, seconds)));
      expect((await nodes()).length).toBe(NODES);
      expect([...new Set(codes)]).toEqual(["DeletionUnproven"]);
      const [first] = living;
      expect(first === undefined ? [] : await cluster.events(first)).toContainEqual(
        expect.objectContaining({ reason: "DeletionUnproven", type: "Warning" }),
      );
    });

    test.each([false, true])(
      "stay, and only the node whose instance is gone is deleted (never seen: %s)",
      async (unseen) => {
        const home = await place();
        const all = await silent(home, unseen);
        const [gone] = all;
        home.remove(gone?.spec.providerID?.split("/").at(-1) ?? "");
        const right = { settings: { deletion: { unseen } } };
        for (const seconds of [0, 40]) await pass(home, right, seconds);
        const left = (await nodes()).map(({ metadata }) => metadata.name).toSorted();
        expect(left).toEqual(
          all
            .slice(1)
            .map(({ metadata }) => metadata.name)
            .toSorted(),
        );
      },
    );
  });
}

function hourAgo(): string {
  return `${new Date(START_MS - 3_600_000).toISOString().slice(0, 19)}Z`;
}

describeWrongPlace("the embedded API server", (folder) => startEmbeddedControlPlane({ folder }));

describeWithPart("control-plane", "a real control plane", (binaries) => {
  const manifests = [...OUR_MANIFESTS, ADMISSION_POLICIES];
  describeWrongPlace("kube-apiserver", (folder) => startKubeApiserver({ folder, binaries, manifests }));
});
