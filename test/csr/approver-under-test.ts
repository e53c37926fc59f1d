import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createInProcessInvoker } from "#cli/run/in-process-functions.ts";
import { loadCloud } from "#clouds/providers.ts";
import { Cluster } from "#config/cluster.ts";
import { KUBELET_SERVING_SIGNER } from "#core/csr/csr.ts";
import { csrWatch } from "#core/csr/watch.ts";
import { Event, MAX_BATCH_OBJECTS } from "#core/event.ts";
import { parseJson } from "#core/parse-json.ts";
import { type ObjectReport, Report } from "#core/report.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import type { InstanceSpec } from "#emulators/ec2/instance-spec.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import type { RequestRecord } from "#emulators/harness/control-plane.ts";
import {
  type ControlPlaneBinaries,
  OUR_MANIFESTS,
  startKubeApiserver,
  WRITES_RELAY,
} from "#emulators/harness/kube-apiserver.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { csrController } from "#functions/parts/csr-controller.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { createWritingInvoker } from "#relay/delivery/writing-invoker.ts";
import { ask, askForJson } from "#test/ask.ts";
import { createImpersonator } from "#test/csr/impersonated.ts";
import { toBase64 } from "#test/csr/signing-request.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

const CONTEXT = { labelPrefixes: [], settings: DEFAULT_SETTINGS };

