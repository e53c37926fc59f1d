import { FIELD_MANAGER } from "#core/contracts.ts";
import type { ClusterWrite } from "#core/decision.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode } from "#core/node/snapshot.ts";
import { type Answer, classifyAnswer, classifyFailure, parseJson } from "#kube/client/answer.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";

/** Asks the server to answer with an object's metadata alone. */
export const METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** Sends one write: its precondition and its patch as one JSON patch, which holds or fails as a whole. */
export async function sendWrite(
  transport: Transport,
  write: ClusterWrite,
  signal: AbortSignal,
): Promise<Answer> {
  const subresource = write.subresource === undefined ? "" : `/${write.subresource}`;
  const answer = await ask(transport, {
    method: "PATCH",
    path: `${nodePath(write.name)}${subresource}?fieldManager=${FIELD_MANAGER}`,
    body: [...write.precondition, ...write.patch],
    contentType: "application/json-patch+json",
    accept: METADATA_ONLY,
    signal,
  });
  if (answer.kind !== "applied" || answer.metadata !== undefined) return answer;
  return { kind: "unavailable", code: undefined, message: "an answer of success without an object" };
}

/** A node as it is now. */
export type NodeRead =
  | { readonly kind: "node"; readonly node: Node }
  | Exclude<Answer, { readonly kind: "applied" }>;

/** Reads one node from the store, not from a cache. */
export async function readNode(transport: Transport, name: string, signal: AbortSignal): Promise<NodeRead> {
  let body = "";
  const answer = await ask(transport, { method: "GET", path: nodePath(name), signal }, (text) => {
    body = text;
  });
  if (answer.kind !== "applied") return answer;
  const parsed = parseNode(parseJson(body));
  if (parsed.kind === "node") return parsed;
  return { kind: "unavailable", code: undefined, message: "an answer of success that is not a node" };
}

async function ask(
  transport: Transport,
  request: ApiRequest,
  onBody?: (body: string) => void,
): Promise<Answer> {
  try {
    const response = await transport.send(request);
    onBody?.(response.body);
    return classifyAnswer(response);
  } catch (error) {
    return classifyFailure(error);
  }
}

function nodePath(name: string): string {
  return `/api/v1/nodes/${encodeURIComponent(name)}`;
}
