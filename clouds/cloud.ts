import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import type { CloudUsage } from "#core/report.ts";

/** What the cloud itself says of its configuration. */
export interface ConfigurationCheck {
  /** By key of the configuration, what is wrong with it for sure. */
  readonly faults: readonly { readonly key: string; readonly message: string }[];
  /** Why it could not be looked at, where that is so: no reason not to begin. */
  readonly unchecked?: string;
}

/** A request to the cloud, as it has just ended. */
export interface CloudRequest {
  /** The API's own name of it, by which calls are counted. */
  readonly operation: string;
  readonly durationMs: number;
  /** What it failed with; undefined where the cloud answered. */
  readonly code: string | undefined;
}

/** Told of each request, as soon as it has ended; must not throw. */
export type OnCloudRequest = (request: CloudRequest) => void;

/** What comes with one batch: when to stop, and how much of the account's quotas it may spend. */
export interface CloudCall {
  /** Once aborted no new request starts, and what is not answered yet is answered with the error `Aborted`. */
  readonly signal: AbortSignal;
  /** 0 < share ≤ 1 of every API quota of the account, for this batch. */
  readonly share: number;
  /**
   * Whether "not-found" is to come with its `control`; where none of the batch is found, that may take one request more. What
   * that fails with leaves the control out, and the answers as they are.
   */
  readonly control?: boolean | undefined;
  /**
   * Of which labels of initialized nodes the cloud is asked, where they take requests of their own: those that a node lacks, or
   * all. Without it of none; a node that is to be initialized is always told those that it lacks.
   */
  readonly labels?: "missing" | "all" | undefined;
  readonly onRequest?: OnCloudRequest | undefined;
}

/** `answers` has the length and the order of the nodes asked for. */
export interface InstancesResult {
  readonly answers: readonly InstanceAnswer[];
  readonly usage: CloudUsage;
}

/** What an action may take, and whom it is for. */
export type ActionCall = Pick<CloudCall, "signal" | "share" | "onRequest">;

/** What questions to a capability were answered with, in their order, and what it took. */
export interface ObservationsResult {
  readonly answers: readonly Observation[];
  readonly usage: CloudUsage;
}

/** What came of one action, and what it took. */
export interface ActionResult {
  readonly answer: ActionAnswer;
  readonly usage: CloudUsage;
  /** The cloud's own name of the request, by which its audit trail tells more; absent where it did not answer. */
  readonly requestId?: string;
}

/**
 * A part of a cloud beyond its instances. It finds what is ours by name and tags, so that an action that was cut short is seen by
 * the next observation. Neither of the two ever rejects.
 */
export interface Capability {
  observe(questions: readonly unknown[], call: CloudCall): Promise<ObservationsResult>;
  act(action: CloudAction, call: ActionCall): Promise<ActionResult>;
}

/**
 * A cloud, batch first. Capabilities are present or absent; nobody throws "not implemented".
 *
 * Contract, held by `test/clouds/conformance.ts`:
 * - `instances` never rejects: whatever goes wrong is an `error` answer of the nodes it concerns, and of no others.
 * - "not-found" is a positive statement by the cloud. A throttle, a time-out, an empty page, a malformed body or an abort
 *   is an error.
 * - An instance is answered only after it was checked to belong to the cluster, as configured; one that does not is the
 *   error `Foreign`, and more than one candidate is `Ambiguous`, both with the two sides named. Messages are the operator's:
 *   they say all that helps, and nothing of them is written to the cluster.
 * - A provider ID with another cloud's scheme is `ForeignProviderID`, one of this cloud's that cannot name an instance is
 *   `InvalidProviderID`; neither costs a request.
 * - An instance that has ended is "found" as long as the cloud shows it and it can be told to have been the cluster's: by what
 *   the cloud still knows of it, else by the node's own annotation, which must name the configured network.
 * - A batch costs calls in proportion to its size divided by the API's page, never one call per node.
 * - Nodes are read, never changed.
 */
export interface Cloud {
  /** The provider's name, and the scheme of its provider IDs. */
  readonly provider: string;
  instances(nodes: readonly Node[], call: CloudCall): Promise<InstancesResult>;
  /** What else the cloud can do, by name, such as `loadBalancers`; absent where it cannot. */
  readonly capabilities?: Readonly<Record<string, Capability | undefined>>;
  /** Looks with one request for what would be found out much later, such as a region that is not there. Never rejects. */
  checkConfiguration?(signal: AbortSignal): Promise<ConfigurationCheck>;
  /** Closes what is kept open. */
  close(): Promise<void>;
}
