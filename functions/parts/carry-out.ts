import type { Cluster } from "#config/cluster.ts";
import type { Because, Decision } from "#core/decision.ts";
import type { Event } from "#core/event.ts";
import type { Node } from "#core/node/node.ts";
import { applyPolicies } from "#core/policies.ts";
import type { ClusterUsage, ObjectReport } from "#core/report.ts";
import { UP_TO_DATE } from "#core/up-to-date.ts";
import type { Deadline } from "#functions/parts/deadline.ts";
import type { Decisions } from "#functions/parts/decide-nodes.ts";
import type { World } from "#functions/parts/world.ts";
import { applyDecisions } from "#kube/apply/apply.ts";
import type { ApplyItem } from "#kube/apply/apply-decision.ts";
import type { Transport } from "#kube/client/transport.ts";

/** What became of the nodes, and what it took. */
export interface Outcomes {
  readonly objects: readonly ObjectReport[];
  readonly usage: ClusterUsage;
  readonly durationMs: number;
}

/** Nothing was sent. */
export const NO_CLUSTER_USAGE: ClusterUsage = {
  writes: 0,
  reads: 0,
  conflicts: 0,
  throttled: 0,
  events: 0,
  eventsDropped: 0,
};

/** Seconds after which nodes are due again whose API server we could not even sign in to. */
const SIGN_IN_AFTER_SECONDS = 10;

/** Who says so in the Events of this function. */
const REPORTING_INSTANCE = "serverless-ccm-node";

/** Writes what was decided, or with a dry run says what would have been written. Never rejects. */
export async function carryOut(
  world: World,
  cluster: Cluster,
  event: Event,
  { items, decideAgain }: Decisions,
  deadline: Deadline,
): Promise<Outcomes> {
  // The event can only tighten: there is no `dryRun: false` that it could carry.
  if (cluster.policies.dryRun || event.dryRun) return nothingSent(items.map(withoutWriting));
  if (items.length === 0) return nothingSent([]);
  const startedAt = performance.now();
  const signedIn = await signIn(world, cluster);
  if (signedIn.kind === "failed")
    return nothingSent(items.map((item) => notSignedIn(item, signedIn.because)));
  const { objects, usage } = await applyDecisions({
    transport: signedIn.transport,
    items,
    decideAgain,
    signal: deadline.signal,
    graceMs: deadline.settleMs,
    reportingInstance: REPORTING_INSTANCE,
    now: world.now(),
    maxInFlight: cluster.limits.requestsPerFunction,
    busy: event.busy ?? false,
  });
  return { objects, usage, durationMs: performance.now() - startedAt };
}

function nothingSent(objects: readonly ObjectReport[]): Outcomes {
  return { objects, usage: NO_CLUSTER_USAGE, durationMs: 0 };
}

type SignedIn =
  | { readonly kind: "transport"; readonly transport: Transport }
  | { readonly kind: "failed"; readonly because: Because };

async function signIn(world: World, cluster: Cluster): Promise<SignedIn> {
  try {
    return { kind: "transport", transport: await world.api(cluster) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the function cannot sign in to cluster "${cluster.name}": ${reason}`;
    return { kind: "failed", because: { code: "SignInFailed", message } };
  }
}

function withoutWriting({ index, node, decision }: ApplyItem): ObjectReport {
  const final = applyPolicies(decision, { dryRun: true, labelsOnly: false });
  return { ...about(index, node), ...outcomeOf(final), decision };
}

function outcomeOf(decision: Decision): Pick<ObjectReport, "outcome" | "because" | "afterSeconds"> {
  const { because } = decision;
  switch (decision.kind) {
    case "retry":
      return { outcome: "retry", because, afterSeconds: decision.afterSeconds };
    case "skip":
      return { outcome: because.code === UP_TO_DATE ? "unchanged" : "skipped", because };
    case "change":
      throw new Error("the dry-run policy let a change through");
  }
}

function notSignedIn({ index, node }: ApplyItem, because: Because): ObjectReport {
  return { ...about(index, node), outcome: "retry", because, afterSeconds: SIGN_IN_AFTER_SECONDS };
}

function about(index: number, node: Node): Pick<ObjectReport, "index" | "name" | "uid"> {
  return { index, name: node.metadata.name, uid: node.metadata.uid };
}
