import { watchContextOf } from "#config/cluster.ts";
import type { Related, Watch } from "#core/controller.ts";
import { followedPath } from "#core/resources/resource.ts";
import type { Projection, RelatedSource } from "#delivery/related-of-batch.ts";
import { createSlots } from "#kube/client/slots.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Listed, listInPasses, type RelatedKeeper } from "#sweep/list-pass.ts";
import type { SelectContext } from "#sweep/select.ts";
import { createSender, type Sender, type SenderOptions, type SentCounts } from "#sweep/sender.ts";

/** What listing a cluster and sending what is found takes. */
export interface EverythingOptions
  extends Pick<
    SenderOptions,
    "cluster" | "invoker" | "nextEventId" | "clock" | "random" | "signal" | "giveUp" | "stopOf"
  > {
  readonly transport: Transport;
  /** Those of the cluster's controllers that there are. */
  readonly watches: readonly Watch[];
  readonly mode: SelectContext["mode"];
  readonly minute: number;
}

/** What was found, and what came of it. */
export interface Everything {
  readonly listed: number;
  readonly malformed: number;
  readonly sent: readonly SentCounts[];
  /** Why lists were not read to their ends, each resource once. */
  readonly failures: readonly NonNullable<Listed["failure"]>[];
}

interface Swept {
  readonly watch: Watch;
  readonly sender: Sender;
  readonly sources: readonly KeptSource[];
}

type KeptSource = RelatedSource & { readonly keeper: RelatedKeeper; isComplete: boolean };

/** In flight for a cluster: where a relay is lost, all its clusters are swept in the same minute. */
const MAX_INVOCATIONS = 2;

/**
 * Lists the resources of a cluster's controllers and sends what is selected. What decisions read of others is listed before: a
 * controller whose related objects are not all known sends nothing.
 */
export async function sweepEverything(options: EverythingOptions): Promise<Everything> {
  const { cluster, watches, mode, minute, clock, signal, transport } = options;
  const slots = createSlots(() => Math.min(MAX_INVOCATIONS, cluster.limits.invocations), 1_000);
  const all = watches.map((watch): Swept => {
    const sources = watch.related.map(keptSource);
    return { watch, sources, sender: createSender({ ...options, watch, slots, sources }) };
  });
  const context = { ...watchContextOf(cluster), mode, minute, nowMs: clock.wallTime().getTime() };
  const failures: NonNullable<Listed["failure"]>[] = [];
  const waiting = new Set(all);
  let listed = 0;
  let malformed = 0;

  for (const { resource, only } of inOrder(all)) {
    if (signal.aborted) break;
    const path = followedPath(resource, only);
    const isOf = (other: Followed): boolean => followedPath(other.resource, other.only) === path;
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

/** What others read of comes first; what is read of others comes last, once more where it was listed for others already. */
function inOrder(all: readonly Swept[]): readonly Followed[] {
  return [...all.flatMap(({ watch }) => watch.related), ...all.map(({ watch }) => watch)];
}

/** What is listed: all objects of a resource, or one of them. */
type Followed = Pick<Watch, "resource" | "only">;

function keptSource(related: Related): KeptSource {
  const projections = new Map<string, Projection>();
  let version = "0";
  const keeper: RelatedKeeper = {
    project: (object) => related.project(object),
    projections,
    listed(resourceVersion) {
      version = resourceVersion;
    },
  };
  const objects = { resource: related.resource, resourceVersion: () => version, projections };
  return { related, objects, keeper, isComplete: false };
}
