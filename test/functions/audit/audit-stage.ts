import { generateKeyPairSync } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type RequestOptions, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { printAuditWebhook } from "#cli/infra/audit-webhook.ts";
import { keepForFunctions } from "#cli/run/function-resources.ts";
import { createInProcessFunctions } from "#cli/run/in-process-functions.ts";
import { createMemoryCloud, type MemoryInstance, type MemoryInstances } from "#clouds/memory/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import type { Event } from "#core/event.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import type { KubeApiserverOptions } from "#emulators/harness/kube-apiserver.ts";
import { PROJECT_FOLDER } from "#emulators/harness/project-folder.ts";
import { type FunctionUrl, startFunctionUrl } from "#emulators/lambda/function-url.ts";
import { type AuditDependencies, createAuditFunction } from "#functions/parts/audit/audit-function.ts";
import {
  createVerifySignature,
  derivePublicKey,
  parsePublicKeys,
} from "#functions/parts/cluster-signature.ts";
import type { LogLine } from "#functions/parts/log-report.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { toMinute } from "#sweep/select.ts";
import { type ClusterSweep, createSweepTurns, sweepCluster } from "#sweep/sweep-cluster.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

export const CLUSTER_NAME = "blue";

/** Milliseconds of each call to the cloud. */
const CLOUD_LATENCY_MS = 60;

/** Lambda's limit for the deployed function. */
const TIMEOUT_MS = 28_000;

/** The controllers of the cluster, all but those for clouds with routes and tags. */
const CONTROLLERS = [
  "cloud-node-controller",
  "cloud-node-lifecycle-controller",
  "service-lb-controller",
  "csr-approver",
];

/** The manifests of the optional controllers. */
const OPTIONAL_MANIFESTS = ["csr-approver", "service-lb-controller"].map((name) =>
  join(PROJECT_FOLDER, "infra/rbac", name),
);

/** An API server, the function `audit` behind its URL, and the other functions in this process. No relay. */
export interface AuditStage {
  readonly cluster: ClusterUnderTest;
  readonly admin: Transport;
  readonly url: FunctionUrl;
  /** Whether the function signs in to the cluster. */
  canSignIn: boolean;
  /** What the functions were sent. */
  readonly events: readonly Event[];
  readonly lines: readonly LogLine[];
  /** The token that the operator signed for a cluster. */
  sign(cluster: string): Promise<string>;
  /** Sends a list of events by hand, and returns the status. */
  report(list: string, token: string): Promise<number>;
  /** Creates instances, and registers their nodes at once. */
  join(names: readonly string[]): Promise<void>;
  /** Returns the nodes that still wait. */
  waiting(): Promise<readonly string[]>;
  /** Sweeps the cluster once, as every minute. */
  sweep(): Promise<ClusterSweep>;
  close(): Promise<void>;
}

/** What the API server is started with: files and flags for its webhook. */
export type StartPlane = (
  options: Pick<KubeApiserverOptions, "folder" | "flags" | "manifests">,
) => Promise<ControlPlane>;

