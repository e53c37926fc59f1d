import type { ParsedObject, Watch } from "#core/controller.ts";
import {
  formatFollowedPath,
  formatObjectKey,
  type ObjectName,
  type Resource,
} from "#core/resources/resource.ts";
import type { Projection } from "#delivery/related-batch.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { FollowBounds } from "#kube/follow/bounds.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { listPage } from "#kube/follow/list.ts";
import { createListBudget } from "#kube/follow/list-budget.ts";
import { parseObjectKey } from "#kube/follow/object-key.ts";
import { createPageSize } from "#kube/follow/page-size.ts";
import type { RequestFailure } from "#kube/follow/request-failure.ts";
import { createYieldToEventLoop } from "#kube/follow/yield-to-event-loop.ts";
import { type SelectContext, select } from "#sweep/select.ts";
import type { Sender } from "#sweep/sender.ts";

/** One list of a resource for its own controllers and for those that read it as a related resource. */
export interface ListPass {
  readonly transport: Transport;
  readonly resource: Resource;
  /** The only object of interest. */
  readonly only: ObjectName | undefined;
  readonly controllers: readonly { readonly watch: Watch; readonly sender: Sender }[];
  readonly related: readonly RelatedStore[];
  readonly context: SelectContext;
  readonly bounds: FollowBounds;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Keeps what one controller's decisions read of a resource. */
export interface RelatedStore {
  project(object: unknown): unknown;
  readonly projections: Map<string, Projection>;
  /** Sets the version of the list. */
  listed(resourceVersion: string): void;
}

/** The counts of a list. */
export interface ListResult {
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
export async function listInPasses(pass: ListPass): Promise<ListResult> {
  const { resource, bounds, clock, signal } = pass;
  const path = formatFollowedPath(resource, pass.only);
  const budget = createListBudget(bounds, path, clock);
  const size = createPageSize(PAGE_OBJECTS);
  const breathe = createYieldToEventLoop();
  let objects = 0;
  let malformed = 0;
  let keptBytes = 0;
  let token: string | undefined;
  do {
    const failure = budget.refuses() ?? (await readPage());
    if (failure !== undefined) return { objects, malformed, failure };
    for (const { sender } of pass.controllers) await sender.sendFull();
    if (signal.aborted) return { objects, malformed, failure: DEADLINE };
  } while (token !== undefined && objects <= 2 * bounds.objects && keptBytes <= bounds.objectBytes);
  const failure =
    token === undefined ? undefined : ({ code: "ClusterLimited", message: describeExcess(path) } as const);
  return { objects, malformed, failure };

  /** In a function of its own: waiting for senders must not retain a page. */
  async function readPage(): Promise<ListResult["failure"]> {
    const page = await listPage(pass.transport, path, token, signal, { size, bounds });
    if (signal.aborted) return DEADLINE;
    if (page.kind === "failed") return page;
    if (page.kind === "expired") return { code: "Expired", message: `the list of ${path} expired meanwhile` };
    budget.spend(page.characters);
    token = page.next;
    for (const object of page.items) {
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
