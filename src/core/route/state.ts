import * as z from "zod";
import { Reason } from "#core/reason.ts";

/**
 * The question to a cloud's capability `routes`: the cluster's route tables, and the machines of nodes that
 * need work. Networks are in canonical form.
 */
export interface RouteQuestion {
  readonly clusterCIDRs: readonly string[];
  readonly nodes: readonly {
    readonly name: string;
    readonly providerID?: string | undefined;
    readonly cidrs: readonly string[];
  }[];
}

/** The target of a route. */
const Target = z.discriminatedUnion("kind", [
  /** A machine of this cluster, with or without a node. */
  z.object({ kind: z.literal("machine"), id: z.string() }),
  /** A terminated machine, or any other target that no longer exists. */
  z.object({ kind: z.literal("gone") }),
  /**
   * Any target that is not this cluster's: gateways, peerings, other clusters' machines. It is never changed.
   */
  z.object({ kind: z.literal("foreign") }),
  /** The target could not be determined. */
  z.object({ kind: z.literal("unknown"), because: Reason }),
]);
export type Target = z.output<typeof Target>;

/** A route within one of the cluster's networks. */
export const Route = z.object({
  /** In canonical form. */
  cidr: z.string(),
  /** The cloud's spelling, if it differs. */
  text: z.string().optional(),
  target: Target,
  /**
   * The target in the cloud's own form: an action that replaces or deletes the route tests that it is
   * unchanged.
   */
  leadsTo: z.string().optional(),
  /** The cloud reports that the target does not exist. */
  blackhole: z.boolean(),
});
export type Route = z.output<typeof Route>;

/** A route table of the cluster. */
export const RouteTable = z.object({
  id: z.string(),
  /** All routes in it, foreign ones included. */
  size: z.int().min(0),
  /** The networks of the machines themselves, in canonical form. */
  networks: z.array(z.string()),
  routes: z.array(Route),
});
export type RouteTable = z.output<typeof RouteTable>;

/** The machine of a node. */
const Machine = z.discriminatedUnion("kind", [
  /** Identified by name only; it needs no work. */
  z.object({ kind: z.literal("named"), id: z.string() }),
  z.object({
    kind: z.literal("ready"),
    id: z.string(),
    /** The parameters with which the cloud is told the target of a route. */
    target: z.record(z.string(), z.string()),
    /** It forwards packets that are not addressed to itself. */
    forwards: z.boolean(),
    running: z.boolean(),
  }),
  /** No machine is proven to be the node's and the cluster's. */
  z.object({ kind: z.literal("missing"), message: z.string() }),
  z.object({ kind: z.literal("unknown"), id: z.string(), because: Reason }),
  /** The node does not name its machine yet. */
  z.object({ kind: z.literal("unnamed") }),
]);
export type Machine = z.output<typeof Machine>;

/** The observation of the capability `routes`. */
export const RouteState = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("tables"),
    tables: z.array(RouteTable).min(1),
    /** By node name. */
    machines: z.record(z.string(), Machine),
  }),
  /** The cluster has no route tables, or they cannot be determined. */
  z.object({ kind: z.literal("no-tables"), message: z.string() }),
]);
export type RouteState = z.output<typeof RouteState>;
/** An observation with tables. */
export type RouteTables = Extract<RouteState, { readonly kind: "tables" }>;

const route = { table: z.string(), cidr: z.string() };
const existing = { ...route, leadsTo: z.string().optional() };
const target = z.record(z.string(), z.string());

/**
 * Actions of the capability, with their parameters. One with `leadsTo` is a conflict if the route has another
 * target by then. `forward` makes a machine forward packets that are not addressed to itself.
 */
export const ACTIONS = {
  create: z.strictObject({ ...route, target }),
  replace: z.strictObject({ ...existing, target }),
  delete: z.strictObject(existing),
  forward: z.strictObject({ target }),
} as const;
export type RouteActionName = keyof typeof ACTIONS;

/** One action to be done. */
export type Step = {
  readonly [Name in RouteActionName]: {
    readonly action: Name;
    readonly target: string;
    readonly parameters: z.output<(typeof ACTIONS)[Name]>;
  };
}[RouteActionName];

/** Part of the message of an action that was rejected because a table is full. */
export const QUOTA_CODE = "RouteLimitExceeded";
