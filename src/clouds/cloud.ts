import type { ActionAnswer, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import type { AheadMode, InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import type { CloudUsage } from "#core/report.ts";

/** The result of checking a configuration against the cloud. */
export interface ConfigurationCheck {
  /** Proven faults, by key of the configuration. */
  readonly faults: readonly { readonly key: string; readonly message: string }[];
  /** Why the check was impossible, if it was; this is no reason not to start. */
  readonly unchecked?: string;
}

/** A finished request to the cloud. */
export interface CloudRequest {
  /** The API's own name of the operation, by which calls are counted. */
  readonly operation: string;
  readonly durationMs: number;
  /** The error code; undefined if the request succeeded. */
  readonly code: string | undefined;
}

/** Called after each finished request; must not throw. */
export type OnCloudRequest = (request: CloudRequest) => void;

/** Limits of one batch: when to stop, and how much of the account's quotas it may spend. */
export interface CloudCall {
  /** Once aborted, no new request starts, and open nodes get the error `Aborted`. */
  readonly signal: AbortSignal;
  /** 0 < share ≤ 1 of every API quota of the account, for this batch. */
  readonly share: number;
  /**
   * Whether "not-found" needs a visibility probe (`control`). If no node of the batch is found, the probe may
   * need one more request. If it fails, the answers have no probe.
   */
  readonly control?: boolean | undefined;
  /**
   * Labels of initialized nodes that may be read if they need requests of their own: missing ones, or all; by
   * default none. A node to be initialized always gets the labels that it lacks.
   */
  readonly labels?: "missing" | "all" | undefined;
  /** By default every node is looked up. A cloud without look-ahead ignores it. */
  readonly ahead?: AheadMode | undefined;
  /** Whether the machines that were launched lately may be looked up as well, and kept, while several nodes join. */
  readonly launches?: boolean | undefined;
  readonly onRequest?: OnCloudRequest | undefined;
}

/** `answers` has the length and the order of the requested nodes. */
export interface InstancesResult {
  readonly answers: readonly InstanceAnswer[];
  readonly usage: CloudUsage;
}

/** Limits of an action, and its object. */
export type ActionCall = Pick<CloudCall, "signal" | "share" | "onRequest">;

/** Answers of a capability, in the order of the questions, and the usage. */
export interface ObservationsResult {
  readonly answers: readonly Observation[];
  readonly usage: CloudUsage;
}

/** The result of one action, and its usage. */
export interface ActionResult {
  readonly answer: ActionAnswer;
  readonly usage: CloudUsage;
  /** The cloud's id of the request, as in its audit trail; absent without an answer. */
  readonly requestId?: string;
}

/**
 * A part of a cloud other than its instances. It finds our resources by name and tags, so that the next
 * observation sees an interrupted action. Neither method ever rejects.
 */
export interface Capability {
  observe(questions: readonly unknown[], call: CloudCall): Promise<ObservationsResult>;
  act(action: CloudAction, call: ActionCall): Promise<ActionResult>;
}

/**
 * A cloud, called with batches. A capability is present or absent, and never throws "not implemented".
 *
 * Contract, tested by `test/clouds/conformance.ts`:
 * - `instances` never rejects: a failure is an `error` answer of the nodes that it concerns, and of no others.
 * - "not-found" is a positive statement by the cloud. A throttle, a time-out, an empty page, a malformed body
 *   or an abort is an error.
 * - An instance is returned only after its ownership was checked against the configuration. A foreign one is the error
 *   `Foreign`, and several candidates are `Ambiguous`; both name the two sides. Messages are for the operator: they say
 *   all that helps, and are never written to the cluster.
 * - A provider ID with another cloud's scheme is `ForeignProviderID`. One of this cloud's that cannot name an
 *   instance is `InvalidProviderID`. Neither needs a request.
 * - A terminated instance is "found" while the cloud shows it and its ownership is proven: by what the cloud
 *   still knows of it, else by the node's own annotation, which must name the configured network.
 * - The number of calls is the batch's size divided by the API's page, never one call per node.
 * - Nodes are read, never changed.
 */
export interface Cloud {
  /** The provider's name, and the scheme of its provider IDs. */
  readonly provider: string;
  instances(nodes: readonly Node[], call: CloudCall): Promise<InstancesResult>;
  /** Other abilities of the cloud by name, such as `loadBalancers`; absent if it lacks them. */
  readonly capabilities?: Readonly<Record<string, Capability | undefined>>;
  /**
   * Checks with one request for mistakes that would show much later, such as an unknown region. Never
   * rejects.
   */
  checkConfiguration?(signal: AbortSignal): Promise<ConfigurationCheck>;
  /** Closes open connections. */
  close(): Promise<void>;
}
