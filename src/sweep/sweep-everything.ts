import { buildWatchContext } from "#config/cluster.ts";
import {
  formatFollowedPath,
  formatObjectKey,
  type ObjectName,
  type Resource,
} from "#core/resources/resource.ts";
import type { ParsedObject, Related, Watch } from "#core/watch.ts";
import type { Projection, RelatedSource } from "#delivery/related-batch.ts";
import { createSemaphore } from "#kube/client/semaphore.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { FollowBounds } from "#kube/follow/bounds.ts";
import { type Clock, createYieldToEventLoop } from "#kube/follow/clock.ts";
import { listPage } from "#kube/follow/list.ts";
import { parseObjectKey } from "#kube/follow/object-key.ts";
import { createListBudget, createPageSize } from "#kube/follow/page-size.ts";
import type { RequestFailure } from "#kube/follow/request-failure.ts";
import { type SelectContext, select } from "#sweep/select.ts";
import { createSender, type SendCounts, type Sender, type SenderOptions } from "#sweep/sender.ts";
import {
  mergeNames,
  type NamedObjects,
  type ObjectNames,
  planTouched,
  readNames,
  type TouchedObjects,
} from "#sweep/touched.ts";

/** The options of listing a cluster and sending the selected objects. */
export interface SweepEverythingOptions
  extends Pick<
    SenderOptions,
    "cluster" | "invoker" | "nextEventId" | "clock" | "random" | "signal" | "giveUp" | "readStop"
  > {
  readonly transport: Transport;
  /** For reads of single objects, which need no permit. */
  readonly direct: Transport;
  /** The existing watches of the cluster's controllers. */
  readonly watches: readonly Watch[];
  readonly mode: SelectContext["mode"];
  readonly minute: number;
  /** The objects to look at in the mode `touched`. */
  readonly touched?: TouchedObjects | undefined;
}

/** The findings and their results. */
export interface SweepOutcome {
  readonly listed: number;
  readonly malformed: number;
  readonly sent: readonly SendCounts[];
  /** Why lists are incomplete, once for each resource. */
  readonly failures: readonly NonNullable<ListResult["failure"]>[];
}

interface SweptWatch {
  readonly watch: Watch;
  readonly sender: Sender;
  readonly sources: readonly StoredSource[];
  /** The objects to read. */
  readonly names: ObjectNames;
}

type StoredSource = RelatedSource & {
  readonly keeper: RelatedStore;
  /** The objects to read. */
  readonly names: ObjectNames;
  isComplete: boolean;
};

/**
 * Invocations in flight for a cluster: when a relay is lost, all its clusters are swept in the same minute.
 */
const MAX_INVOCATIONS = 2;

/**
 * Lists the resources of a cluster's controllers and sends the selected objects. Related resources are listed
 * first: a controller without all its related objects sends nothing.
 */
export async function sweepEverything(options: SweepEverythingOptions): Promise<SweepOutcome> {
  const { cluster, watches, mode, minute, clock, signal, transport, touched } = options;
  const most = mode === "touched" ? Number.POSITIVE_INFINITY : MAX_INVOCATIONS;
  const slots = createSemaphore(() => Math.min(most, cluster.limits.invocations), 1_000);
  const facts = { ...buildWatchContext(cluster), mode, minute, nowMs: clock.wallTime().getTime() };
  const reading = { transport, direct: options.direct, bounds: cluster.limits, signal };
  const plan = touched && (await planTouched(touched, watches, facts, reading));
  const context = plan === undefined ? facts : { ...facts, isDue: plan.isDue };
  const planned = plan?.watches ?? watches.map((watch) => ({ watch, names: ALL, related: [] }));
  const all = planned.map(({ watch, names, related }): SweptWatch => {
    const sources = watch.related.map((each, index) => createStoredSource(each, related[index] ?? ALL));
    return { watch, names, sources, sender: createSender({ ...options, watch, semaphore: slots, sources }) };
  });
  const read: Pick<NamedObjects, "failure">[] = [...(plan?.read.values() ?? [])];
  const failures: NonNullable<ListResult["failure"]>[] = read.flatMap(({ failure }) => failure ?? []);
  const waiting = new Set(all);
  let listed = 0;
  let malformed = 0;

  for (const { resource, only } of sortWatches(all)) {
    if (signal.aborted) break;
    const path = formatFollowedPath(resource, only);
    const isOf = (other: FollowedResource): boolean =>
      formatFollowedPath(other.resource, other.only) === path;
    const ready = [...waiting].filter(
      ({ watch, sources }) => isOf(watch) && sources.every(({ isComplete }) => isComplete),
    );
    const ofResource = all.flatMap(({ sources }) => sources.filter(({ related }) => isOf(related)));
    const unread = ofResource.filter(({ isComplete }) => !isComplete);
    if (ready.length === 0 && unread.length === 0) continue;
    const names = mergeNames([...ready, ...unread].map((each) => each.names));
    const known = plan?.read.get(resource.name);
    const found = await listInPasses({
      ...{ ...reading, resource, only, controllers: ready, context, clock, names, known },
      related: unread.map(({ keeper }) => keeper),
    });
    listed += found.objects;
    malformed += found.malformed;
    if (found.failure === undefined) for (const source of unread) source.isComplete = true;
    else failures.push(found.failure);
    for (const each of ready) waiting.delete(each);
  }
  await Promise.all(all.map(({ sender }) => sender.sendAll()));
  return { listed, malformed, failures, sent: all.map(({ sender }) => sender.counts()) };
}

/**
 * Sorts related resources first. A resource that reads others comes last, a second time if it was already
 * listed for others.
 */
function sortWatches(all: readonly SweptWatch[]): readonly FollowedResource[] {
  return [...all.flatMap(({ watch }) => watch.related), ...all.map(({ watch }) => watch)];
}

