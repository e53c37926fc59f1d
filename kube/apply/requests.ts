import { FIELD_MANAGER } from "#core/contracts.ts";
import type { Parsed } from "#core/controller.ts";
import type { ClusterWrite } from "#core/decision.ts";
import { creationPath, type ObjectName, objectPath, type Resource } from "#core/resources/resource.ts";
import {
  type Answer,
  classifyAnswer,
  classifyFailure,
  type FailedAnswer,
  parseJson,
} from "#kube/client/answer.ts";
import { MAX_OBJECT_VALUES } from "#kube/client/json-values.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";

/** Asks the server to answer with an object's metadata alone. */
export const METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** Sends one write together with its precondition: it holds and is done as a whole, or not at all. */
export async function sendWrite(
  transport: Transport,
  write: ClusterWrite,
  signal: AbortSignal,
): Promise<Answer> {
  const { answer } = await ask(transport, { ...requestOf(write), signal });
  // What was deleted is answered with a Status, or with the object while finalizers hold it.
  if (answer.kind !== "applied" || answer.metadata !== undefined || write.verb === "delete") return answer;
  return { kind: "unavailable", code: undefined, message: "an answer of success without an object" };
}

/** An object as it is now: parsed, and as it came. */
export type ObjectRead<T> =
  | { readonly kind: "object"; readonly object: T; readonly raw: unknown }
  | FailedAnswer;

/** Reads one object from the store, not from a cache. */
export async function readObject<T>(
  transport: Transport,
  resource: Pick<Resource, "apiVersion" | "name">,
  name: ObjectName,
  parse: (value: unknown) => Parsed<T>,
  signal: AbortSignal,
): Promise<ObjectRead<T>> {
  const { answer, body } = await ask(transport, {
    method: "GET",
    path: objectPath(resource, name),
    maxValues: MAX_OBJECT_VALUES,
    signal,
  });
  if (answer.kind !== "applied") return answer;
  const raw = parseJson(body);
  const parsed = parse(raw);
  if (parsed.kind === "object") return { ...parsed, raw };
  const message = `an answer of success that is none of ${resource.name}`;
  return { kind: "unavailable", code: undefined, message };
}

function requestOf(write: ClusterWrite): Omit<ApiRequest, "signal"> {
  const resource = { apiVersion: write.apiVersion, name: write.resource };
  const query = `?fieldManager=${FIELD_MANAGER}`;
  const accept = METADATA_ONLY;
  switch (write.verb) {
    case "patch":
    case "approve": {
      const subresource = write.verb === "approve" ? "approval" : write.subresource;
      return {
        method: "PATCH",
        path: `${objectPath(resource, write, subresource)}${query}`,
        body: [...write.precondition, ...write.patch],
        contentType: "application/json-patch+json",
        accept,
      };
    }
    case "create":
      return {
        method: "POST",
        path: `${creationPath(resource, write.namespace)}${query}`,
        body: write.body,
        accept,
      };
    case "update":
      return {
        method: "PUT",
        path: `${objectPath(resource, write, write.subresource)}${query}`,
        body: withIdentity(write.body, write.precondition),
        accept,
      };
    case "delete":
      return {
        method: "DELETE",
        path: objectPath(resource, write),
        body: { apiVersion: "v1", kind: "DeleteOptions", preconditions: write.precondition },
        accept,
      };
  }
}

/** The body with the uid and version that the server compares with its own. */
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