/** Starts the stage with the files that the command prints. `controllers` are the cluster's. */
export async function startAuditStage(
  start: StartPlane,
  manifests: readonly string[] = [],
  controllers: readonly string[] = CONTROLLERS,
): Promise<AuditStage> {
  const folder = await mkdtemp(join(tmpdir(), "audit-"));
  const key = generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  const signingKey = join(folder, "key.pem");
  await writeFile(signingKey, key, { mode: 0o600 });
  const authority = await createCertificateAuthority();
  const certificateAuthority = join(folder, "url.crt");
  await writeFile(certificateAuthority, authority.certificate);

  const events: Event[] = [];
  const lines: LogLine[] = [];
  const memory: MemoryInstances = { instances: new Map(), latencyMs: CLOUD_LATENCY_MS };
  const cloud = createMemoryCloud(memory);
  let entry: Cluster | undefined;
  const kept = keepForFunctions((_, role) => connectAs(role));
  const functions = createInProcessFunctions({
    clusters: async () => entry,
    api: kept.api,
    cloud: async () => cloud,
    log: (line) => void lines.push(line),
  });
  const keys = parsePublicKeys(derivePublicKey(key));
  const world: AuditDependencies = {
    verify: createVerifySignature("audit", keys.kind === "keys" ? keys.keys : []),
    cluster: async (name) => (name === CLUSTER_NAME ? entry : undefined),
    api(cluster) {
      if (!stage.canSignIn) return Promise.reject(new Error("no token"));
      return kept.api(cluster, "audit");
    },
    invoker: {
      invoke(event, signal) {
        events.push(event);
        return functions.invoke(event, signal);
      },
    },
    ...{ clock: systemClock, random: Math.random, identity: "audit-test" },
    turns: createSweepTurns(systemClock),
    log: (line) => void lines.push(line),
  };
  const url = await startFunctionUrl({
    ...(await authority.issueServer()),
    handler: createAuditFunction(world),
    timeoutMs: TIMEOUT_MS,
  });
  const flags = { signingKey, publicKey: false, functionUrl: url.url, certificateAuthority };
  let printed = "";
  await printAuditWebhook(
    { ...flags, folder, clusterName: CLUSTER_NAME, controllers: controllers.join(",") },
    (text) => {
      printed += text;
    },
  );
  const cluster = await startCluster(async (home) => {
    await mkdir(home, { recursive: true });
    return start({
      folder: home,
      flags: printed.trimEnd().split("\n"),
      manifests: [...manifests, ...OPTIONAL_MANIFESTS],
    });
  });
  entry = Cluster.parse({
    ...{ name: CLUSTER_NAME, server: cluster.plane.server, controllers },
    cloud: { provider: "memory", instancesFile: "in-memory.json" },
  });
  const admin = await cluster.transport("admin");

  async function connectAs(role: SignInRole): Promise<Transport> {
    return cluster.transport(role as "audit");
  }

  const stage: AuditStage = {
    ...{ cluster, admin, url, events, lines, canSignIn: true },
    async sign(name) {
      let token = "";
      const named = { ...flags, clusterName: name, controllers: "*" };
      await printAuditWebhook(named, (text) => {
        token += /token: (\S+)/.exec(text)?.[1] ?? "";
      });
      return token;
    },
    report(list, token) {
      return post(`${url.url}audit/${CLUSTER_NAME}`, list, {
        ca: authority.certificate,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      });
    },
    async join(names) {
      for (const [index, name] of names.entries())
        memory.instances.set(name, buildInstance(name, memory.instances.size + index));
      await Promise.all(names.map((name) => cluster.join({ name })));
    },
    async waiting() {
      const { body } = await admin.send({ method: "GET", path: "/api/v1/nodes" });
      const { items } = JSON.parse(body) as { items: { metadata: { name: string }; spec: object }[] };
      return items.filter(isUninitialized).map(({ metadata }) => metadata.name);
    },
    sweep() {
      if (entry === undefined) throw new Error("the cluster is not started");
      const minute = toMinute(Date.now());
      const swept = { ...world, api: (each: Cluster) => kept.api(each, "sweep") };
      return sweepCluster(entry, swept, { minute, signal: AbortSignal.timeout(60_000) });
    },
    async close() {
      await cluster.close();
      await url.close();
      await kept.close();
      await rm(folder, { recursive: true });
    },
  };
  return stage;
}

/** Posts with Node's own client, because `fetch` takes no authority; returns the status. */
function post(url: string, body: string, options: RequestOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...options, method: "POST" }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", reject).end(body);
  });
}

/** Builds the instance of a node. */
export function buildInstance(name: string, index: number): MemoryInstance {
  const address = `10.${Math.floor(index / 62_500) + 1}.${Math.floor(index / 250) % 250}.${(index % 250) + 1}`;
  return {
    ...{ id: name, providerID: `memory:///zone-a/${name}`, state: "running", account: "a", network: "n" },
    ...{ type: "m.large", zone: "zone-a", region: "region-1", labels: {} },
    addresses: [
      { type: "InternalIP", address },
      { type: "Hostname", address: name },
    ],
  };
}
