import type { ActionAnswer } from "#core/capability.ts";
import type { Because, CloudAction, Decision, Plan, Write } from "#core/decision.ts";
import type { ControllerName, EventReason, ObjectHint } from "#core/event.ts";
import type { Fault } from "#core/faults.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import type { FleetStanding } from "#core/node-lifecycle/fleet-brake.ts";
import type { ObjectReport } from "#core/report.ts";
import type { ObjectName, Resource } from "#core/resources/resource.ts";
import type { PlaceRequest, Places } from "#core/service/places.ts";
import type { Settings } from "#core/settings.ts";
import type { Stop } from "#core/stop.ts";

/** What every object of Kubernetes has, as far as it is read here. */
export interface ApiObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string | undefined;
  };
}

/** An object from outside: parsed, or what is wrong with it and as much of its identity as it has. */
export type Parsed<T> =
  | { readonly kind: "object"; readonly object: T }
  | {
      readonly kind: "malformed";
      readonly name?: string;
      readonly uid?: string;
      readonly faults: readonly Fault[];
    };

/** What of its cluster the watch half of a controller depends on beside the object. */
export interface WatchContext {
  /** Prefixes of the labels that the cluster's cloud writes. */
  readonly labelPrefixes: readonly string[];
  /** Keys of labels and of annotations by which that cloud knows a node; none without it. */
  readonly nodeKeys?: readonly string[];
  readonly settings: Settings;
}

/**
 * The half of a controller that whoever watches or sweeps needs: which objects it is about, and which of them need work.
 * All of it is pure, and none of it decides. `T` is the object as parsed.
 */
export interface Watch<T extends ApiObject = ApiObject> {
  /** As in `--controllers`, in events and in metrics; the stock cloud-controller-manager's where it has this one. */
  readonly name: ControllerName;
  /** Other names that `--controllers` takes. */
  readonly aliases: readonly string[];
  /** Whether `*` means this one too. */
  readonly onByDefault: boolean;
  /** The file in `functions/`, which is the last part of the deployed function's name. */
  readonly functionName: string;
  readonly resource: Resource;
  /**
   * The one object of the resource that is followed; without it all are. A controller that is about the cluster as a whole has the
   * namespace `kube-system` here, whose uid is the cluster's, and the objects that it decides on among its related ones.
   */
  readonly only?: ObjectName;
  /**
   * `object`: each for itself, one flight at a time for each uid. `batch`: decided together under state that they share, one
   * flight at a time for each cluster.
   */
  readonly scope: "object" | "batch";
  /**
   * Invocations of a cluster at a time at most, where one may take long: what comes meanwhile goes together, and others of the
   * cluster's places stay free. Without it the cluster's own limit alone holds.
   */
  readonly invocations?: number;
  /** What it does may take something away that does not come back: a function looks at what is stopped before it begins. */
  readonly deletes?: true;
  /** Parses a whole object or a snapshot of one; never throws. */
  parse(value: unknown): Parsed<T>;
  /** The part that decisions read. Deciding on it and on the object give the same; a snapshot's snapshot is itself. */
  snapshot(object: T, context: WatchContext): T;
  /** Whether an object, by what it is now, has something to be done on it; level-triggered. */
  needsWork(object: T, context: WatchContext): boolean;
  /**
   * What the owner of an object asks for, as one text: a wait for another try ends where it changes. Without it nothing but the
   * fingerprint of `looks` ends such a wait.
   */
  demand?(object: T, context: WatchContext): string;
  /** Objects of other resources that decisions read. */
  readonly related: readonly Related<T>[];
  /** Looks at objects that need no work; without it there are none. */
  readonly looks?: Looks<T>;
  /** The controller looks after states that last, rather than does what others wait for; without it that is not so. */
  readonly monitors?: Monitors<T>;
  /**
   * The field manager that last wrote what our work had changed, other than ours, of an object as it came (with its
   * `managedFields`) that needs work again soon after; without it nobody is told who.
   */
  undoneBy?(object: unknown): string | undefined;
  /** Delays that a change of ours ends, each a histogram; without it none is measured. */
  readonly delays?: readonly Delay<T>[];
  /** Objects that are counted as long as they wait, by why and for how long; without it none are. */
  readonly waiting?: Waiting<T>;
  /**
   * The controller beside which it is on, always and alone; it has no name of its own in `--controllers` or in a cluster's entry, and the
   * same function.
   */
  readonly beside?: ControllerName;
  /** Whether a cluster that is configured so has a use for it; without it each has. It is then neither watched nor swept for the others. */
  isFor?(settings: Settings): boolean;
  /** Counts what it finds in the cloud that nothing in the cluster has a use for, as a gauge; without it there is none. */
  readonly orphans?: { readonly metric: string; readonly help: string };
}

