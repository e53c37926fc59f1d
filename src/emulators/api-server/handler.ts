import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { getApiGroup } from "#core/resources/resource.ts";
import { type Representation, selectRepresentation } from "#emulators/api-server/accept.ts";
import { authorize, authorizeImpersonation } from "#emulators/api-server/authorize.ts";
import type { Behaviours } from "#emulators/api-server/behaviours.ts";
import { findDiscoveryDocument, HEALTH_PATHS } from "#emulators/api-server/discovery.ts";
import { noteMore, noteRequest, publishAnswer } from "#emulators/api-server/exchange.ts";
import { getObject, listObjects, renderList } from "#emulators/api-server/read.ts";
import { parseResourceRequest, type ResourceRequest } from "#emulators/api-server/request-info.ts";
import { RESOURCES } from "#emulators/api-server/resources.ts";
import { answerSelfReview, isSelfReview } from "#emulators/api-server/self-reviews.ts";
import {
  createMethodNotAllowed,
  createNoSuchResource,
  createUnauthorized,
  createUnsupportedMediaType,
  Refusal,
} from "#emulators/api-server/status.ts";
import type { Store, Version } from "#emulators/api-server/store.ts";
import { renderTable } from "#emulators/api-server/table.ts";
import { checkQueryOptions } from "#emulators/api-server/validate-options.ts";
import { createTooOldRefusal, type OpenWatch, openWatch, watchOptions } from "#emulators/api-server/watch.ts";
import {
  createObject,
  deleteObject,
  isPatchType,
  patchObject,
  updateObject,
  type WriteContext,
} from "#emulators/api-server/write.ts";
import type { ControlPlaneUser, RequestRecord } from "#emulators/harness/control-plane.ts";

/** A request; over HTTP/1.1 Node passes an IncomingMessage, which has everything that is used here. */
export type ServerRequest = Http2ServerRequest;

/**
 * An answer; over HTTP/1.1 Node passes a ServerResponse, which has everything that is used here except the
 * stream.
 */
export type ServerAnswer = Http2ServerResponse;

/** The state that the handler works on. */
export interface HandlerContext {
  readonly store: Store;
  readonly behaviours: Behaviours;
  readonly users: ReadonlyMap<string, ControlPlaneUser>;
  readonly watches: Set<OpenWatch>;
  readonly record: (record: RequestRecord) => void;
  readonly now: () => Date;
}

/** Answers one request of any kind; never rejects. */
export async function handleRequest(
  context: HandlerContext,
  request: ServerRequest,
  answer: ServerAnswer,
): Promise<void> {
  noteRequest(answer, {
    method: request.method ?? "GET",
    path: request.url ?? "/",
    contentType: request.headers["content-type"],
  });
  try {
    await route(context, request, answer);
  } catch (error) {
    if (answer.headersSent || answer.destroyed) answer.end();
    else sendStatus(answer, error instanceof Refusal ? error : toInternalError(error));
  }
}

async function route(context: HandlerContext, request: ServerRequest, answer: ServerAnswer): Promise<void> {
  const url = new URL(request.url ?? "/", "https://127.0.0.1");
  const { behaviours } = context;
  if (behaviours.delayMs > 0) await sleep(behaviours.delayMs);
  if (HEALTH_PATHS.has(url.pathname)) return send(answer, 200, "text/plain; charset=utf-8", "ok");
  const user = authenticate(context, request);
  noteMore(answer, { user: user.name });
  const document = findDiscoveryDocument(url.pathname);
  if (document !== undefined) return send(answer, 200, "application/json", JSON.stringify(document));
  if (request.method === "POST" && isSelfReview(url.pathname)) {
    const review = answerSelfReview(url.pathname, user, await readBody(request, answer));
    return send(answer, 201, "application/json", JSON.stringify(review));
  }
  const [, apiVersion] = /^\/(?:api|apis)\/(v1|[^/]+\/[^/]+)\//.exec(url.pathname) ?? [];
  if (!RESOURCES.some((resource) => resource.apiVersion === apiVersion)) {
    return send(answer, 404, "text/plain; charset=utf-8", "404 page not found\n");
  }
  const info = parseResourceRequest(request.method ?? "GET", url.pathname, url.searchParams);
  if (info === undefined) throw createNoSuchResource();
  if (info === "method") throw createMethodNotAllowed();
  const { code, name } = await serve(context, { info, url, user, request, answer });
  context.record(buildRecord(info, name, user, code, context.now()));
}

