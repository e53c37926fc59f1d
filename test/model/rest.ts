import { selectSettings } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { Report } from "#core/report.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import type { World } from "./world.ts";

/** How a living actor came to rest. */
export interface Rest {
  readonly invocations: number;
  /** Why it did not come to rest; undefined if it did. */
  readonly unrest: string | undefined;
}

/** An object that is still due after this many invocations does not converge. */
const MAX_INVOCATIONS = 60;

/** An object without a change for this long waits for a person to repair something. */
const QUIET_MS = 120_000;

/** Seconds between two resyncs of the living actor, for controllers of the cluster as a whole. */
const PERIOD_SECONDS = 10;

/**
 * Runs one living actor with current lists until nothing is due or in transit. It checks each object once at
 * its start, like a relay after a list; then when the object needs work or a report requests it. An audit
 * checks all objects, even those without work.
 */
export async function comeToRest(world: World, mode: "react" | "audit", limitMs: number): Promise<Rest> {
  const { clock, cluster, network } = world;
  const { controller } = world.scenario;
  const untilMs = clock.now() + limitMs;
  const known = new Map<string, { version: string; dueMs: number | undefined }>();
  let invocations = 0;
  let last = "nothing was looked at";
  let changes = network.changes();
  let quietSinceMs = clock.now();
  for (;;) {
    const nowMs = clock.now();
    const view = await cluster.view();
    const objects = controller.only === undefined ? view.services : [cluster.kubeSystem];
    for (const { metadata } of objects)
      if (!known.has(metadata.uid)) known.set(metadata.uid, { version: "", dueMs: nowMs });
    const uids = objects.flatMap((object) => {
      const { uid, resourceVersion } = object.metadata;
      const entry = known.get(uid);
      if (entry?.dueMs !== undefined) return entry.dueMs <= nowMs ? [uid] : [];
      return entry?.version !== resourceVersion && needsWork(world, object) ? [uid] : [];
    });
    if (uids.length > 0) {
      if (invocations === MAX_INVOCATIONS || nowMs > untilMs) return { invocations, unrest: last };
      invocations += 1;
      const wasInTransit = network.inTransit() > 0;
      const reason = mode === "audit" ? "refresh" : "watch";
      const report = await world.invoke({ actor: "living actor", reason, view, relatedView: view, uids });
      last = describe(report);
      for (const { metadata } of objects) {
        const entry = known.get(metadata.uid);
        if (entry === undefined || !uids.includes(metadata.uid)) continue;
        entry.version = metadata.resourceVersion;
        entry.dueMs = dueAfter(controller, report, metadata.uid, wasInTransit, clock.now());
      }
      continue;
    }
    const present = new Set(objects.map(({ metadata }) => metadata.uid));
    const dues = [...known].flatMap(([uid, { dueMs }]) =>
      present.has(uid) && dueMs !== undefined ? [dueMs] : [],
    );
    if (network.changes() > changes || network.inTransit() > 0) quietSinceMs = nowMs;
    changes = network.changes();
    if (network.inTransit() === 0 && (dues.length === 0 || nowMs - quietSinceMs > QUIET_MS))
      return { invocations, unrest: undefined };
    // A watch shows each change, and a request in transit may still change an object that needs no work now.
    const seen = network.changes();
    const waitMs = Math.max(1, Math.min(1_000, ...dues.map((dueMs) => dueMs - nowMs)));
    if (await clock.advanceUntil(() => network.changes() > seen, waitMs)) continue;
    await clock.advance(Math.max(0, nowMs + waitMs - clock.now()));
  }
}

function needsWork({ scenario: { controller, cluster } }: World, object: StoredObject): boolean {
  const parsed = controller.parse(object);
  if (parsed.kind === "malformed")
    throw new Error(`the API server stored what cannot be parsed: ${object.metadata.name}`);
  return controller.needsWork(parsed.object, { labelPrefixes: [], settings: selectSettings(cluster) });
}

/** Returns when an object is due after a check; undefined if only a change of the object makes it due. */
function dueAfter(
  { only }: Controller,
  report: Report | undefined,
  uid: string,
  wasInTransit: boolean,
  nowMs: number,
): number | undefined {
  const found = report?.objects.find((each) => each.uid === uid);
  if (found?.outcome === "retry") return nowMs + (found.afterSeconds ?? 0) * 1_000;
  const isPeriodic = only !== undefined && (found?.outcome === "changed" || wasInTransit);
  return isPeriodic ? nowMs + PERIOD_SECONDS * 1_000 : undefined;
}

function describe(report: Report | undefined): string {
  return (report?.objects ?? [])
    .map(({ name, outcome, because }) => `${name} ${outcome}: ${because.code}: ${because.message}`)
    .join("; ");
}
