import type { Observation } from "#core/capability.ts";
import type { AskContext, DoneWrite } from "#core/controller.ts";
import type { Because, CloudAction } from "#core/decision.ts";
import { type Holding, HoldingsState } from "#core/service/holdings.ts";
import type { LoadBalancerModel } from "#core/service/model.ts";
import { type FoundOrphans, findOrphans } from "#core/service/orphans/find-orphans.ts";
import { isHolder, livingIn } from "#core/service/orphans/living-services.ts";

/** What the cloud answers, and what we have done since. */
export type OrphanAnswer = Observation & { readonly done?: readonly DoneWrite[] };

/** What is known in an audit, or why nothing is. */
export type Audit =
  | { readonly kind: "unknown"; readonly because: Because; readonly afterSeconds: number }
  | KnownAudit;

export interface KnownAudit {
  readonly kind: "known";
  readonly found: FoundOrphans;
  /** What several load balancers share, as the cloud's model reads it. */
  readonly shared?: unknown;
  /** The one whose turn it is, and what there is of it by now. */
  readonly removable: { readonly holding: Holding; readonly state: unknown } | undefined;
  /** What was tried to be done, such as marks that were to be written or taken off, by `keyOfAction`. */
  readonly tried: ReadonlySet<string>;
  /** Why something of it failed. */
  readonly failure: Because | undefined;
}

/** Puts together what is known; `model` is the cloud's. */
export function auditOf(
  answer: OrphanAnswer | undefined,
  model: LoadBalancerModel,
  { related }: AskContext,
): Audit {
  const living = livingIn(related);
  if (living === undefined) return unknown("ServicesUnknown", "the event came without the Services", 5);
  if (answer?.kind !== "observed") {
    const { code, message } = answer ?? NOT_ASKED;
    return unknown(code, message, UNANSWERED_SECONDS);
  }
  const read = HoldingsState.safeParse(answer.state);
  if (!read.success)
    return unknown("Invalid", "what the cloud says of load balancers cannot be read", UNANSWERED_SECONDS);
  const { holdings, removable, shared } = read.data;
  // A Service of another type holds a load balancer only while something on it says so, and a line not even then.
  const holders = isDropping(model) ? living.filter(({ isPlain }) => !isPlain) : living.filter(isHolder);
  const found = findOrphans(holdings, holders);
  const holding = found.gone.find(({ id }) => id === removable?.id);
  const done = (answer.done ?? []).flatMap(ofCloud);
  const failed = done.find(({ failed: because }) => because !== undefined);
  return {
    kind: "known",
    found,
    shared,
    removable:
      holding === undefined
        ? undefined
        : { holding, state: done.reduce((state, each) => folded(model, state, each), removable?.state) },
    tried: new Set(done.map(({ write }) => keyOfAction(write))),
    failure: failed?.failed,
  };
}

/** Whether orphans are lines that are dropped. */
export function isDropping({ orphans }: LoadBalancerModel): boolean {
  return orphans !== undefined && "drop" in orphans;
}

/** What tells the actions of an audit apart. */
export function keyOfAction({ action, target }: Pick<CloudAction, "action" | "target">): string {
  return `${action} ${target}`;
}

const UNANSWERED_SECONDS = 60;

const NOT_ASKED: Because = { code: "Unavailable", message: "the cloud said nothing of load balancers" };

interface DoneAction extends DoneWrite {
  readonly write: CloudAction;
}

function ofCloud(done: DoneWrite): DoneAction[] {
  return done.write.on === "cloud" ? [{ ...done, write: done.write }] : [];
}

/** Marks are of any of them, what presupposes that a Service is gone is of that one alone. */
function folded(model: LoadBalancerModel, state: unknown, { write, result }: DoneAction): unknown {
  return write.precondition.absent === undefined ? state : model.fold(state, write, result);
}

function unknown(code: string, message: string, afterSeconds: number): Audit {
  return { kind: "unknown", because: { code, message }, afterSeconds };
}
