import type { Behaviours } from "#emulators/api-server/behaviours.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import { parseRevision } from "#emulators/api-server/read.ts";
import type { ResourceRequest } from "#emulators/api-server/request-info.ts";
import type { Resource } from "#emulators/api-server/resources.ts";
import { parseSelector, type Selector } from "#emulators/api-server/selectors.ts";
import { createExpired, Refusal } from "#emulators/api-server/status.ts";
import { type Change, type Store, Version } from "#emulators/api-server/store.ts";
import { checkQueryOptions } from "#emulators/api-server/validate-options.ts";

/** The receiver of a watch's lines. */
export interface WatchSink {
  write(line: string): void;
  /** Written bytes that the client has not read yet. */
  readonly pendingBytes: number;
  end(): void;
}

/** The parsed query of a watch. */
export interface WatchOptions {
  readonly resource: Resource;
  readonly matches: Selector | undefined;
  /** Undefined if the watch starts with the current state. */
  readonly from: number | undefined;
  readonly bookmarks: boolean;
  readonly initialEvents: boolean;
  readonly timeoutSeconds: number;
  readonly partial: boolean;
}

/** Parses the query of a watch; throws the Refusal of an impossible one. */
export function watchOptions(
  { resource, namespace }: ResourceRequest,
  query: URLSearchParams,
  partial: boolean,
): WatchOptions {
  const selector = parseSelector(query, resource);
  checkQueryOptions("watch", query);
  const revision = parseRevision(query.get("resourceVersion") || "0", (message) => {
    return new Refusal(500, undefined, message);
  });
  const asked = Number(query.get("timeoutSeconds") ?? "0");
  return {
    resource,
    matches:
      namespace === undefined
        ? selector
        : (object) => object.metadata.namespace === namespace && (selector?.(object) ?? true),
    from: revision === 0 ? undefined : revision,
    bookmarks: ["1", "true"].includes(query.get("allowWatchBookmarks") ?? ""),
    // Without a version the current state comes first, and a bookmark ends it, whether or not the query requests it.
    initialEvents: revision === 0 && query.get("sendInitialEvents") !== "false",
    timeoutSeconds: asked > 0 ? asked : DEFAULT_TIMEOUT_SECONDS,
    partial,
  };
}

/** A watch that the server holds open. */
export interface OpenWatch {
  /** Ends it like its time-out: no error, no loss. */
  end(): void;
  /** Resolves when the watch has ended for any reason. */
  readonly ended: Promise<void>;
}

/**
 * Starts sending changes to the sink, from the requested version on; a version that is too old gets one ERROR
 * line.
 */
export function openWatch(
  store: Store,
  behaviours: Behaviours,
  options: WatchOptions,
  sink: WatchSink,
): OpenWatch {
  const { from, resource } = options;
  const missed = from === undefined ? [] : store.since(resource, from);
  if (missed === undefined) {
    sink.write(formatLine("ERROR", JSON.stringify(createTooOldRefusal(store, from ?? 0).status)));
    sink.end();
    return { end: () => {}, ended: Promise.resolve() };
  }
  // Nothing before the requested version is sent, so a watch from the future is silent until that version.
  const silentUntil = from !== undefined && from > store.revision ? from : 0;
  const start = from ?? store.revision;
  const send = (text: string | undefined): void => {
    if (text === undefined) return;
    if (sink.pendingBytes > MAX_PENDING_BYTES) finish();
    else sink.write(text);
  };
  const onChange = (change: Change): void => {
    if (change.version.revision <= silentUntil) return;
    if (change.version.resource === resource) send(formatChange(change, options));
  };
  // As on the real server: a watch whose resource has not changed since its start gets none.
  const bookmark = (): void => {
    const progress = store.progress(resource);
    if (progress <= start) return;
    send(formatBookmark(resource, progress, options.partial, false));
  };
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const unsubscribe = store.subscribe(onChange);
  const interval = options.bookmarks ? setInterval(bookmark, behaviours.bookmarkIntervalMs) : undefined;
  const timeout = setTimeout(() => finish(), options.timeoutSeconds * 1000);
  const finish = (): void => {
    unsubscribe();
    clearInterval(interval);
    clearTimeout(timeout);
    sink.end();
    resolve();
  };
  if (from === undefined) sendInitial(store, options, send);
  else for (const change of missed) onChange(change);
  return { end: finish, ended };
}

/** Creates the answer to a watch from a forgotten version. */
export function createTooOldRefusal(store: Store, from: number): Refusal {
  return createExpired(`too old resource version: ${from} (${store.watchableFrom})`);
}

/** Half an hour, the minimum that kube-apiserver picks at random for a watch without timeoutSeconds. */
const DEFAULT_TIMEOUT_SECONDS = 1800;

/** A client with so many unread bytes is disconnected, and starts again from its last seen version. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024;

function sendInitial(store: Store, options: WatchOptions, send: (text: string) => void): void {
  for (const version of store.list(options.resource) ?? []) {
    if (options.matches?.(version.object) ?? true)
      send(formatLine("ADDED", formatVersion(version, options.partial)));
  }
  if (options.initialEvents && options.bookmarks) {
    send(formatBookmark(options.resource, store.revision, options.partial, true));
  }
}

// With a selector, an object that begins to match is added for this watch, and one that ceases to match is
// deleted.
function formatChange(change: Change, { matches, partial }: WatchOptions): string | undefined {
  const { type, version, previous } = change;
  if (matches === undefined) return change.line(type, partial);
  const before = previous !== undefined && matches(previous.object);
  const now = type !== "DELETED" && matches(version.object);
  if (!before && !now) return undefined;
  if (!now && previous !== undefined)
    return formatLine("DELETED", formatVersion(renew(previous, version), partial));
  return change.line(!before ? "ADDED" : !now ? "DELETED" : "MODIFIED", partial);
}

/** Returns the object as it matched last, with the version of the change after which it matches no more. */
function renew(previous: Version, { resource, key, revision }: Version): Version {
  const metadata = { ...previous.object.metadata, resourceVersion: String(revision) };
  return new Version(resource, key, revision, { ...previous.object, metadata });
}

function formatBookmark(resource: Resource, revision: number, partial: boolean, initial: boolean): string {
  const metadata = {
    resourceVersion: String(revision),
    ...(initial ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
  };
  const object = partial
    ? { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata }
    : {
        kind: resource.kind,
        apiVersion: resource.apiVersion,
        ...(resource.empty === undefined
          ? resource.prepare({ metadata } as unknown as StoredObject, false)
          : { metadata, ...resource.empty }),
      };
  return formatLine("BOOKMARK", JSON.stringify(object));
}

function formatVersion(version: Version, partial: boolean): string {
  return partial ? version.partial : version.json;
}

function formatLine(type: string, object: string): string {
  return `{"type":"${type}","object":${object}}\n`;
}
