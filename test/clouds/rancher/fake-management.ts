import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";

/** A Machine as the management cluster has it. */
export interface FakeMachine {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly namespace: string;
    readonly labels: Record<string, string>;
    deletionTimestamp?: string | null;
  };
  readonly spec: { clusterName: string; providerID?: string };
  status?: { phase: string; nodeRef?: { name: string; uid?: string } };
}

/** An answer in place of the right one; "hang" never answers. */
export type FakeAnswer =
  | "hang"
  | { readonly status: number; readonly body: string; readonly headers?: Record<string, string> };

/** A request as received. */
export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
}

/** Rancher's management server with its local cluster, as far as Cluster API Machines go. */
export interface FakeManagement {
  readonly url: string;
  readonly machines: FakeMachine[];
  readonly requests: FakeRequest[];
  /** The maximum items of a page, as a server may limit them. */
  pageSize: number;
  version: string;
  /** The accepted token. */
  token: string;
  /** Called before each answer; undefined continues. */
  fault: ((request: FakeRequest) => FakeAnswer | undefined) | undefined;
  add(traits?: MachineTraits): FakeMachine;
  remove(machine: FakeMachine): void;
  close(): Promise<void>;
}

export interface MachineTraits {
  readonly name?: string;
  readonly cluster?: string;
  readonly namespace?: string;
  /** The Machine's node; null if it has none yet. */
  readonly node?: { readonly name: string; readonly uid?: string } | null;
  readonly phase?: string;
}

export const CLUSTER = "blue";
export const NAMESPACE = "fleet-default";
export const TOKEN = "token-x7k2p:q9w8e7r6t5y4u3i2o1p0";

const GROUP = "/k8s/clusters/local/apis/cluster.x-k8s.io";

/** Starts the fake, which is strict: an undocumented request gets an error that no test expects. */
export async function startFakeManagement(tls?: {
  readonly key: string;
  readonly cert: string;
}): Promise<FakeManagement> {
  const machines: FakeMachine[] = [];
  const requests: FakeRequest[] = [];
  let count = 0;
  const fake = {
    machines,
    requests,
    pageSize: 500,
    version: "v1beta1",
    token: TOKEN,
    fault: undefined as FakeManagement["fault"],
    add({ name, cluster = CLUSTER, namespace = NAMESPACE, node, phase = "Running" }: MachineTraits = {}) {
      count += 1;
      const machine: FakeMachine = {
        metadata: {
          name: name ?? `${cluster}-pool1-abcde-${count}`,
          uid: randomUUID(),
          namespace,
          labels: { "cluster.x-k8s.io/cluster-name": cluster },
          deletionTimestamp: null,
        },
        spec: { clusterName: cluster },
        status: { phase, ...(node ? { nodeRef: node } : {}) },
      };
      machines.push(machine);
      return machine;
    },
    remove(machine: FakeMachine) {
      machines.splice(machines.indexOf(machine), 1);
    },
  };

  const handle = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const url = new URL(incoming.url ?? "/", "http://fake");
    const request: FakeRequest = {
      method: incoming.method ?? "",
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: incoming.headers,
    };
    requests.push(request);
    const answer = fake.fault?.(request) ?? answerTo(request);
    if (answer === "hang") return;
    outgoing.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
    outgoing.end(answer.body);
  };

  const answerTo = ({ method, path, query, headers }: FakeRequest): FakeAnswer => {
    if (headers.authorization !== `Bearer ${fake.token}`)
      return buildRancherError(401, "Unauthorized", "must authenticate");
    if (method !== "GET") return buildStatusAnswer(405, "MethodNotAllowed");
    if (path === GROUP) return buildJsonAnswer(200, groupOf(fake.version));
    const match = /^(.*)\/(v[a-z0-9]+)\/namespaces\/([^/]+)\/machines$/.exec(path);
    if (match?.[1] !== GROUP || match[2] !== fake.version) return buildStatusAnswer(404, "NotFound");
    return list(match[3] ?? "", query);
  };

  const list = (namespace: string, query: FakeRequest["query"]): FakeAnswer => {
    const unknown = Object.keys(query).filter((key) => !["labelSelector", "limit", "continue"].includes(key));
    const { labelSelector } = query;
    const selector = /^cluster\.x-k8s\.io\/cluster-name=([a-z0-9.-]+)$/.exec(labelSelector ?? "");
    const limit = Number(query["limit"]);
    if (
      unknown.length > 0 ||
      (labelSelector !== undefined && selector === null) ||
      !Number.isInteger(limit) ||
      limit < 1
    )
      return buildStatusAnswer(400, "BadRequest");
    const all = machines.filter(
      ({ metadata }) =>
        metadata.namespace === namespace &&
        (selector === null || metadata.labels["cluster.x-k8s.io/cluster-name"] === selector[1]),
    );
    const from =
      query["continue"] === undefined ? 0 : Number(/^from-(\d+)$/.exec(query["continue"])?.[1] ?? "NaN");
    if (Number.isNaN(from)) return buildStatusAnswer(410, "Expired");
    const to = from + Math.min(limit, fake.pageSize);
    return buildJsonAnswer(200, {
      kind: "MachineList",
      apiVersion: `cluster.x-k8s.io/${fake.version}`,
      metadata: { resourceVersion: "4711", continue: to < all.length ? `from-${to}` : "" },
      items: all.slice(from, to),
    });
  };

  const server = tls === undefined ? createServer(handle) : createTlsServer(tls, handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(fake, {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** Builds an error in Kubernetes's format. */
export function buildStatusAnswer(
  status: number,
  reason: string,
  headers: Record<string, string> = {},
): FakeAnswer {
  return {
    status,
    headers,
    body: JSON.stringify({
      kind: "Status",
      apiVersion: "v1",
      status: "Failure",
      reason,
      message: `${reason} of the fake`,
      code: status,
    }),
  };
}

/** Builds an error in the format of Rancher's own server. */
export function buildRancherError(status: number, code: string, message: string): FakeAnswer {
  return { status, body: JSON.stringify({ type: "error", status: String(status), code, message }) };
}

export function buildJsonAnswer(status: number, body: unknown): FakeAnswer {
  return { status, body: JSON.stringify(body) };
}

function groupOf(version: string) {
  const served = { groupVersion: `cluster.x-k8s.io/${version}`, version };
  return {
    kind: "APIGroup",
    apiVersion: "v1",
    name: "cluster.x-k8s.io",
    versions: [served],
    preferredVersion: served,
  };
}
