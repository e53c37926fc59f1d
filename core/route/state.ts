import * as z from "zod";
import { Because } from "#core/decision.ts";

/**
 * What is asked of a cloud's capability `routes`: its route tables for the cluster, and of machines those that something is to be
 * done for. Networks are in canonical form.
 */
export interface RouteQuestion {
  readonly clusterCIDRs: readonly string[];
  readonly nodes: readonly {
    readonly name: string;
    readonly providerID?: string | undefined;
    readonly cidrs: readonly string[];
  }[];
}

/** What a route leads to. */
const Target = z.discriminatedUnion("kind", [
  /** A machine of this cluster, be it a node by now or not. */
  z.object({ kind: z.literal("machine"), id: z.string() }),
  /** A machine that has ended, or whatever else is not there any more. */
  z.object({ kind: z.literal("gone") }),
  /** Whatever is not this cluster's: gateways, peerings, other clusters' machines. It is never touched. */
  z.object({ kind: z.literal("foreign") }),
  /** It could not be found out. */
  z.object({ kind: z.literal("unknown"), because: Because }),
]);
export type Target = z.output<typeof Target>;

/** A route within one of the cluster's networks. */
export const Route = z.object({
  /** In canonical form. */
  cidr: z.string(),
  /** As the cloud spells it, where that is otherwise. */
  text: z.string().optional(),
  target: Target,
  /** What it leads to as the cloud has it, unread: an action that replaces or deletes the route tests that it still does. */
  leadsTo: z.string().optional(),
  /** The cloud says that it leads nowhere. */
  blackhole: z.boolean(),
});
export type Route = z.output<typeof Route>;

/** A route table of the cluster. */
export const RouteTable = z.object({
  id: z.string(),
  /** All routes in it, those that are nobody's business here included. */
  size: z.int().min(0),
  /** The networks of the machines themselves, in canonical form. */
  networks: z.array(z.string()),
  routes: z.array(Route),
});
export type RouteTable = z.output<typeof RouteTable>;

/** The machine of a node. */
const Machine = z.discriminatedUnion("kind", [
  /** Known by name alone: nothing is to be done for it. */
  z.object({ kind: z.literal("named"), id: z.string() }),
  z.object({
    kind: z.literal("ready"),
    id: z.string(),
    /** How the cloud is to be told what a route leads to. */
    target: z.record(z.string(), z.string()),
    /** It lets through what is not addressed to itself. */
    forwards: z.boolean(),
    running: z.boolean(),
  }),
  /** There is none that is known to be the node's and the cluster's. */
  z.object({ kind: z.literal("missing"), message: z.string() }),
  z.object({ kind: z.literal("unknown"), id: z.string(), because: Because }),
  /** The node does not say which it is, yet. */
  z.object({ kind: z.literal("unnamed") }),
]);
export type Machine = z.output<typeof Machine>;

/** What the capability `routes` observes. */
export const RouteState = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("tables"),
    tables: z.array(RouteTable).min(1),
    /** By the name of the node. */
    machines: z.record(z.string(), Machine),
  }),
  /** There are no tables to work on, or it cannot be told which are. */
  z.object({ kind: z.literal("no-tables"), message: z.string() }),
]);
export type RouteState = z.output<typeof RouteState>;
/** With tables. */
export type RouteTables = Extract<RouteState, { readonly kind: "tables" }>;

const route = { table: z.string(), cidr: z.string() };
const existing = { ...route, leadsTo: z.string().optional() };
const target = z.record(z.string(), z.string());

/**
 * Actions of the capability, with their parameters. One with `leadsTo` is a conflict where the route leads elsewhere by then. `forward` makes a machine let through what is not addressed to itself. */
export const ACTIONS = {
  create: z.strictObject({ ...route, target }),
  replace: z.strictObject({ ...existing, target }),
  delete: z.strictObject(existing),
  forward: z.strictObject({ target }),
} as const;
export type RouteActionName = keyof typeof ACTIONS;

/** One action that is to be done. */
export type Step = {
  readonly [Name in RouteActionName]: {
    readonly action: Name;
    readonly target: string;
    readonly parameters: z.output<(typeof ACTIONS)[Name]>;
  };
}[RouteActionName];

/** Stands in the message of an action that was refused because a table takes no more routes. */
export const QUOTA_CODE = "RouteLimitExceeded";
