import type { Behaviours } from "#emulators/api-server/behaviours.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import { parseRevision } from "#emulators/api-server/read.ts";
import type { ResourceRequest } from "#emulators/api-server/request-info.ts";
import type { Resource } from "#emulators/api-server/resources.ts";
import { type Selector, selectorOf } from "#emulators/api-server/selectors.ts";
import { expired, Refusal } from "#emulators/api-server/status.ts";
import type { Change, Store, Version } from "#emulators/api-server/store.ts";

/** Where a watch's lines go. */
export interface WatchSink {
  write(line: string): void;
  /** Bytes written that the client has not taken yet. */
  readonly pendingBytes: number;
  end(): void;
}

/** What the query of a watch asks for; parsing throws the Refusal for what cannot be. */
export interface WatchOptions {
  readonly resource: Resource;
  readonly matches: Selector | undefined;
  /** Undefined where the watch starts with what is there. */
  readonly from: number | undefined;
  readonly bookmarks: boolean;
  readonly initialEvents: boolean;
  readonly timeoutSeconds: number;
  readonly partial: boolean;
}

/** Parses the query of a watch. */
export function watchOptions(
  { resource, namespace }: ResourceRequest,
  query: URLSearchParams,
  partial: boolean,
): WatchOptions {
  const revision = parseRevision(query.get("resourceVersion") || "0", (message) => {
    return new Refusal(500, undefined, message);
  });
  const selector = selectorOf(query, resource);
  const asked = Number(query.get("timeoutSeconds") ?? "0");
  return {
    resource,
    matches:
      namespace === undefined
        ? selector
        : (object) => object.metadata.namespace === namespace && (selector?.(object) ?? true),
    from: revision === 0 ? undefined : revision,
    bookmarks: ["1", "true"].includes(query.get("allowWatchBookmarks") ?? ""),
    initialEvents: query.get("sendInitialEvents") === "true",
    timeoutSeconds: asked > 0 ? asked : DEFAULT_TIMEOUT_SECONDS,
    partial,
  };
}

/** A watch that the server holds open. */
export interface OpenWatch {
  /** Ends it as at its time-out: no error, nothing lost. */
  end(): void;
  /** Called once when it has ended, whoever ended it. */
  readonly ended: Promise<void>;
}

/** Starts sending changes to the sink, from the version asked for on; what was too long ago is one ERROR line. */
export function openWatch(
  store: Store,
  behaviours: Behaviours,
  options: WatchOptions,
  sink: WatchSink,
): OpenWatch {
  const { from, resource } = options;
  const missed = from === undefined ? [] : store.since(resource, from);
  if (missed === undefined) {
    sink.write(line("ERROR", JSON.stringify(tooOld(store, from ?? 0).status)));
    sink.end();
    return { end: () => {}, ended: Promise.resolve() };
  }
  // Nothing comes before the version asked for, so one from the future is silent until it is reached.
  const silentUntil = from !== undefined && from > store.revision ? from : 0;
  const start = from ?? store.revision;
  const send = (text: string | undefined): void => {
    if (text === undefined) return;
    if (sink.pendingBytes > MAX_PENDING_BYTES) finish();
    else sink.write(text);
  };
  const onChange = (change: Change): void => {
    if (change.version.revision <= silentUntil) return;
    if (change.version.resource === resource) send(changeLine(change, options));
  };
  // As the real one: a watch in whose resource nothing has moved since its start gets none.
  const bookmark = (): void => {
    const progress = store.progress(resource);
    if (progress <= start || behaviours.bookmarksHeld) return;
    send(bookmarkLine(resource, progress, options.partial, false));
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

/** How an API server answers a watch from a version that it does not remember. */
export function tooOld(store: Store, from: number): Refusal {
  return expired(`too old resource version: ${from} (${store.watchableFrom})`);
}

/** Half an hour, the least that kube-apiserver picks at random for a watch without timeoutSeconds. */
const DEFAULT_TIMEOUT_SECONDS = 1800;

/** A client that leaves this much lying is cut off, and starts again from the last version that it saw. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024;

function sendInitial(store: Store, options: WatchOptions, send: (text: string) => void): void {
  for (const version of store.list(options.resource) ?? []) {
    if (options.matches?.(version.object) ?? true) send(line("ADDED", shown(version, options.partial)));
  }
  if (options.initialEvents && options.bookmarks) {
    send(bookmarkLine(options.resource, store.revision, options.partial, true));
  }
}

// With a selector, an object that begins to match is added for this watch, and one that ends to match deleted.
function changeLine(change: Change, { matches, partial }: WatchOptions): string | undefined {
  const { type, version, previous } = change;
  if (matches === undefined) return change.line(type, partial);
  const before = previous !== undefined && matches(previous.object);
  const now = type !== "DELETED" && matches(version.object);
  if (!before && !now) return undefined;
  return change.line(!before ? "ADDED" : !now ? "DELETED" : "MODIFIED", partial);
}

function bookmarkLine(resource: Resource, revision: number, partial: boolean, initial: boolean): string {
  const metadata = {
    resourceVersion: String(revision),
    ...(initial ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
  };
  const object = partial
    ? { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata }
    : {
        kind: resource.kind,
        apiVersion: resource.apiVersion,
        ...resource.prepare({ metadata } as unknown as StoredObject, false),
      };
  return line("BOOKMARK", JSON.stringify(object));
}

function shown(version: Version, partial: boolean): string {
  return partial ? version.partial : version.json;
}

function line(type: string, object: string): string {
  return `{"type":"${type}","object":${object}}\n`;
}
