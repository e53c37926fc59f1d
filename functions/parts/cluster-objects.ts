import * as z from "zod";
import type { ClusterObjects, ObjectFault, ObjectKind } from "#clouds/cluster-objects.ts";
import type { CapabilityErrorCode } from "#core/capability.ts";
import { FIELD_MANAGER } from "#core/contracts.ts";
import { messageOf } from "#core/message-of.ts";
import { collectionPath, keyOfName, objectPath } from "#core/resources/resource.ts";
import {
  type Answer,
  classifyAnswer,
  classifyFailure,
  codeOf,
  type FailedAnswer,
  parseJson,
} from "#kube/client/answer.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { createPageSize } from "#kube/follow/page-size.ts";

/** Objects of a page; where a few are so large that it is beyond the bounds that a function has for answers, fewer are asked for. */
const PAGE_SIZE = 100;
/** More than so many objects, and more pages than so, nobody reads for an address. */
const MAX_OBJECTS = 5_000;
const MAX_REQUESTS = 200;
/** Of a page, or of an object: far more than anybody has, and no more than a process has for each of its clusters. */
const MAX_BYTES = 8 * 1024 * 1024;

/** The objects of one cluster, over the connection that `api` gives; that may reject, where nobody can sign in. */
export function clusterObjects(api: () => Promise<Transport>): ClusterObjects {
  async function send(request: ApiRequest): Promise<Sent> {
    let transport: Transport;
    try {
      transport = await api();
    } catch (error) {
      return fault("Denied", `the API server cannot be signed in to: ${messageOf(error)}`);
    }
    try {
      const response = await transport.send(request);
      return { kind: "answered", answer: classifyAnswer(response), body: response.body };
    } catch (error) {
      // A fault of ours is no reason to let a whole batch fail.
      return { kind: "answered", answer: failure(error), body: "" };
    }
  }

  return {
    async read(kind, name, signal) {
      const sent = await send({ method: "GET", path: objectPath(kind, name), maxBytes: MAX_BYTES, signal });
      if (sent.kind === "error") return sent;
      if (sent.answer.kind === "gone") return { kind: "absent", message: sent.answer.message };
      if (sent.answer.kind !== "applied")
        return faultOf(sent.answer, `GET ${kind.name} ${keyOfName(name)}`, signal);
      return objectIn(sent.body) ?? rubbish(`GET ${kind.name} ${keyOfName(name)}`);
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
        // It would never end.
        if (found.next === token) break;
        token = found.next;
      }
      return fault("Unavailable", `LIST ${kind.name}: no end after ${read} objects`);
    },
    async patch(kind, name, { tests, operations }, signal) {
      const sent = await send({
        method: "PATCH",
        path: `${objectPath(kind, name)}?fieldManager=${FIELD_MANAGER}`,
        body: [...tests, ...operations],
        contentType: "application/json-patch+json",
        signal,
      });
      if (sent.kind === "error") return sent;
      const { answer, body } = sent;
      const what = `PATCH ${kind.name} ${keyOfName(name)}`;
      if (answer.kind === "conflict" || answer.kind === "gone")
        return { kind: "conflict", message: `${what}: ${answer.message}` };
      if (answer.kind !== "applied") return faultOf(answer, what, signal);
      const found = objectIn(body);
      return found === undefined ? rubbish(what) : { kind: "done", object: found.object };
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
      path: `${collectionPath(kind)}?${query}`,
      maxBytes: MAX_BYTES,
      signal,
    });
    if (sent.kind === "error") return unread(sent);
    if (sent.answer.kind !== "applied")
      return unread(
        faultOf(sent.answer, `LIST ${kind.name}`, signal),
        codeOf(sent.answer) === "AnswerTooLarge",
      );
    const list = List.safeParse(parseJson(sent.body)).data;
    if (list === undefined) return unread(rubbish(`LIST ${kind.name}`));
    const { items, metadata } = list;
    return { kind: "page", items, next: metadata.continue ?? "", characters: sent.body.length };
  }
}

type Sent = { readonly kind: "answered"; readonly answer: Answer; readonly body: string } | ObjectFault;

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

function objectIn(body: string): { readonly kind: "object"; readonly object: unknown } | undefined {
  const object = AnyObject.safeParse(parseJson(body)).data;
  return object === undefined ? undefined : { kind: "object", object };
}

function failure(error: unknown): Answer {
  try {
    return classifyFailure(error);
  } catch {
    return { kind: "unavailable", code: undefined, message: messageOf(error) };
  }
}

function faultOf(answer: FailedAnswer, what: string, signal: AbortSignal): ObjectFault {
  return fault(signal.aborted ? "Aborted" : capabilityCodeOf(answer), `${what}: ${answer.message}`);
}

function capabilityCodeOf(answer: FailedAnswer): CapabilityErrorCode {
  const code = codeOf(answer);
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

function rubbish(what: string): ObjectFault {
  return fault("Unavailable", `${what}: an answer of success without what was asked for`);
}

function fault(code: CapabilityErrorCode, message: string): ObjectFault {
  return { kind: "error", code, message };
}