/** A CertificateSigningRequest in the API server, and the status code of its creation. */
export interface Answered {
  readonly code: number;
  readonly message?: string;
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

/**
 * The csr-approver's function with a real API server and an embedded EC2; kubelets sign in with their own
 * certificates.
 */
export interface ApproverUnderTest {
  readonly cluster: ClusterUnderTest;
  readonly ec2: Ec2Server;
  /**
   * Creates an instance in the cluster's VPC, and a node with its private DNS name unless `joins` is false.
   */
  node(spec?: InstanceSpec, options?: { readonly joins?: boolean }): Promise<NodeUnderTest>;
  join(node: NodeUnderTest): Promise<void>;
  /** Submits a request as the node itself, or as another user. */
  submit(
    nodeName: string,
    pem: string,
    difference?: Readonly<Record<string, unknown>>,
    as?: SubmittedAs,
  ): Promise<Answered>;
  /** Handles everything that is pending once, in batches, as the relay sends it. */
  pass(): Promise<readonly Report[]>;
  /** Sends these objects in one event, whether or not they are in the cluster. */
  invoke(objects: readonly unknown[]): Promise<Report>;
  /** Handles everything that is pending once, and returns the report about one request. */
  passOver(request: Answered): Promise<ObjectReport | undefined>;
  read(request: Answered): Promise<Answered>;
  /** Returns the conditions of a request, by type and reason. */
  conditions(request: Answered): Promise<readonly string[]>;
  /** Returns the Events on a node. */
  events(nodeName: string): Promise<readonly { readonly reason: string; readonly message: string }[]>;
  /** Returns the Events on the request itself. */
  eventsOnRequest(
    request: Answered,
  ): Promise<readonly { readonly reason: string; readonly message: string }[]>;
  /** Returns our functions' requests to the API server since the last call. */
  requests(): Promise<readonly string[]>;
  /**
   * Stops the clock until requests are cleared, so that Events limited to one in ten minutes stay in the same
   * ten minutes.
   */
  stopTheClock(): void;
  /** Deletes every request, and the Events on them. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** By default with a certificate of the node's own. */
export type SubmittedAs = "admin" | "impersonated";

export interface NodeUnderTest {
  readonly name: string;
  readonly id: string;
  readonly ip: string;
  readonly providerID: string;
}

export const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

const MANIFESTS = [
  ...OUR_MANIFESTS,
  fileURLToPath(new URL("../../infra/rbac/csr-approver", import.meta.url)),
];

/**
 * Starts the approver; AWS's credentials must be in the environment. If the relay writes, the function cannot
 * reach the API server.
 */
export async function startApprover(
  binaries: ControlPlaneBinaries,
  writes: Cluster["writes"] = "function",
): Promise<ApproverUnderTest> {
  const authority = await createCertificateAuthority({ name: "kubelets" });
  const cluster = await startCluster(async (folder) => {
    await mkdir(folder, { recursive: true });
    const file = `${folder}/kubelets.crt`;
    await writeFile(file, authority.certificate);
    return startKubeApiserver({
      folder,
      binaries,
      manifests: [...MANIFESTS, ...(writes === "relay" ? [WRITES_RELAY] : [])],
      flags: [
        `--client-ca-file=${file}`,
        "--authorization-mode=Node",
        "--enable-admission-plugins=NodeRestriction",
      ],
    });
  });
  const ec2 = await startEc2();
  process.env["AWS_ENDPOINT_URL_EC2"] = ec2.url;
  const entry = Cluster.parse({
    name: "tenant-a",
    server: cluster.plane.server,
    cloud: { provider: "aws", region: ec2.region, vpc: DEFAULT_VPC_ID },
    controllers: [csrController.name],
    writes,
  });
  const cloud = await loadCloud(entry.cloud, { clusterName: entry.name });
  const admin = await cluster.transport("admin");
  const relay = await cluster.transport("relay");
  const api = await cluster.transport("csr");
  const impersonator = await createImpersonator(cluster.plane);
  const kubelets = new Map<string, Transport>();
  let stoppedAt: Date | undefined;
  const invoked = createControllerFunction(csrController, {
    clusters: async () => entry,
    cloud: async () => cloud,
    api: () => (writes === "relay" ? Promise.reject(new Error("no route to host")) : Promise.resolve(api)),
    now: () => stoppedAt ?? new Date(),
  });

  async function kubelet(nodeName: string): Promise<Transport> {
    const known = kubelets.get(nodeName);
    if (known !== undefined) return known;
    const pair = await authority.issueClient({ name: `system:node:${nodeName}`, groups: ["system:nodes"] });
    const certificateAuthority = await readFile(cluster.plane.certificateAuthorityFile, "utf8");
    const transport = connect({
      server: cluster.plane.server,
      tls: async () => ({ certificateAuthority, clientCertificate: pair }),
    });
    kubelets.set(nodeName, transport);
    return transport;
  }

  async function post(body: object, nodeName: string, as: SubmittedAs | undefined) {
    if (as === "impersonated") {
      return impersonator.post(CSRS, body, `system:node:${nodeName}`, "system:nodes");
    }
    const transport = as === "admin" ? admin : await kubelet(nodeName);
    return transport.send({ method: "POST", path: CSRS, body });
  }

  async function list(path: string): Promise<readonly unknown[]> {
    return ((await askForJson(relay, { method: "GET", path })) as { items: readonly unknown[] }).items;
  }

  /** Returns the nodes that these requests need, as the relay has them. */
  async function relatedTo(objects: readonly unknown[]): Promise<readonly unknown[]> {
    const [related] = csrWatch.related;
    const parsed = objects.map((object) => csrWatch.parse(object));
    const reads = new Set(
      parsed.flatMap((each) => (each.kind === "object" ? (related?.reads(each.object) ?? []) : [])),
    );
    const nodes = await Promise.all(
      [...reads].map((name) => admin.send({ method: "GET", path: `/api/v1/nodes/${name}` })),
    );
    return nodes.flatMap(({ status, body }) => (status === 200 ? [related?.project(parseJson(body))] : []));
  }

  async function invoke(objects: readonly unknown[]): Promise<Report> {
    const items = await relatedTo(objects);
    const event = {
      version: 1,
      id: "event-1",
      cluster: entry.name,
      clusterHash: entry.hash,
      controller: csrController.name,
      reason: "watch",
      objects,
      related: { nodes: { resourceVersion: "1", items } },
      budget: { share: 1 },
    };
    if (writes === "relay") return throughRelay(Event.parse(event));
    const context = { awsRequestId: "request-1", getRemainingTimeInMillis: () => 60_000 };
    return Report.parse(
      JSON.parse(JSON.stringify(await invoked(JSON.parse(JSON.stringify(event)), context))),
    );
  }

  async function throughRelay(event: Event): Promise<Report> {
    const invoker = createInProcessInvoker(new Map([[csrController.name, invoked]]), 60_000);
    const writing = createWritingInvoker({ cluster: entry, transport: relay, invoker, clock: systemClock });
    const invocation = await writing.invoke(event, new AbortController().signal);
    if (invocation.kind === "failed") throw new Error(`${invocation.code}: ${invocation.message}`);
    return invocation.report;
  }

  async function pass(): Promise<readonly Report[]> {
    const pending = (await list(CSRS)).flatMap((item) => {
      const parsed = csrWatch.parse(item);
      if (parsed.kind !== "object" || !csrWatch.needsWork(parsed.object, CONTEXT)) return [];
      return [csrWatch.snapshot(parsed.object, CONTEXT)];
    });
    const reports: Report[] = [];
    for (let start = 0; start < pending.length; start += MAX_BATCH_OBJECTS) {
      reports.push(await invoke(pending.slice(start, start + MAX_BATCH_OBJECTS)));
    }
    return reports;
  }

  const read = async ({ metadata }: Answered): Promise<Answered> =>
    (await askForJson(admin, { method: "GET", path: `${CSRS}/${metadata.name}` })) as Answered;

  let recordsSeen = 0;
  let names = 0;
  return {
    cluster,
    ec2,
    async node(spec = {}, { joins = true } = {}) {
      const instance = ec2.addInstance(spec);
      const node: NodeUnderTest = {
        name: instance.privateDnsName,
        id: instance.id,
        ip: instance.networkInterfaces[0]?.privateIpAddresses[0] ?? "",
        providerID: `aws:///${instance.availabilityZone}/${instance.id}`,
      };
      if (joins) await cluster.join({ name: node.name, providerID: node.providerID });
      return node;
    },
    async join({ name, providerID }) {
      await cluster.join({ name, providerID });
    },
    async submit(nodeName, pem, difference = {}, as) {
      names += 1;
      const object = {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name: `csr-${names}` },
        spec: {
          signerName: KUBELET_SERVING_SIGNER,
          usages: ["digital signature", "server auth"],
          request: toBase64(pem),
          ...difference,
        },
      };
      const { status, body } = await post(object, nodeName, as);
      return { ...(parseJson(body) as Answered), code: status };
    },
    pass,
    invoke,
    async passOver({ metadata }) {
      const reports = await pass();
      return reports.flatMap(({ objects }) => objects).find(({ uid }) => uid === metadata.uid);
    },
    read,
    async conditions(request) {
      const { status } = await read(request);
      return (status?.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`);
    },
    events: async (nodeName) => (await cluster.events(await cluster.read(nodeName))).map(asRead),
    eventsOnRequest: async (request) => (await cluster.events(request)).map(asRead),
    async requests() {
      const records = await cluster.plane.record();
      const since = records.slice(recordsSeen);
      recordsSeen = records.length;
      return since.filter(({ user }) => user === "serverless-ccm-csr").map(describe);
    },
    stopTheClock() {
      stoppedAt = new Date();
    },
    async clear() {
      stoppedAt = undefined;
      // Up to 10,000 may exist.
      await ask(admin, {
        method: "DELETE",
        path: CSRS,
        timeoutMs: 120_000,
        maxBytes: 256 * 1024 * 1024,
        maxValues: 50_000_000,
      });
      // Events on requests share a thousand names, so another request may have had the name before.
      await ask(admin, { method: "DELETE", path: "/api/v1/namespaces/default/events" });
    },
    async close() {
      await Promise.all([...kubelets.values()].map((transport) => transport.close()));
      impersonator.close();
      await cloud.close();
      await ec2.close();
      await cluster.close();
    },
  };
}

function asRead(event: Readonly<Record<string, unknown>>): {
  readonly reason: string;
  readonly message: string;
} {
  return { reason: String(event["reason"]), message: String(event["message"]) };
}

function describe({ verb, resource, subresource, code }: RequestRecord): string {
  return `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`} ${code}`;
}