/** A listed resource: all its objects, or one. */
type FollowedResource = Pick<Watch, "resource" | "only">;

/** Everything, as in a sweep. */
const ALL: ObjectNames = "all";

function createStoredSource(related: Related, names: ObjectNames): StoredSource {
  const projections = new Map<string, Projection>();
  let version = "0";
  const keeper: RelatedStore = {
    project: (object) => related.project(object),
    projections,
    listed(resourceVersion) {
      version = resourceVersion;
    },
  };
  const objects = { resource: related.resource, resourceVersion: () => version, projections };
  return { related, objects, keeper, names, isComplete: false };
}

/** One list of a resource for its own controllers and for those that read it as a related resource. */
interface ListPass {
  readonly transport: Transport;
  readonly direct: Transport;
  readonly resource: Resource;
  /** The only object of interest. */
  readonly only: ObjectName | undefined;
  /** Read by name, if they are few. */
  readonly names: ObjectNames;
  /** What was read of them already. */
  readonly known: NamedObjects | undefined;
  readonly controllers: readonly { readonly watch: Watch; readonly sender: Sender }[];
  readonly related: readonly RelatedStore[];
  readonly context: SelectContext;
  readonly bounds: FollowBounds;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Keeps what one controller's decisions read of a resource. */
interface RelatedStore {
  project(object: unknown): unknown;
  readonly projections: Map<string, Projection>;
  /** Sets the version of the list. */
  listed(resourceVersion: string): void;
}

/** The counts of a list. */
interface ListResult {
  readonly objects: number;
  /** Left out, because they violate the API server's schema. */
  readonly malformed: number;
  /** Why the list is incomplete. */
  readonly failure: Pick<RequestFailure, "code" | "message"> | undefined;
}

/**
 * Objects a page: parsing takes several times its size, and a function of 256 MiB reads two pages at a time.
 */
const PAGE_OBJECTS = 200;

/**
 * Reads a list page by page and passes each object on before it requests the next page; it keeps no objects.
 */
async function listInPasses(pass: ListPass): Promise<ListResult> {
  const { resource, bounds, clock, signal } = pass;
  const path = formatFollowedPath(resource, pass.only);
  const budget = createListBudget(bounds, path, clock);
  const size = createPageSize(PAGE_OBJECTS);
  const breathe = createYieldToEventLoop();
  let objects = 0;
  let malformed = 0;
  let keptBytes = 0;
  let token: string | undefined;
  const named = await readNamed();
  if (named !== undefined) return { objects, malformed, failure: named.failure };
  do {
    const failure = budget.refuses() ?? (await readPage());
    if (failure !== undefined) return { objects, malformed, failure };
    for (const { sender } of pass.controllers) await sender.sendFull();
    if (signal.aborted) return { objects, malformed, failure: DEADLINE };
  } while (token !== undefined && objects <= 2 * bounds.objects && keptBytes <= bounds.objectBytes);
  const failure =
    token === undefined ? undefined : ({ code: "ClusterLimited", message: describeExcess(path) } as const);
  return { objects, malformed, failure };

  /** Reads a few objects by name; undefined if there are many. */
  async function readNamed(): Promise<NamedObjects | undefined> {
    const { names, known } = pass;
    if (names === "all") return undefined;
    const missing = new Map([...names].filter(([key]) => known?.names.has(key) !== true));
    const found = await readNames(pass, resource, missing);
    if (found === undefined) return undefined;
    for (const { objects: each, names: asked, resourceVersion } of [found, ...(known ? [known] : [])]) {
      for (const object of each.values()) take(object);
      if (asked.size > 0) for (const keeper of pass.related) keeper.listed(resourceVersion);
    }
    return { ...found, failure: known?.failure ?? found.failure };
  }

  /** In a function of its own: waiting for senders must not retain a page. */
  async function readPage(): Promise<ListResult["failure"]> {
    const items: unknown[] = [];
    const keep = (object: unknown): void => void items.push(object);
    const page = await listPage(pass.transport, path, token, keep, signal, { size, bounds });
    if (signal.aborted) return DEADLINE;
    if (page.kind === "failed") return page;
    if (page.kind === "expired") return { code: "Expired", message: `the list of ${path} expired meanwhile` };
    budget.spend(page.bytes);
    token = page.next;
    for (const object of items) {
      const wait = breathe();
      if (wait !== undefined) await wait;
      take(object);
    }
    for (const keeper of pass.related) keeper.listed(page.resourceVersion);
    return undefined;
  }

  function take(object: unknown): void {
    const key = parseObjectKey(object);
    objects += 1;
    if (key === undefined) {
      malformed += 1;
      return;
    }
    const parsed = new Map<Watch["parse"], ParsedObject<never> | ReturnType<Watch["parse"]>>();
    for (const { watch, sender } of pass.controllers) {
      const result = parsed.get(watch.parse) ?? watch.parse(object);
      parsed.set(watch.parse, result);
      if (result.kind === "malformed") continue;
      const selected = select(watch, result.object, pass.context);
      if (selected !== undefined) sender.add(selected);
    }
    if ([...parsed.values()].some(({ kind }) => kind === "malformed")) malformed += 1;
    for (const { project, projections } of pass.related) {
      const value = project(object);
      if (value === undefined) continue;
      const bytes = Buffer.byteLength(JSON.stringify(value)) + 1;
      keptBytes += bytes;
      projections.set(formatObjectKey(key), { value, bytes });
    }
  }
}

const DEADLINE = { code: "Aborted", message: "the time of this sweep was up" } as const;

function describeExcess(path: string): string {
  return `the list of ${path} has more than the cluster's limits allow; raise them if that is as it should be`;
}
