import type { Observation } from "#core/capability.ts";
import type { Because, CloudAction } from "#core/decision.ts";
import type { Holding } from "#core/service/holdings.ts";
import type { Ingress, Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** The capability of a cloud that the service controller uses. */
export const LOAD_BALANCERS = "loadBalancers";

/** A node that load balancers send to: not being deleted, not excluded by its label, not about to go by the autoscaler's taint. */
export interface TargetNode {
  readonly name: string;
  /** Absent before the node is initialized. */
  readonly providerID?: string | undefined;
  /** Its labels as `core/service/label-marks.ts` writes them; absent where nobody has told them. */
  readonly labels?: string | undefined;
}

/** What the cloud's `loadBalancers` is asked of one Service (as `Question.ask`), and what its model decides on. */
export interface LoadBalancerQuestion {
  readonly service: Service;
  /** Whether the Service is to have a load balancer; otherwise what it has is to go. */
  readonly wanted: boolean;
  /** Sorted by name; none where nothing is wanted. */
  readonly nodes: readonly TargetNode[];
  /**
   * All but the targets is as it was applied, as far as anybody knows: what takes requests of its own, such as attributes, need not
   * be looked at then, and counts as as it is to be. An audit looks at everything.
   */
  readonly onlyTargets?: true | undefined;
}

/**
 * Something about a Service that its owner or the operator has to mend: a Warning `SyncLoadBalancerFailed` on it. What is the
 * tenant's own words stands apart from what is ours, and what only the operator may read stands in `detail` alone.
 */
export interface Problem {
  /** Tells problems apart, in CamelCase; a code of `core/service/problems.ts`. */
  readonly code: string;
  /** The field or annotation of the Service that is to be mended, as it is written there. */
  readonly field?: string | undefined;
  /** What it says, as it is written there. */
  readonly value?: string | undefined;
  /** What it may be, in our own words; holds nothing that the cloud said. */
  readonly allowed?: string | undefined;
  /** For the operator: the log line and `explain`. */
  readonly detail?: string | undefined;
  /** A second Warning with the reason that the cloud's stock controller has for it, beside `SyncLoadBalancerFailed`. */
  readonly stockReason?: "LoadBalancerConfigError" | undefined;
}

/** An action without what the controller adds to it: the capability and the guard. */
export type LoadBalancerAction = Pick<CloudAction, "action" | "target" | "parameters">;

/**
 * What is to stand on a Service; null takes it away. Annotations and labels are written through its status, as everything else is: whoever
 * gives a `loadBalancerIP` needs the right to patch Services.
 */
export interface ServiceEdit {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly loadBalancerIP?: string | null;
}

/** What is next for a Service's load balancer. */
export type LoadBalancerStep =
  | PossibleStep
  /** Nothing is done until somebody mends it; what is there stays as it is. */
  | { readonly kind: "refused"; readonly problem: Problem };

/** What comes next for a Service that can be served. */
export type PossibleStep =
  /** Actions whose inputs are all known; each is carried out only if those before it succeeded. */
  | {
      readonly kind: "act";
      readonly because: Because;
      readonly actions: readonly [LoadBalancerAction, ...LoadBalancerAction[]];
      /** They change targets alone: of the rest nothing has to be looked at again, whatever becomes of them. */
      readonly onlyTargets?: true | undefined;
      /**
       * They make what the cloud would make a second time if it were asked twice, and may not show at once: nobody does so again for a
       * while, whatever became of the first time.
       */
      readonly once?: true | undefined;
    }
  /** Something is to be written on the Service itself before anything else is done: what the cloud calls what it made, or an address that was chosen. */
  | { readonly kind: "write"; readonly because: Because; readonly edit: ServiceEdit }
  /** The cloud is at it, or has not shown yet what was done. */
  | { readonly kind: "wait"; readonly because: Because; readonly afterSeconds: number }
  /** All is as it is to be. `ingress` is empty where nothing is wanted and nothing of ours is left. */
  | {
      readonly kind: "settled";
      readonly ingress: readonly Ingress[];
      readonly warnings: readonly Problem[];
      /** Some nodes cannot be targets yet and may become some: the addresses are published, and the targets are looked at again. */
      readonly awaits?: Because | undefined;
    }
  /** The same where somebody in the cluster writes the status by what we have written on the Service: it stays as it is, also where nothing is wanted. */
  | { readonly kind: "handed-over"; readonly warnings: readonly Problem[] }
  /** Another controller's (`aws-load-balancer-type: external`): nothing is done, nothing is said. */
  | { readonly kind: "elsewhere" };

/** How what the cloud holds for a Service that is no more is marked, and goes. */
export type OrphanModel = RemovedOrphans | DroppedOrphans;

interface MarkedOrphans {
  /** Writes the text of a mark where the next audit reads it as `Holding.mark`. */
  mark(holding: Holding, text: string): LoadBalancerAction;
  /** Takes the mark off. */
  unmark(holding: Holding): LoadBalancerAction;
}

/** Orphans that are what an account pays for, and what clients may still use: one at a time, and only where the operator wants it. */
export interface RemovedOrphans extends MarkedOrphans {
  /**
   * Returns what an audit does about that which several load balancers share, by the `shared` that came with it: what none of them uses
   * is marked as unused since `now`, and removed when it has been unused for a period of grace. Nobody else removes it, because a load
   * balancer that goes cannot know which ones come. Actions do not depend on one another.
   */
  tidyShared?(shared: unknown, now: Date, settings: Settings): readonly LoadBalancerAction[];
  /**
   * What is next for it to go, with all that belongs to it, by the `state` that came with the audit and that `fold` has kept. What is cut
   * short at any point is found by the next audit, the rest included.
   */
  next(holding: Holding, observed: unknown, settings: Settings): LoadBalancerStep;
}

/**
 * Orphans that are no more than a line in the cluster's own books, with the uid of its Service for an id: each is dropped by one action,
 * whether or not another Service has its name.
 */
export interface DroppedOrphans extends MarkedOrphans {
  drop(holding: Holding): LoadBalancerAction;
}

/** What a Service's load balancer counts as. */
export interface LoadBalancerSize {
  /** The `Holding.kind` that it has, or is to have. */
  readonly kind: string;
  /** Listeners that the Service asks for beyond those that the cloud was seen to have. */
  readonly missingListeners: number;
}

/**
 * What load balancers are on one cloud: pure functions, which `core/service` calls between observations and actions. `observed` is
 * the `state` that the cloud's capability answered, as JSON, with the results of our own actions folded in.
 */
export interface LoadBalancerModel {
  /** What can be said of a Service before the cloud is asked: it is another's, or cannot be served; undefined where the cloud has to be asked. */
  before(
    question: LoadBalancerQuestion,
    settings: Settings,
  ): Extract<LoadBalancerStep, { readonly kind: "refused" | "elsewhere" }> | undefined;
  /** Deciding again on the folded results of an `act` comes nearer to `settled` each time. */
  next(question: LoadBalancerQuestion, observed: unknown, settings: Settings): LoadBalancerStep;
  /**
   * Returns the actions by which the load balancer that is there comes to send to the question's nodes, while something else that the
   * Service asks for is refused: targets are registered and deregistered, and what new targets need in order to be reached is opened.
   * All else stays as it is. Returns `wait` while the cloud is still at an earlier change, and undefined where it shows no load balancer
   * of the Service, or where its targets cannot be told.
   * `question.onlyTargets` is set, but the observation may hold more. Without this function the targets stay as well.
   */
  followNodes?(
    question: LoadBalancerQuestion,
    observed: unknown,
    settings: Settings,
  ): readonly LoadBalancerAction[] | Extract<LoadBalancerStep, { readonly kind: "wait" }> | undefined;
  /**
   * Returns the targets that the Service's load balancer was seen to have and that are none of the question's nodes, as `targetOf` has them;
   * undefined stands for one of which the cloud does not tell which node it is. Without this function it has none that could be lost.
   */
  lostTargets?(question: LoadBalancerQuestion, observed: unknown): readonly (string | undefined)[];
  /** What was made is seen from then on, by whoever asks: then "there is none" is believed at once. */
  readonly showsAtOnce?: true;
  /** Whether the load balancer that a Service asks for by now is among what the cloud was seen to have; so without it. */
  shows?(question: LoadBalancerQuestion, observed: unknown, settings: Settings): boolean;
  /** Tells what a Service's load balancer counts as; a cloud without it counts load balancers alone. */
  measure?(question: LoadBalancerQuestion, observed: unknown): LoadBalancerSize;
  /** The observation as it is after an action that succeeded; `result` is what `act` answered. */
  fold(observed: unknown, action: LoadBalancerAction, result: unknown): unknown;
  /** Whether what an action changes is the same in the observations of other Services, which it is folded into as well then. */
  isShared?(action: LoadBalancerAction): boolean;
  /**
   * All of a Service and its cloud's configuration that decides what its load balancer is, as a text to be hashed; targets are not
   * part of it. A part that the cloud itself supplies (a subnet that gets a tag) is found by the audit.
   */
  desired(service: Service, settings: Settings): string;
  /**
   * What an action that the cloud refused means for the Service, where somebody has to mend something; undefined where it passes or
   * is to be observed anew. `reason` is the cloud's own word.
   */
  problemOf?(
    action: LoadBalancerAction,
    refusal: { readonly kind: "conflict" | "error"; readonly reason: string | undefined },
    service: Service,
  ): Problem | undefined;
  /** What load balancers are whose Service has gone; a cloud without it has none that could be told. */
  readonly orphans?: OrphanModel;
  /**
   * Whether what there is of a Service that never had a load balancer is to go again, as the cloud has refused this action of ours
   * until somebody mends something; `observed` is what there was before the first of them. Without it all stays.
   */
  undoes?(action: LoadBalancerAction, observed: unknown): boolean;
  /** Its load balancers send to no nodes of their own choice: whoever is elected, or announces the address, takes the requests. */
  readonly hasNoTargets?: true;
  /** The part of a node that targets depend on, such as the id of its instance; undefined where the node cannot be a target of the Service. */
  targetOf(node: TargetNode, service: Service): string | undefined;
}

/** The answer of the capability `loadBalancers` to one question. */
export type LoadBalancerAnswer = Observation;
