import type { Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import type { Holding } from "#core/service/holdings.ts";
import type { Ingress, Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** The cloud capability that the service controller uses. */
export const LOAD_BALANCERS = "loadBalancers";

/**
 * A node that load balancers send to: not being deleted, not excluded by label, without the autoscaler's
 * deletion taint.
 */
export interface TargetNode {
  readonly name: string;
  /** Absent before the node is initialized. */
  readonly providerID?: string | undefined;
  /** The label hashes of `src/core/service/state-annotation.ts`; absent when the labels are unknown. */
  readonly labels?: string | undefined;
}

/**
 * The question to a cloud's `loadBalancers` about one Service (the `ask` of a `Question`), and the input of
 * its model.
 */
export interface LoadBalancerQuestion {
  readonly service: Service;
  /** Whether the Service should have a load balancer; otherwise its load balancer is removed. */
  readonly wanted: boolean;
  /** Sorted by name; empty when no load balancer is wanted. */
  readonly nodes: readonly TargetNode[];
  /**
   * As far as is known, all but the targets is applied. State that needs extra requests, such as attributes,
   * may be left out and counts as correct. An audit reads everything.
   */
  readonly onlyTargets?: true | undefined;
}

/**
 * A problem that the Service's owner or the operator has to fix, reported as a Warning
 * `SyncLoadBalancerFailed`. The tenant's words are kept apart from ours. Text for the operator only is in
 * `detail`.
 */
export interface Issue {
  /** The code of the issue in CamelCase, from `src/core/service/issues.ts`. */
  readonly code: string;
  /** The field or annotation of the Service to fix, verbatim. */
  readonly field?: string | undefined;
  /** The value of the field, verbatim. */
  readonly value?: string | undefined;
  /** The allowed values in our words; contains nothing from the cloud's answer. */
  readonly allowed?: string | undefined;
  /** For the operator: in the log line and in `explain`. */
  readonly detail?: string | undefined;
  /**
   * The reason of a second Warning, as the cloud's stock controller emits it in addition to
   * `SyncLoadBalancerFailed`.
   */
  readonly stockReason?: "LoadBalancerConfigError" | undefined;
}

/** An action before the controller adds the capability and the guard. */
export type LoadBalancerAction = Pick<CloudAction, "action" | "target" | "parameters">;

/**
 * The values to write on a Service; null removes one. Annotations and labels are written through the status,
 * like everything else. A `loadBalancerIP` needs the right to patch Services.
 */
export interface ServiceEdit {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly loadBalancerIP?: string | null;
}

/** The next step for a Service's load balancer. */
export type LoadBalancerStep =
  | PossibleStep
  /** Nothing is done until the issue is fixed; existing resources stay unchanged. */
  | { readonly kind: "refused"; readonly issue: Issue };

/** The next step for a Service that can be served. */
export type PossibleStep =
  /** Actions with complete inputs; each runs only if the previous ones succeeded. */
  | {
      readonly kind: "act";
      readonly because: Reason;
      readonly actions: readonly [LoadBalancerAction, ...LoadBalancerAction[]];
      /** The actions change targets only, so the rest needs no new observation, whatever their result. */
      readonly onlyTargets?: true | undefined;
      /**
       * A repeated request would create a duplicate, and the resource may not be visible at once. So no actor
       * repeats it for a while, whatever the result.
       */
      readonly once?: true | undefined;
    }
  /**
   * Something is written on the Service first: the cloud's name of a created resource, or a chosen address.
   */
  | { readonly kind: "write"; readonly because: Reason; readonly edit: ServiceEdit }
  /** The cloud is still working, or does not show a change yet. */
  | { readonly kind: "wait"; readonly because: Reason; readonly afterSeconds: number }
  /**
   * The desired state is reached. `ingress` is empty when no load balancer is wanted and nothing of ours
   * remains.
   */
  | {
      readonly kind: "settled";
      readonly ingress: readonly Ingress[];
      readonly warnings: readonly Issue[];
      /** Some nodes cannot be targets yet: the addresses are published, and the targets are checked again. */
      readonly awaits?: Reason | undefined;
    }
  /**
   * The desired state is reached, and a component in the cluster writes the status from our annotations. The
   * status stays unchanged, also when no load balancer is wanted.
   */
  | { readonly kind: "handed-over"; readonly warnings: readonly Issue[] }
  /**
   * The Service belongs to another controller (`aws-load-balancer-type: external`): no action and no message.
   */
  | { readonly kind: "foreign" };

/** How a cloud marks and removes the resources of a Service that no longer exists. */
export type OrphanModel = RemovedOrphans | DroppedOrphans;

interface MarkedOrphans {
  /** Writes the text of a mark, which the next audit reads as `Holding.mark`. */
  mark(holding: Holding, text: string): LoadBalancerAction;
  /** Removes the mark. */
  unmark(holding: Holding): LoadBalancerAction;
}

/**
 * Orphans that cost money and may still have clients: removed one at a time, and only if the operator enables
 * it.
 */
export interface RemovedOrphans extends MarkedOrphans {
  /**
   * Returns an audit's actions on resources that several load balancers share, from the `shared` of its
   * answer. A resource without users is marked as unused since `now`, and removed after a grace period. Only
   * the audit removes it, because a load balancer that is deleted cannot know which ones come later. Actions
   * are independent of one another.
   */
  tidyShared?(shared: unknown, now: Date, settings: Settings): readonly LoadBalancerAction[];
  /**
   * Returns the next step to remove an orphan with all its parts, from the `state` of the audit after
   * `applyResult`. The next audit finds the rest after an interruption at any point.
   */
  planStep(holding: Holding, observed: unknown, settings: Settings): LoadBalancerStep;
}

/**
 * Orphans that are only entries in the cluster's own records, identified by the Service's uid. One action
 * drops each entry, even if another Service has the same name.
 */
export interface DroppedOrphans extends MarkedOrphans {
  drop(holding: Holding): LoadBalancerAction;
}

/** The amounts that a Service's load balancer counts as. */
export interface LoadBalancerSize {
  /** The `Holding.kind` of the existing or future load balancer. */
  readonly kind: string;
  /** The number of listeners that the Service requests and the cloud does not show. */
  readonly missingListeners: number;
}

/**
 * The load balancers of one cloud as pure functions, which `src/core/service` calls between observations and
 * actions. `observed` is the `state` from the cloud's capability, as JSON, with the results of our own
 * actions applied.
 */
export interface LoadBalancerModel {
  /**
   * Returns what is known before the cloud is asked: the Service belongs to another controller or cannot be
   * served. Undefined if the cloud must be asked.
   */
  precheck(
    question: LoadBalancerQuestion,
    settings: Settings,
  ): Extract<LoadBalancerStep, { readonly kind: "refused" | "foreign" }> | undefined;
  /** Returns the next step. Repeated decisions on the results of `act` approach `settled`. */
  planStep(question: LoadBalancerQuestion, observed: unknown, settings: Settings): LoadBalancerStep;
  /**
   * Returns the actions that make an existing load balancer send to the question's nodes while the Service is
   * otherwise refused. They register and deregister targets, and open what new targets need to be reachable.
   * Everything else stays unchanged. Returns `wait` while the cloud is still working on an earlier change.
   * Undefined when no load balancer of the Service is visible, or when its targets are unknown.
   *
   * `question.onlyTargets` is set, but the observation may contain more. Without this function the targets
   * stay as well.
   */
  followNodes?(
    question: LoadBalancerQuestion,
    observed: unknown,
    settings: Settings,
  ): readonly LoadBalancerAction[] | Extract<LoadBalancerStep, { readonly kind: "wait" }> | undefined;
  /**
   * Returns the observed targets that are not among the question's nodes, in the form of `getTarget`.
   * Undefined stands for a target whose node the cloud does not report. Without this function a load balancer
   * cannot lose targets.
   */
  listLostTargets?(question: LoadBalancerQuestion, observed: unknown): readonly (string | undefined)[];
  /** A new resource is visible to every reader immediately, so "not found" is a proof at once. */
  readonly isImmediatelyVisible?: true;
  /**
   * Returns whether the load balancer that the Service now requests is visible in the cloud. Without this
   * function it counts as visible when it has to go, and as not visible when the limit is reached.
   */
  isVisible?(question: LoadBalancerQuestion, observed: unknown, settings: Settings): boolean;
  /**
   * Returns the size of a Service's load balancer; a cloud without this function counts load balancers only.
   */
  measure?(question: LoadBalancerQuestion, observed: unknown): LoadBalancerSize;
  /** Returns the observation after a successful action; `result` is the answer of `act`. */
  applyResult(observed: unknown, action: LoadBalancerAction, result: unknown): unknown;
  /**
   * Returns whether an action's change also appears in the observations of other Services, and is then
   * applied to them as well.
   */
  isShared?(action: LoadBalancerAction): boolean;
  /**
   * Returns the text, to be hashed, of everything in a Service and its cloud's configuration that defines its
   * load balancer. Targets are not included. The audit finds changes that come from the cloud itself, such as
   * a newly tagged subnet.
   */
  describeDesired(service: Service, settings: Settings): string;
  /**
   * Returns the issue behind an action that the cloud refused, if a person has to fix something. Undefined if
   * the failure is temporary or needs a new observation. `reason` is the cloud's own error code.
   */
  toIssue?(
    action: LoadBalancerAction,
    refusal: { readonly kind: "conflict" | "error"; readonly reason: string | undefined },
    service: Service,
  ): Issue | undefined;
  /** How orphans are found; a cloud without it reports no orphans. */
  readonly orphans?: OrphanModel;
  /**
   * Returns whether the controller removes the resources of a Service that never had a load balancer. It does so if
   * the cloud refuses this action until a person fixes something. `observed` is the state before our first action.
   * Without this function all resources stay.
   */
  needsRollback?(action: LoadBalancerAction, observed: unknown): boolean;
  /**
   * The load balancers do not select nodes: the elected node, or the one that announces the address, receives
   * the requests.
   */
  readonly hasNoTargets?: true;
  /**
   * Returns the part of a node that targets depend on, such as its instance ID; undefined when the node
   * cannot be a target of the Service.
   */
  getTarget(node: TargetNode, service: Service): string | undefined;
}

/** The answer of the capability `loadBalancers` to one question. */
export type LoadBalancerAnswer = Observation;