function authenticate({ users }: HandlerContext, request: ServerRequest): ControlPlaneUser {
  const [, token] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "") ?? [];
  const user = token === undefined ? undefined : users.get(token);
  if (user === undefined) throw createUnauthorized();
  return applyImpersonation(user, request);
}

/** Returns the impersonated user if the request may impersonate. */
function applyImpersonation(user: ControlPlaneUser, { headers }: ServerRequest): ControlPlaneUser {
  const { "impersonate-user": name, "impersonate-group": groups = "" } = headers;
  if (typeof name !== "string") return user;
  authorizeImpersonation(user, name);
  return { name, groups: String(groups).split(/,\s*/) };
}

interface Call {
  readonly info: ResourceRequest;
  readonly url: URL;
  readonly user: ControlPlaneUser;
  readonly request: ServerRequest;
  readonly answer: ServerAnswer;
}

/**
 * The result of a request, and the name of its object: for a creation only the body or the server knows the
 * name.
 */
interface RequestResult {
  readonly code: number;
  readonly name: string | undefined;
}

// Resolves once the answer is complete, for a watch when it has ended.
async function serve(context: HandlerContext, call: Call): Promise<RequestResult> {
  const { answer, info } = call;
  try {
    authorize(call.user, info);
    failIfAsked(context.behaviours, info);
    if (info.verb === "watch") return { code: await serveWatch(context, call), name: info.name };
    const { code, body, name = info.name } = await perform(context, call);
    if (context.behaviours.takeLoss(info.verb)) answer.destroy();
    else send(answer, code, "application/json", body);
    return { code, name };
  } catch (error) {
    const refusal = error instanceof Refusal ? error : toInternalError(error);
    sendStatus(answer, refusal);
    return { code: refusal.code, name: info.name ?? refusal.status.details?.name };
  }
}

async function perform(
  context: HandlerContext,
  call: Call,
): Promise<{ readonly code: number; readonly body: string; readonly name?: string }> {
  const { store } = context;
  const { info, url, request, answer } = call;
  const contentType = (request.headers["content-type"] ?? "").split(";")[0]?.trim() ?? "";
  if (info.verb === "patch" && !isPatchType(info.resource, contentType)) throw createUnsupportedMediaType();
  const shape = selectRepresentation(request.headers.accept, info.verb);
  const reads = info.verb === "get" || info.verb === "list";
  const body = reads ? "" : await readBody(request, answer);
  const hasOwnOptions = info.verb === "list" || (info.verb === "delete" && body !== "");
  if (!hasOwnOptions) checkQueryOptions(info.verb, url.searchParams);
  const write = writeContext(context, call);
  switch (info.verb) {
    case "get":
      return { code: 200, body: render(getObject(store, info), shape, context.now()) };
    case "list":
      return { code: 200, body: renderPage(context, info, url.searchParams, shape) };
    case "create": {
      const created = createObject(write, info, body);
      return { code: 201, body: render(created, shape, context.now()), name: created.object.metadata.name };
    }
    case "update": {
      const { version, isNew } = updateObject(write, info, body);
      return { code: isNew ? 201 : 200, body: render(version, shape, context.now()) };
    }
    case "patch": {
      const patched = patchObject(write, info, contentType, body);
      noteMore(answer, { written: patched.json });
      return { code: 200, body: render(patched, shape, context.now()) };
    }
    case "delete": {
      const { kind, version } = deleteObject(write, info, body);
      if (kind === "kept" || info.resource.answersDeleted === true)
        return { code: 200, body: render(version, shape, context.now()) };
      return { code: 200, body: formatDeletedStatus(version) };
    }
    case "watch":
      throw new Error("a watch is served apart");
    default:
      return info.verb satisfies never;
  }
}