/** Objects that wait for a change of ours, as a gauge by the code of their last report and by age. */
export interface Waiting<T extends ApiObject = ApiObject> {
  /** The whole name of the metric. */
  readonly metric: string;
  readonly help: string;
  /** `settings` are the cluster's; without them, as if all were as it is by default. */
  waits(object: T, settings?: Settings): boolean;
  /** Since when one waits that is met waiting, as its API server says; its creation without it. */
  since?(object: T): string | undefined;
}

/** A delay in which objects wait for a change of ours, from when they are created or made to wait again. */
export interface Delay<T extends ApiObject = ApiObject> {
  /** The whole name of the metric, in seconds. */
  readonly metric: string;
  readonly help: string;
  /** Whether an object, as it is, waits; `settings` as in `Waiting`. */
  waits(object: T, settings?: Settings): boolean;
  /** Whether an object counts once in its life, where it waits from the start, or as often as it waits. */
  readonly counts: "first" | "each";
  /** Over when the API server shows that it waits no longer, or when all that was to be done with it is reported. */
  readonly until: "shown" | "reported";
}

/** Objects of another resource that decisions read. */
export interface Related<T extends ApiObject = ApiObject> {
  readonly resource: Resource;
  /** Such an object cut down to what decisions read, as JSON; undefined where it is of no use. */
  project(object: unknown): unknown;
  /**
   * Which of them a decision on `object` reads, by `keyOfName`. One whose projection comes, goes or changes makes the objects
   * that read it due again.
   */
  reads(object: T): "all" | readonly string[];
  /** Whether a change of one, from one projection to another, makes them due; without it each does. */
  concerns?(before: unknown, after: unknown): boolean;
}

/** When objects that need no work are looked at, beside every refresh. */
export interface Looks<T extends ApiObject = ApiObject> {
  /** A text that is equal as long as nothing has changed that a look is worth; it is compared, and never read. */
  fingerprint(object: T): string;
  /** Once more after a change of ours, between so many seconds; without it, no more. */
  readonly againSeconds?: readonly [from: number, to: number];
  /** Seconds between two refreshes, where it is not `--node-status-update-frequency`; of some the cluster says it. */
  readonly everySeconds?: number | ((settings: Settings) => number);
  /**
   * Refreshes a second, at most, of all clusters of a cloud account together, in each thread of a relay; a cluster that had none for ten
   * minutes has its turn in any case. Without it there is no such bound.
   */
  readonly refreshesPerSecond?: number;
  /** An object that needs no work is looked at when what it reads of related objects changes, too. */
  readonly whenRelatedChange?: true;
}

/** How states that last are looked at: with the reason `monitor`, and behind what other controllers have to do. */
export interface Monitors<T extends ApiObject = ApiObject> {
  /** Seconds until the first look at an object that has come to need one. */
  afterSeconds(object: T, context: WatchContext): number;
  /** A text that is equal as long as the next look is worth its wait; it is compared, and never read. */
  fingerprint(object: T): string;
}

/** A controller: the watch half, and what a function needs to decide. Pure; `T` is the object, `A` what the cloud answers for it. */
export interface Controller<T extends ApiObject = ApiObject, A = unknown> extends Watch<T> {
  /** The `source.component` of its Events. */
  readonly eventSource: string;
  /** What the cloud answers it is a listing by which places are counted, too (`placesFor`). */
  readonly countsPlaces?: true;
  /**
   * Loads what the controller has for one cloud alone; resolves before anything is asked or decided for a cluster on it. Absent
   * where a controller is the same for all clouds.
   */
  load?(provider: string): Promise<void>;
  /** What the cloud is to be asked about an object; undefined where the decision does not depend on the cloud. */
  asks(object: T, context: AskContext): Question | undefined;
  /** What of the cluster a batch is decided under, beside its objects; read in each round of shared writes, before deciding. */
  stateOf?(batch: readonly Subject<T, A>[], context: AskContext): StateReference | undefined;
  /** Of which objects something is to be made in the cloud of which a cluster has so many; absent where there is no such bound. */
  placesFor?(batch: readonly Subject<T, A>[], context: AskContext): readonly PlaceRequest[];
  /**
   * A text that is equal as long as nothing of an object has changed that its actions of the cloud were decided on. An action whose
   * precondition names it is carried out on such an object alone.
   */
  contentHash?(object: T): string;
  /** What of the cloud was found on an object's account that nothing has a use for; undefined where nobody knows. */
  orphansOf?(subject: Subject<T, A>, context: AskContext): ObjectReport["orphans"];
  /** Names what is deleted once a later look finds it unused, too; undefined where the cloud was not observed. */
  listCandidates?(subject: Subject<T, A>, context: AskContext): ObjectReport["candidates"];
  /** A plan for the batch; the same for the same arguments, and one decision for each subject, in their order. */
  decide(batch: readonly Subject<T, A>[], context: DecisionContext): Plan;
  /**
   * Subject and answer as they are after a write of ours. A controller that has it is asked again after each change, until
   * nothing is left; one that has not is done after one.
   */
  fold?(subject: Subject<T, A>, done: DoneWrite): Subject<T, A>;
  /**
   * The same of another object of the batch than the one that the write was for: of what both have been told by the cloud it changes
   * the same. Absent where objects have nothing in common.
   */
  foldOther?(subject: Subject<T, A>, done: DoneWrite, context: AskContext): Subject<T, A>;
  /**
   * What an action means that the cloud did not do, where it is no matter of time: somebody has to mend something first. Undefined
   * where it is: then the object is observed anew or due again. Without it that is always so.
   */
  refused?(subject: Subject<T, A>, refusal: RefusedAction, context: AskContext): Decision | undefined;
}

