import type { Observation } from "#core/capability.ts";
import type { AskContext, DoneWrite } from "#core/controller.ts";
import type { CloudAction } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import { type Holding, HoldingsState } from "#core/service/holdings.ts";
import { SERVICES_UNKNOWN } from "#core/service/issues.ts";
import type { LoadBalancerModel } from "#core/service/model.ts";
import {
  type ExistingService,
  mayHoldLoadBalancer,
  selectExistingServices,
} from "#core/service/orphans/existing-services.ts";

/** The cloud's answer to an audit, with the writes done since. */
export type OrphanAnswer = Observation & { readonly done?: readonly DoneWrite[] };

/** The facts of an audit, or the reason why they are missing. */
export type Audit =
  | { readonly kind: "unknown"; readonly because: Reason; readonly afterSeconds: number }
  | KnownAudit;

export interface KnownAudit {
  readonly kind: "known";
  readonly orphans: FoundOrphans;
  /** What several load balancers share, in the form that the cloud's model reads. */
  readonly shared?: unknown;
  /** The next orphan to delete, and its current state. */
  readonly removable: { readonly holding: Holding; readonly state: unknown } | undefined;
  /** The attempted actions, such as writing and removing marks, by `formatActionKey`. */
  readonly tried: ReadonlySet<string>;
  /** Why an action failed. */
  readonly failure: Reason | undefined;
}

/** Returns the facts of an audit; `model` is the load balancer model of the cluster's cloud. */
export function buildAudit(
  answer: OrphanAnswer | undefined,
  model: LoadBalancerModel,
  { related }: AskContext,
): Audit {
  const living = selectExistingServices(related);
  if (living === undefined) return { kind: "unknown", because: SERVICES_UNKNOWN, afterSeconds: 5 };
  if (answer?.kind !== "observed") {
    const { code, message } = answer ?? NOT_ASKED;
    return createUnknownAudit(code, message, UNANSWERED_SECONDS);
  }
  const read = HoldingsState.safeParse(answer.state);
  if (!read.success)
    return createUnknownAudit(
      "Invalid",
      "the cloud's answer about load balancers is invalid",
      UNANSWERED_SECONDS,
    );
  const { holdings, removable, shared } = read.data;
  // A Service of another type than LoadBalancer keeps its former load balancer while it has our finalizer or
  // annotation. It never keeps an entry in the cluster's records.
  const holders = isDropping(model)
    ? living.filter(({ isPlain }) => !isPlain)
    : living.filter(mayHoldLoadBalancer);
  const orphans = findOrphans(holdings, holders);
  const holding = orphans.gone.find(({ id }) => id === removable?.id);
  const done = (answer.done ?? []).flatMap(selectCloudActions);
  const failed = done.find(({ failed: because }) => because !== undefined);
  return {
    kind: "known",
    orphans,
    shared,
    removable:
      holding === undefined
        ? undefined
        : {
            holding,
            state: done.reduce((state, each) => applyActions(model, state, each), removable?.state),
          },
    tried: new Set(done.map(({ write }) => formatActionKey(write))),
    failure: failed?.failed,
  };
}

/** Returns whether orphans are entries in the cluster's records, which are dropped. */
export function isDropping({ orphans }: LoadBalancerModel): boolean {
  return orphans !== undefined && "drop" in orphans;
}

/** Returns a key that is unique among the actions of one audit. */
export function formatActionKey({ action, target }: Pick<CloudAction, "action" | "target">): string {
  return `${action} ${target}`;
}

const UNANSWERED_SECONDS = 60;

const NOT_ASKED: Reason = { code: "Unavailable", message: "the cloud gave no answer about load balancers" };

interface DoneAction extends DoneWrite {
  readonly write: CloudAction;
}

function selectCloudActions(done: DoneWrite): DoneAction[] {
  return done.write.on === "cloud" ? [{ ...done, write: done.write }] : [];
}

/** Applies an action that requires an absent Service to the state of its holding. Other actions only write marks. */
function applyActions(model: LoadBalancerModel, state: unknown, { write, result }: DoneAction): unknown {
  return write.precondition.absent === undefined ? state : model.applyResult(state, write, result);
}

function createUnknownAudit(code: string, message: string, afterSeconds: number): Audit {
  return { kind: "unknown", because: { code, message }, afterSeconds };
}

/** The cloud's holdings for a cluster, sorted by the state of their Services. */
export interface FoundOrphans {
  /** Holdings of existing Services: created for them, or named by them. */
  readonly retained: readonly Holding[];
  /** Holdings without a Service: neither their name nor their uid exists. */
  readonly gone: readonly Holding[];
  /** Load balancers whose Service is gone while another Service has its name. They are only reported. */
  readonly replaced: readonly Holding[];
  /**
   * The result of the visibility probe: a load balancer whose name contains the uid of an existing Service. Such a
   * name is never a coincidence. So the cloud, the region and the cluster tag are those of this cluster. Undefined
   * if no such load balancer exists.
   */
  readonly control: Holding | undefined;
}

/** Compares the cloud's holdings with all existing Services. */
export function findOrphans(holdings: readonly Holding[], living: readonly ExistingService[]): FoundOrphans {
  const keys = new Set(living.map(({ key }) => key));
  const named = new Set(living.flatMap(({ loadBalancerID }) => loadBalancerID ?? []));
  const uids = new Map<number, Set<string>>();
  const isKnownUid = (beginning: string): boolean => {
    const { length } = beginning;
    const prefixes = uids.get(length) ?? new Set(living.map(({ uid }) => uid.slice(0, length)));
    uids.set(length, prefixes);
    return prefixes.has(beginning);
  };
  const retained: Holding[] = [];
  const gone: Holding[] = [];
  const replaced: Holding[] = [];
  let control: Holding | undefined;
  for (const holding of holdings) {
    const { service, uid, isPart } = holding;
    const isOfExisting = uid !== undefined && isKnownUid(uid);
    if (isOfExisting && isPart === undefined) control ??= holding;
    if (service === undefined || isOfExisting || named.has(holding.id)) retained.push(holding);
    else if (!keys.has(service)) gone.push(holding);
    else if (uid !== undefined && isPart === undefined) replaced.push(holding);
    else retained.push(holding);
  }
  return { retained, gone, replaced, control };
}