async function serveWatch(context: HandlerContext, { info, url, request, answer }: Call): Promise<number> {
  const { store, behaviours, watches } = context;
  const partial = selectRepresentation(request.headers.accept, "watch") === "partial";
  const options = watchOptions(info, url.searchParams, partial);
  const expired = options.from !== undefined && options.from < store.watchableFrom;
  if (expired && behaviours.expiredAs === "status") throw createTooOldRefusal(store, options.from ?? 0);
  answer.writeHead(200, { "content-type": "application/json", "cache-control": "no-cache, private" });
  (answer as { readonly flushHeaders?: () => void }).flushHeaders?.();
  const output: Writable = (answer as { readonly stream?: Writable }).stream ?? answer;
  const watch = openWatch(store, behaviours, options, {
    write: (text) => {
      publishAnswer(answer, { line: text });
      output.write(text);
    },
    get pendingBytes() {
      return output.writableLength;
    },
    end: () => answer.end(),
  });
  watches.add(watch);
  answer.once("close", watch.end);
  await watch.ended;
  watches.delete(watch);
  return 200;
}

function failIfAsked(behaviours: Behaviours, info: ResourceRequest): void {
  const failure = behaviours.takeFailure(info.verb);
  if (failure === undefined) return;
  const { code, retryAfterSeconds } = failure;
  const [reason, message] = FAILURES[code] ?? ["InternalError", "Internal error occurred"];
  const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  throw new Refusal(code, reason, message, { details });
}

const FAILURES: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  429: ["TooManyRequests", "Too many requests, please try again later."],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: ["Timeout", "Timeout: request did not complete within the allotted timeout"],
};

function toInternalError(error: unknown): Refusal {
  return new Refusal(500, "InternalError", `Internal error occurred: ${String(error)}`);
}

function writeContext(context: HandlerContext, { url, request, user }: Call): WriteContext {
  const query = url.searchParams;
  // As on the real server: the default name is the part of the user agent before the slash.
  const agent = (request.headers["user-agent"] ?? "unknown").split("/")[0] ?? "unknown";
  return {
    store: context.store,
    manager: query.get("fieldManager") || agent,
    user,
    dryRun: query.get("dryRun") === "All",
    now: context.now(),
  };
}

function render(version: Version, shape: Representation, now: Date): string {
  if (typeof shape === "object") throw shape.refusal;
  switch (shape) {
    case "object":
      return version.json;
    case "partial":
      return version.partial;
    case "table":
      return renderTable(
        [version],
        version.resource,
        { resourceVersion: version.object.metadata.resourceVersion || undefined },
        now,
      );
    default:
      return shape satisfies never;
  }
}

function renderPage(
  { store, now }: HandlerContext,
  info: ResourceRequest,
  query: URLSearchParams,
  shape: Representation,
): string {
  const page = listObjects(store, info, query);
  if (typeof shape === "object") throw shape.refusal;
  if (shape !== "table") return renderList(page, info.resource, shape === "partial");
  const metadata = { resourceVersion: String(page.revision), continue: page.continue };
  return renderTable(page.versions, info.resource, metadata, now());
}

function formatDeletedStatus({ resource, object }: Version): string {
  const { name, uid } = object.metadata;
  const group = getApiGroup(resource);
  const details = { name, ...(group === "" ? {} : { group }), kind: resource.name, uid };
  return JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details });
}

function sendStatus(answer: ServerAnswer, { code, status }: Refusal): void {
  const seconds = status.details?.retryAfterSeconds;
  const headers = seconds === undefined ? {} : { "retry-after": String(seconds) };
  send(answer, code, "application/json", JSON.stringify(status), headers);
}

function send(
  answer: ServerAnswer,
  code: number,
  contentType: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  publishAnswer(answer, { status: code, contentType, body });
  if (answer.destroyed) return;
  answer.writeHead(code, {
    ...headers,
    "content-type": contentType,
    "cache-control": "no-cache, private",
    "content-length": String(Buffer.byteLength(body)),
  });
  answer.end(body);
}

/** The real server's limit of a request body: 3 MiB. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;

async function readBody(request: ServerRequest, answer: ServerAnswer): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) {
      throw new Refusal(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
    }
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks).toString();
  noteMore(answer, { body });
  return body;
}

function buildRecord(
  { verb, resource, subresource }: ResourceRequest,
  name: string | undefined,
  user: ControlPlaneUser,
  code: number,
  at: Date,
): RequestRecord {
  return {
    user: user.name,
    verb,
    resource: resource.name,
    ...(subresource === undefined ? {} : { subresource }),
    ...(name === undefined ? {} : { name }),
    code,
    at: at.getTime(),
  };
}
