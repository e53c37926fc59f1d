import * as z from "zod";
import type { ClusterObjects, ObjectFault, ObjectKind } from "#clouds/cluster-objects.ts";
import type { CapabilityErrorCode } from "#core/capability.ts";
import { FIELD_MANAGER } from "#core/contracts.ts";
import { parseJson } from "#core/parse-json.ts";
import { formatCollectionPath, formatObjectKey, formatObjectPath } from "#core/resources/resource.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import {
  type Answer,
  classifyAnswer,
  classifyFailure,
  type FailedAnswer,
  getAnswerCode,
} from "#kube/client/answer.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { createPageSize } from "#kube/follow/page-size.ts";

/** Objects on a page; fewer if some are so large that the page exceeds the function's answer limit. */
const PAGE_SIZE = 100;
/** Limit of objects, and of pages, that are read to find an address. */
const MAX_OBJECTS = 5_000;
const MAX_REQUESTS = 200;
/**
 * Bytes of a page or an object: far more than real ones have, and within a process's share for each cluster.
 */
const MAX_BYTES = 8 * 1024 * 1024;

/** Reads objects of one cluster over the connection that `api` returns; `api` rejects if sign-in fails. */
export function createClusterObjects(api: () => Promise<Transport>): ClusterObjects {
  async function send(request: ApiRequest): Promise<SendResult> {
    let transport: Transport;
    try {
      transport = await api();
    } catch (error) {
      return createObjectFault("Denied", `the API server cannot be signed in to: ${getErrorMessage(error)}`);
    }
    try {
      const response = await transport.send(request);
      return { kind: "answered", answer: classifyAnswer(response), body: response.body };
    } catch (error) {
      // An internal error must not fail the whole batch.
      return { kind: "answered", answer: toFailedAnswer(error), body: "" };
    }
  }

  return {
    async read(kind, name, signal) {
      const sent = await send({
        method: "GET",
        path: formatObjectPath(kind, name),
        maxBytes: MAX_BYTES,
        signal,
      });
      if (sent.kind === "error") return sent;
      if (sent.answer.kind === "gone") return { kind: "absent", message: sent.answer.message };
      if (sent.answer.kind !== "applied")
        return toObjectFault(sent.answer, `GET ${kind.name} ${formatObjectKey(name)}`, signal);
      return parseObject(sent.body) ?? createMalformedFault(`GET ${kind.name} ${formatObjectKey(name)}`);
    },
    async list(kind, label, take, signal) {
      const taken = [];
      let read = 0;
      let token = "";
      const size = createPageSize(PAGE_SIZE);
      for (let requests = 0; requests < MAX_REQUESTS && read < MAX_OBJECTS; requests += 1) {
        const found = await readPage(kind, { labelSelector: label, limit: size.limit(), token }, signal);
        if (found.kind === "error") {
          if (found.isTooLarge && size.halve()) continue;
          return found.fault;
        }
        size.fits(found.items.length, found.characters, MAX_BYTES);
        read += found.items.length;
        for (const object of found.items) {
          const item = take(object);
          if (item !== undefined) taken.push(item);
        }
        if (found.next === "") return { kind: "objects", items: taken };
        // The same token again would loop forever.
        if (found.next === token) break;
        token = found.next;
      }
      return createObjectFault("Unavailable", `LIST ${kind.name}: no end after ${read} objects`);
    },
    async patch(kind, name, { tests, operations }, signal) {
      const sent = await send({
        method: "PATCH",
        path: `${formatObjectPath(kind, name)}?fieldManager=${FIELD_MANAGER}`,
        body: [...tests, ...operations],
        contentType: "application/json-patch+json",
        signal,
      });
      if (sent.kind === "error") return sent;
      const { answer, body } = sent;
      const what = `PATCH ${kind.name} ${formatObjectKey(name)}`;
      if (answer.kind === "conflict" || answer.kind === "gone")
        return { kind: "conflict", message: `${what}: ${answer.message}` };
      if (answer.kind !== "applied") return toObjectFault(answer, what, signal);
      const found = parseObject(body);
      return found === undefined ? createMalformedFault(what) : { kind: "done", object: found.object };
    },
  };

  async function readPage(
    kind: ObjectKind,
    { labelSelector, limit, token }: PageQuery,
    signal: AbortSignal,
  ): Promise<Page | UnreadPage> {
    const unread = (fault: ObjectFault, isTooLarge = false): UnreadPage => ({
      kind: "error",
      fault,
      isTooLarge,
    });
    const query = new URLSearchParams({ labelSelector, limit: String(limit) });
    if (token !== "") query.set("continue", token);
    const sent = await send({
      method: "GET",
      path: `${formatCollectionPath(kind)}?${query}`,
      maxBytes: MAX_BYTES,
      signal,
    });
    if (sent.kind === "error") return unread(sent);
    if (sent.answer.kind !== "applied")
      return unread(
        toObjectFault(sent.answer, `LIST ${kind.name}`, signal),
        getAnswerCode(sent.answer) === "AnswerTooLarge",
      );
    const list = List.safeParse(parseJson(sent.body)).data;
    if (list === undefined) return unread(createMalformedFault(`LIST ${kind.name}`));
    const { items, metadata } = list;
    return { kind: "page", items, next: metadata.continue ?? "", characters: sent.body.length };
  }
}

type SendResult = { readonly kind: "answered"; readonly answer: Answer; readonly body: string } | ObjectFault;

interface PageQuery {
  readonly labelSelector: string;
  readonly limit: number;
  readonly token: string;
}

interface Page {
  readonly kind: "page";
  readonly items: readonly unknown[];
  readonly next: string;
  readonly characters: number;
}

interface UnreadPage {
  readonly kind: "error";
  readonly fault: ObjectFault;
  readonly isTooLarge: boolean;
}

const List = z.looseObject({
  metadata: z.looseObject({ continue: z.string().optional() }),
  items: z.array(z.unknown()),
});

const AnyObject = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string().min(1) }) });

function parseObject(body: string): { readonly kind: "object"; readonly object: unknown } | undefined {
  const object = AnyObject.safeParse(parseJson(body)).data;
  return object === undefined ? undefined : { kind: "object", object };
}

function toFailedAnswer(error: unknown): Answer {
  try {
    return classifyFailure(error);
  } catch {
    return { kind: "unavailable", code: undefined, message: getErrorMessage(error) };
  }
}

function toObjectFault(answer: FailedAnswer, what: string, signal: AbortSignal): ObjectFault {
  return createObjectFault(
    signal.aborted ? "Aborted" : toCapabilityCode(answer),
    `${what}: ${answer.message}`,
  );
}

function toCapabilityCode(answer: FailedAnswer): CapabilityErrorCode {
  const code = getAnswerCode(answer);
  switch (code) {
    case "Throttled":
    case "Aborted":
      return code;
    case "Forbidden":
    case "Unauthenticated":
    case "CredentialUnavailable":
      return "Denied";
    case "Rejected":
      return "Invalid";
    default:
      return "Unavailable";
  }
}

function createMalformedFault(what: string): ObjectFault {
  return createObjectFault("Unavailable", `${what}: an answer of success without what was asked for`);
}

function createObjectFault(code: CapabilityErrorCode, message: string): ObjectFault {
  return { kind: "error", code, message };
}
