import { FIELD_MANAGER } from "#core/contracts.ts";
import type { ClusterWrite } from "#core/decision.ts";
import { parseJson } from "#core/parse-json.ts";
import {
  formatCreationPath,
  formatObjectPath,
  type ObjectName,
  type Resource,
} from "#core/resources/resource.ts";
import type { ParsedObject } from "#core/watch.ts";
import { type Answer, classifyAnswer, classifyFailure, type FailedAnswer } from "#kube/client/answer.ts";
import { MAX_OBJECT_VALUES } from "#kube/client/json-values.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";

/** Requests only an object's metadata in the answer. */
export const METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** Sends one write with its precondition, atomically. */
export async function sendWrite(
  transport: Transport,
  write: ClusterWrite,
  signal: AbortSignal,
): Promise<Answer> {
  const { answer } = await ask(transport, { ...buildRequest(write), signal });
  // A deletion is answered with a Status, or with the object while finalizers hold it.
  if (answer.kind !== "applied" || answer.metadata !== undefined || write.verb === "delete") return answer;
  return { kind: "unavailable", code: undefined, message: "an answer of success without an object" };
}

/** A current object, parsed and as received. */
export type ObjectRead<T> =
  | { readonly kind: "object"; readonly object: T; readonly raw: unknown }
  | FailedAnswer;

/** Reads one object from the store, not from a cache. */
export async function readObject<T>(
  transport: Transport,
  resource: Pick<Resource, "apiVersion" | "name">,
  name: ObjectName,
  parse: (value: unknown) => ParsedObject<T>,
  signal: AbortSignal,
): Promise<ObjectRead<T>> {
  const { answer, body } = await ask(transport, {
    method: "GET",
    path: formatObjectPath(resource, name),
    maxValues: MAX_OBJECT_VALUES,
    signal,
  });
  if (answer.kind !== "applied") return answer;
  const raw = parseJson(body);
  const parsed = parse(raw);
  if (parsed.kind === "object") return { ...parsed, raw };
  const message = `a successful answer that is not about ${resource.name}`;
  return { kind: "unavailable", code: undefined, message };
}

function buildRequest(write: ClusterWrite): Omit<ApiRequest, "signal"> {
  const resource = { apiVersion: write.apiVersion, name: write.resource };
  const query = `?fieldManager=${FIELD_MANAGER}`;
  const accept = METADATA_ONLY;
  switch (write.verb) {
    case "patch":
    case "approve": {
      const subresource = write.verb === "approve" ? "approval" : write.subresource;
      return {
        method: "PATCH",
        path: `${formatObjectPath(resource, write, subresource)}${query}`,
        body: [...write.precondition, ...write.patch],
        contentType: "application/json-patch+json",
        accept,
      };
    }
    case "create":
      return {
        method: "POST",
        path: `${formatCreationPath(resource, write.namespace)}${query}`,
        body: write.body,
        accept,
      };
    case "update":
      return {
        method: "PUT",
        path: `${formatObjectPath(resource, write, write.subresource)}${query}`,
        body: withIdentity(write.body, write.precondition),
        accept,
      };
    case "delete":
      return {
        method: "DELETE",
        path: formatObjectPath(resource, write),
        body: { apiVersion: "v1", kind: "DeleteOptions", preconditions: write.precondition },
        accept,
      };
  }
}

/** Returns the body with the uid and version that the server compares with its own. */
function withIdentity(
  body: Readonly<Record<string, unknown>>,
  identity: { readonly uid: string; readonly resourceVersion: string },
): unknown {
  const metadata = body["metadata"];
  return { ...body, metadata: { ...(typeof metadata === "object" ? metadata : {}), ...identity } };
}

async function ask(
  transport: Transport,
  request: ApiRequest,
): Promise<{ readonly answer: Answer; readonly body: string }> {
  try {
    const response = await transport.send(request);
    return { answer: classifyAnswer(response), body: response.body };
  } catch (error) {
    return { answer: classifyFailure(error), body: "" };
  }
}
