import { buildWatchContext } from "#config/cluster.ts";
import type { Related, Watch } from "#core/controller.ts";
import { formatFollowedPath } from "#core/resources/resource.ts";
import type { Projection, RelatedSource } from "#delivery/related-batch.ts";
import { createSemaphore } from "#kube/client/semaphore.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type ListResult, listInPasses, type RelatedStore } from "#sweep/list-pass.ts";
import type { SelectContext } from "#sweep/select.ts";
import { createSender, type SendCounts, type Sender, type SenderOptions } from "#sweep/sender.ts";

/** The options of listing a cluster and sending the selected objects. */
export interface SweepEverythingOptions
  extends Pick<
    SenderOptions,
    "cluster" | "invoker" | "nextEventId" | "clock" | "random" | "signal" | "giveUp" | "readStop"
  > {
  readonly transport: Transport;
  /** The existing watches of the cluster's controllers. */
  readonly watches: readonly Watch[];
  readonly mode: SelectContext["mode"];
  readonly minute: number;
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
}

type StoredSource = RelatedSource & { readonly keeper: RelatedStore; isComplete: boolean };

/**
 * Invocations in flight for a cluster: when a relay is lost, all its clusters are swept in the same minute.
 */
const MAX_INVOCATIONS = 2;

/**
 * Lists the resources of a cluster's controllers and sends the selected objects. Related resources are listed
 * first: a controller without all its related objects sends nothing.
 */
export async function sweepEverything(options: SweepEverythingOptions): Promise<SweepOutcome> {
  const { cluster, watches, mode, minute, clock, signal, transport } = options;
  const slots = createSemaphore(() => Math.min(MAX_INVOCATIONS, cluster.limits.invocations), 1_000);
  const all = watches.map((watch): SweptWatch => {
    const sources = watch.related.map(createStoredSource);
    return { watch, sources, sender: createSender({ ...options, watch, semaphore: slots, sources }) };
  });
  const context = { ...buildWatchContext(cluster), mode, minute, nowMs: clock.wallTime().getTime() };
  const failures: NonNullable<ListResult["failure"]>[] = [];
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
    const read = all.flatMap(({ sources }) => sources.filter(({ related }) => isOf(related)));
    const unread = read.filter(({ isComplete }) => !isComplete);
    if (ready.length === 0 && unread.length === 0) continue;
    const found = await listInPasses({
      ...{ transport, resource, only, controllers: ready, context, bounds: cluster.limits, clock, signal },
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

function createStoredSource(related: Related): StoredSource {
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
  return { related, objects, keeper, isComplete: false };
}
