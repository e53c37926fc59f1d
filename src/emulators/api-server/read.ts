import { formatKey, type ResourceRequest } from "#emulators/api-server/request-info.ts";
import { getSubject, type Resource } from "#emulators/api-server/resources.ts";
import { parseSelector } from "#emulators/api-server/selectors.ts";
import {
  createBadRequest,
  createExpired,
  createNotFound,
  createVersionTooLarge,
} from "#emulators/api-server/status.ts";
import type { Store, Version } from "#emulators/api-server/store.ts";
import { checkQueryOptions } from "#emulators/api-server/validate-options.ts";

/** Returns the object that the request names. */
export function getObject(store: Store, { resource, namespace, name = "" }: ResourceRequest): Version {
  const version = store.get(resource, formatKey(namespace, name));
  if (version === undefined) throw createNotFound(getSubject(resource), name);
  return version;
}

/** One page of a list, or all of it. */
export interface Page {
  readonly versions: readonly Version[];
  readonly revision: number;
  readonly continue: string | undefined;
  /** Undefined on the last page, and with a selector, as the server would have to read the rest. */
  readonly remaining: number | undefined;
}

/** Lists as the query requests: `continue` uses the version of the first page, at any age. */
export function listObjects(
  store: Store,
  { resource, namespace }: ResourceRequest,
  query: URLSearchParams,
): Page {
  const selector = parseSelector(query, resource);
  const limit = Math.max(0, parseInteger(query.get("limit") ?? "0"));
  checkQueryOptions("list", query);
  const token = query.get("continue") ?? "";
  const at = token === "" ? undefined : parseToken(token);
  const revision =
    at === undefined ? parseRequestedRevision(store, query, limit) : at.revision || store.revision;
  const all = store.list(resource, revision);
  if (all === undefined) throw at === undefined ? createTooOldError() : createTokenExpiredError(at.after);
  const prefix = namespace === undefined ? "" : `${namespace}/`;
  const rest = all.filter(({ key }) => key.startsWith(prefix) && (at === undefined || key > at.after));
  const matching = selector === undefined ? rest : rest.filter(({ object }) => selector(object));
  const versions = limit === 0 ? matching : matching.slice(0, limit);
  const last = versions.at(-1)?.key ?? "";
  // resourceVersion=0 is answered completely from the watch cache. A page that is full ends where it is full: the
  // server does not look whether what follows matches.
  const isFull = limit > 0 && versions.length === limit && last !== rest.at(-1)?.key;
  if (!isFull || query.get("resourceVersion") === "0")
    return { versions: matching, revision, continue: undefined, remaining: undefined };
  return {
    versions,
    revision,
    continue: formatToken(revision, last),
    remaining: selector === undefined ? rest.length - limit : undefined,
  };
}

/** Renders a list's JSON from the JSON that the versions already have. */
export function renderList(page: Page, resource: Resource, partial: boolean): string {
  const kind = partial
    ? `"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1"`
    : `"kind":"${resource.kind}List","apiVersion":"${resource.apiVersion}"`;
  const metadata = JSON.stringify({
    resourceVersion: String(page.revision),
    continue: page.continue,
    remainingItemCount: page.remaining,
  });
  const items = page.versions.map((version) => (partial ? version.partial : version.item));
  // Go encodes an empty list of partial objects as null.
  const list = partial && items.length === 0 ? "null" : `[${items.join(",")}]`;
  return `{${kind},"metadata":${metadata},"items":${list}}`;
}

/** Parses a resourceVersion of a query: a whole number, or kube-apiserver's error thrown by `refuse`. */
export function parseRevision(text: string, refuse: (message: string) => Error): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw refuse(
    `resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
  );
}

function parseRequestedRevision(store: Store, query: URLSearchParams, limit: number): number {
  const text = query.get("resourceVersion") ?? "";
  const asked = parseRevision(text === "" ? "0" : text, (message) =>
    createBadRequest(`invalid resource version: ${message}`),
  );
  if (asked > store.revision) throw createVersionTooLarge(asked, store.revision);
  // Without a match, a page of a version is exact, too.
  const match = query.get("resourceVersionMatch") ?? "";
  const exact = match === "Exact" || (match === "" && limit > 0 && asked > 0);
  return exact ? asked : store.revision;
}

function parseInteger(text: string): number {
  if (/^-?\d+$/.test(text)) return Number(text);
  throw createBadRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
}

interface Token {
  /** 0 if the rest may be listed at the current revision. */
  readonly revision: number;
  /** The key of the last listed object. */
  readonly after: string;
}

function formatToken(revision: number, after: string): string {
  const token = { v: "meta.k8s.io/v1", rv: revision, start: `${after}\u0000` };
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

function parseToken(text: string): Token {
  try {
    const { rv, start } = JSON.parse(Buffer.from(text, "base64url").toString()) as Record<string, unknown>;
    if (typeof rv === "number" && typeof start === "string") {
      return { revision: Math.max(0, rv), after: start.slice(0, -1) };
    }
  } catch {
    // Not JSON: handled below like any other foreign token.
  }
  throw createBadRequest("invalid continue token: continue key is not valid");
}

function createTooOldError(): Error {
  return createExpired("The resourceVersion for the provided list is too old.");
}

function createTokenExpiredError(after: string): Error {
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
  return createExpired(message, formatToken(-1, after));
}