/** An action that was sent, and what the cloud said to it. */
export interface RefusedAction {
  readonly action: CloudAction;
  readonly answer: Exclude<ActionAnswer, { readonly kind: "done" }>;
}

/** What a question depends on beside the object. */
export interface AskContext {
  readonly reason: EventReason;
  readonly now: Date;
  readonly related: RelatedObjects;
  readonly settings: Settings;
  /** What operators have stopped; nothing without it. */
  readonly stop?: Stop | undefined;
  /** Nine digits that name this invocation among others that work on the same objects. */
  readonly actor?: string | undefined;
  /** The object was found changed by another actor in the course of this invocation. */
  readonly conflict?: Conflict | undefined;
}

/** What this invocation had done when it found that an object had changed. */
export interface Conflict {
  /** It had sent changes to the cloud: another actor's record of what was applied may be older than these. */
  readonly hasWritten: boolean;
}

/** A question to a capability of the cloud; all questions of a batch to one capability are one call. */
export type Question =
  /** Answered with an `InstanceAnswer`, "not-found" with its control where asked for; of the node, what identifies its instance is read. */
  | {
      readonly capability: "instances";
      readonly node: Node;
      readonly control?: boolean;
      /** Of an initialized node, the labels that are asked for where they take requests of their own: those it lacks, or all. */
      readonly labels?: "missing" | "all" | undefined;
    }
  /** Answered with what the capability says, as JSON. */
  | { readonly capability: string & {}; readonly ask: unknown };

/** An object of a batch, and what is known of it. */
export interface Subject<T extends ApiObject = ApiObject, A = unknown> {
  readonly object: T;
  /** The cloud's; undefined where it was not asked. */
  readonly answer: A | undefined;
  readonly hint: ObjectHint | undefined;
}

/** What a decision depends on beside its subjects. */
export interface DecisionContext extends AskContext {
  /** What `stateOf` named: the object as JSON, or why it could not be had. */
  readonly state?: ReadState | undefined;
  /** How many objects there are of what `stateOf` had counted, right after the state was read. */
  readonly count?: ObjectCount | undefined;
  /** Names the process whose clock `now` is of: times that several of them wrote are not compared to the second. */
  readonly clock?: string | undefined;
  /** The objects that `stateOf` had listed, projected, right after the state was read. */
  readonly listed?: ListedObjects | undefined;
  /** What the brake of the fleet has let and held so far; undefined where there is none. */
  readonly fleet?: FleetStanding | undefined;
  /** What came of `placesFor`; undefined where nothing is carried out and so nothing was claimed. */
  readonly places?: Places | undefined;
}

/** Related objects of an event, by the plural of their resource. */
export type RelatedObjects = Readonly<
  Record<string, { readonly resourceVersion: string; readonly items: readonly unknown[] } | undefined>
>;

/** An object of the cluster that a batch is decided under. */
export type StateReference = Pick<Resource, "apiVersion" | "name"> & {
  readonly at: ObjectName;
  /** A resource whose objects are counted, too. */
  readonly counted?: Pick<Resource, "apiVersion" | "name"> | undefined;
  /** Objects of another resource that are listed, too: for decisions that must not rest on a list that the event brings. */
  readonly listed?: Pick<Related, "resource" | "project"> | undefined;
};

/** All objects of a resource as the API server lists them now, projected; or why they cannot be listed. */
export type ListedObjects =
  | { readonly kind: "list"; readonly items: readonly unknown[] }
  | { readonly kind: "unknown"; readonly message: string };

/** How many objects of a resource the API server has, or why that cannot be said. */
export type ObjectCount =
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "unknown"; readonly message: string };

/** The state of a batch as it was read, right before deciding. */
export type ReadState =
  | { readonly kind: "object"; readonly object: unknown }
  | { readonly kind: "absent" }
  | { readonly kind: "unreadable"; readonly message: string };

/**
 * A write that was sent, and what came back: an object's metadata of the cluster, an action's result of the cloud. Of an independent
 * change also those that failed, with why.
 */
export interface DoneWrite {
  readonly write: Write;
  readonly result: unknown;
  readonly failed?: Because;
}

/** The answer of `instances`, by its type. */
export type InstanceController<T extends ApiObject> = Controller<T, InstanceAnswer>;
