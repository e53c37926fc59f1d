import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  DescribeInstancesCommand,
  DescribeRouteTablesCommand,
  TerminateInstancesCommand,
} from "@aws-sdk/client-ec2";
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { Cluster } from "#config/cluster.ts";
import { WATCHES } from "#core/controllers.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { type FunctionPlatform, startFunctionPlatform } from "#emulators/harness/function-platform.ts";
import { derivePublicKey, signCluster } from "#functions/parts/cluster-signature.ts";
import { askForJson } from "#test/ask.ts";
import { makeFunctionProject } from "#test/build/function-project.ts";
import { type Clients, createClients, REGION } from "#test/clouds/aws/moto/clients.ts";
import { makeNetwork, type Network } from "#test/clouds/aws/moto/make-network.ts";
import { type MendedMoto, startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import { createSigningRequest } from "#test/csr/signing-request.ts";
import { getSigningKey } from "#test/functions/admission/review-builders.ts";
import { buildAuditEvent, buildEventList } from "#test/functions/audit/event-builders.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { ROOT } from "../../build/bundle.ts";

interface NodeList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

const TAG = "zips";
/**
 * The platform's functions have ARNs without an account; this one proves that events belong to the clusters'
 * account.
 */
const ROLE = "arn:aws:iam::123456789012:role/ccm";
const SIGNING_KEY = getSigningKey();
const POD_CIDR = "100.64.1.0/24";
const WAIT = { timeout: 90_000, interval: 1_000 };

describeWithPart("moto", "the zip of every function, invoked on the platform", (program) => {
  let folder: string;
  let moto: MendedMoto;
  let aws: Clients;
  let network: Network;
  let instances: string[];
  let cluster: ClusterUnderTest;
  let platform: FunctionPlatform;
  let lambda: LambdaClient;
  let hash: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "zips-"));
    moto = await startMendedMoto(program);
    aws = createClients(moto.url);
    network = await makeNetwork(aws.ec2, { clusterTag: TAG });
    instances = await network.launch(2);
    cluster = await startCluster((of) => startEmbeddedControlPlane({ folder: of }));
    const file = join(folder, "clusters.yaml");
    const entry = buildClusterEntry(cluster.plane, {
      name: "tenant-a",
      cloud: { provider: "aws", region: REGION, vpc: network.vpc, clusterTag: TAG, roleArn: ROLE },
      controllers: WATCHES.flatMap(({ name, enablement }) =>
        enablement?.companionOf === undefined ? [name] : [],
      ),
      routes: { clusterCIDRs: ["100.64.0.0/10"] },
      tagging: { tags: { team: "a" } },
    });
    await writeClustersFile(file, entry);
    hash = Cluster.parse(entry).hash;
    const project = join(folder, "project");
    await makeFunctionProject(project);
    const port = await findFreePort();
    const endpoint = `http://127.0.0.1:${port}`;
    const environment = {
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_ENDPOINT_URL: moto.url,
      AWS_ENDPOINT_URL_STS: moto.motoUrl,
      AWS_ENDPOINT_URL_LAMBDA: endpoint,
      CLUSTERS_FILE: file,
    };
    const parameters = {
      controllers: "node,node-lifecycle,csr,service,route,tagging,audit",
      auditPublicKeys: derivePublicKey(SIGNING_KEY),
    };
    platform = await startFunctionPlatform({
      ...{ project, port, environment, parameters },
      folder: join(folder, "platform"),
    });
    const credentials = { accessKeyId: "test", secretAccessKey: "test" };
    lambda = new LambdaClient({ endpoint, region: REGION, credentials, maxAttempts: 1 });
  });
  afterAll(async () => {
    lambda?.destroy();
    await platform?.close();
    await cluster?.close();
    aws?.close();
    await moto?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  test("sweep invokes node, tagging, route and service for the pending work", async () => {
    for (const [index, id] of instances.entries()) {
      const providerID = `aws:///${REGION}a/${id}`;
      await cluster.join({ name: `node-${index}`, providerID });
    }
    await cluster.patch("node-0", [
      { op: "add", path: "/spec/podCIDR", value: POD_CIDR },
      { op: "add", path: "/spec/podCIDRs", value: [POD_CIDR] },
    ]);
    const services = "/api/v1/namespaces/default/services";
    await ask("POST", services, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { type: "LoadBalancer", ports: [{ port: 80, nodePort: 30_080, protocol: "TCP" }] },
    });
    await vi.waitFor(async () => {
      expect(await invoke("sweep", {})).toMatchObject({ result: { clusters: 1 }, error: undefined });
      for (const name of ["node-0", "node-1"]) expect(isUninitialized(await cluster.read(name))).toBe(false);
      expect(await tagsOf(instances[0])).toMatchObject({ team: "a" });
      expect(await routes()).toContain(POD_CIDR);
      const service = await ask("GET", `${services}/web`);
      expect(service).toMatchObject({
        status: { loadBalancer: { ingress: [{ hostname: expect.any(String) }] } },
      });
    }, WAIT);
  });

  test("csr decides on a request that its own parser has read", async () => {
    const pem = await createSigningRequest("node-0");
    const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const request = (await ask("POST", requests, {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: "serving" },
      spec: {
        signerName: "kubernetes.io/kubelet-serving",
        usages: ["digital signature", "server auth"],
        request: Buffer.from(pem).toString("base64"),
      },
    })) as { readonly spec: object };
    // The embedded API server has no kubelet that could sign in: the event names the requesting user.
    const spec = {
      ...request.spec,
      username: "system:node:node-0",
      groups: ["system:nodes", "system:authenticated"],
    };
    const { metadata, items } = (await ask("GET", "/api/v1/nodes")) as NodeList;
    const { result, error } = await invoke("csr", {
      version: 1,
      id: "event-1",
      cluster: "tenant-a",
      clusterHash: hash,
      controller: "csr-approver",
      reason: "watch",
      objects: [{ ...request, spec }],
      related: { nodes: { resourceVersion: metadata.resourceVersion, items } },
    });
    expect(error).toBeUndefined();
    expect(result).toMatchObject({ objects: [{ name: "serving", outcome: "changed" }] });
    expect(await ask("GET", `${requests}/serving`)).toMatchObject({
      status: { conditions: [{ type: "Approved" }] },
    });
  });

  test("audit has a reported node initialized, and nothing for another cluster's token", async () => {
    const [id] = await network.launch(1);
    await cluster.join({ name: "node-reported", providerID: `aws:///${REGION}a/${id}` });
    const report = (tokenOf: string): unknown => ({
      ...{ version: "2.0", rawPath: "/audit/tenant-a", requestContext: { http: { method: "POST" } } },
      headers: { authorization: `Bearer ${signCluster("audit", tokenOf, SIGNING_KEY)}` },
      body: buildEventList([buildAuditEvent("create", { resource: "nodes", name: "node-reported" })]),
    });
    expect(await invoke("audit", report("tenant-b"))).toMatchObject({ result: { statusCode: 401 } });
    expect(isUninitialized(await cluster.read("node-reported"))).toBe(true);
    expect(await invoke("audit", report("tenant-a"))).toMatchObject({
      ...{ result: { statusCode: 200 }, error: undefined },
    });
    expect(isUninitialized(await cluster.read("node-reported"))).toBe(false);
    await cluster.remove("node-reported");
  });

  test("ec2-events has node-lifecycle delete the node of a terminated instance", async () => {
    const [, instance = ""] = instances;
    const state = parse(await readFile(join(ROOT, "infra/state/config-map.yaml"), "utf8"));
    await ask("POST", "/api/v1/namespaces/kube-system/configmaps", state);
    await aws.ec2.send(new TerminateInstancesCommand({ InstanceIds: [instance] }));
    const told = {
      source: "aws.ec2",
      "detail-type": "EC2 Instance State-change Notification",
      account: "123456789012",
      region: REGION,
      detail: { "instance-id": instance, state: "terminated" },
    };
    await vi.waitFor(async () => {
      const { result, error } = await invoke("ec2-events", told);
      expect({ result, error }).toMatchObject({ result: { clusters: 1 }, error: undefined });
      const { items } = (await ask("GET", "/api/v1/nodes")) as NodeList;
      expect(items.map(({ metadata: { name } }) => name)).toEqual(["node-0"]);
    }, WAIT);
  });

  async function ask(method: "GET" | "POST", path: string, body?: unknown): Promise<unknown> {
    const admin = await cluster.transport("admin");
    return askForJson(admin, { method, path, ...(body === undefined ? {} : { body }) });
  }

  async function tagsOf(instance = ""): Promise<Readonly<Record<string, string>>> {
    const { Reservations: [reservation] = [] } = await aws.ec2.send(
      new DescribeInstancesCommand({ InstanceIds: [instance] }),
    );
    const tags = reservation?.Instances?.[0]?.Tags ?? [];
    return Object.fromEntries(tags.map(({ Key = "", Value = "" }) => [Key, Value]));
  }

  async function routes(): Promise<readonly (string | undefined)[]> {
    const { RouteTables = [] } = await aws.ec2.send(
      new DescribeRouteTablesCommand({ RouteTableIds: [network.routeTable] }),
    );
    return RouteTables.flatMap(({ Routes = [] }) => Routes.map((route) => route.DestinationCidrBlock));
  }

  async function invoke(
    name: string,
    payload: unknown,
  ): Promise<{ readonly result: unknown; readonly error: string | undefined }> {
    const { Payload, FunctionError: error } = await lambda.send(
      new InvokeCommand({
        FunctionName: `serverless-ccm-dev-${name}`,
        Payload: Buffer.from(JSON.stringify(payload)),
      }),
    );
    return { result: JSON.parse(Buffer.from(Payload ?? []).toString("utf8") || "null"), error };
  }
});
