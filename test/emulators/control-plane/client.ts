import { parseJson } from "#core/parse-json.ts";
import type { ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import type { ClusterUnderTest } from "#test/kube/apply/cluster-under-test.ts";

/** Returns the control plane of a suite, after its start. */
export type Running = () => ClusterUnderTest;

/** The fields of an answer that a suite reads: an object, a list or a Status. */
export interface Answered {
  readonly code: number;
  readonly kind: string;
  readonly apiVersion?: string;
  readonly metadata: AnsweredMetadata;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: unknown;
  readonly items?: readonly Answered[];
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly kind?: string;
    readonly uid?: string;
    readonly causes?: readonly {
      readonly field?: string;
      readonly message: string;
      readonly reason: string;
    }[];
    readonly retryAfterSeconds?: number;
  };
  readonly [field: string]: unknown;
}

interface AnsweredMetadata {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly continue?: string;
  readonly remainingItemCount?: number;
  readonly managedFields?: readonly {
    readonly manager: string;
    readonly subresource?: string;
    readonly fieldsV1: Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
  }[];
}

/** Sends one request as a user; returns its answer with the HTTP status as `code`. */
export async function ask(
  cluster: ClusterUnderTest,
  request: ApiRequest,
  user: keyof ControlPlaneUsers = "admin",
): Promise<Answered> {
  return parseAnswer(await (await getTransport(cluster, user)).send(request));
}

/** Returns the suite's only connection of a user; it survives restarts of the server. */
export function getTransport(
  cluster: ClusterUnderTest,
  user: keyof ControlPlaneUsers = "admin",
): Promise<Transport> {
  const known = transports.get(cluster) ?? new Map<keyof ControlPlaneUsers, Promise<Transport>>();
  const transport = known.get(user) ?? cluster.transport(user);
  transports.set(cluster, known.set(user, transport));
  return transport;
}

const transports = new WeakMap<ClusterUnderTest, Map<keyof ControlPlaneUsers, Promise<Transport>>>();

/** Parses the answer, with the HTTP status as `code`. */
export function parseAnswer({ status, body }: ApiResponse): Answered {
  return { ...(parseJson(body) as Answered), code: status };
}

let names = 0;

/** Returns a node name that no other row uses. */
export function createNodeName(prefix = "node"): string {
  names += 1;
  return `${prefix}-${names}`;
}

export const NODES = "/api/v1/nodes";

export const JSON_PATCH = "application/json-patch+json";
export const MERGE_PATCH = "application/merge-patch+json";
export const STRATEGIC_PATCH = "application/strategic-merge-patch+json";
export const METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** Creates a node with only these fields and its name. */
export async function createNode(
  cluster: ClusterUnderTest,
  fields: {
    readonly name?: string;
    readonly metadata?: Readonly<Record<string, unknown>>;
    readonly spec?: Readonly<Record<string, unknown>>;
    readonly status?: Readonly<Record<string, unknown>>;
  } = {},
): Promise<Answered> {
  const { name = createNodeName(), metadata, ...rest } = fields;
  const body = { apiVersion: "v1", kind: "Node", metadata: { name, ...metadata }, ...rest };
  const created = await ask(cluster, { method: "POST", path: NODES, body });
  if (created.code !== 201) throw new Error(`creating ${name}: ${created.code} ${created.message}`);
  return created;
}

export function getNode(cluster: ClusterUnderTest, name: string): Promise<Answered> {
  return ask(cluster, { method: "GET", path: `${NODES}/${name}` });
}

/** Patches a node, by default with a JSON patch as admin. */
export function patchNode(
  cluster: ClusterUnderTest,
  path: string,
  body: unknown,
  contentType = JSON_PATCH,
): Promise<Answered> {
  return ask(cluster, { method: "PATCH", path: `${NODES}/${path}`, body, contentType });
}
