import * as z from "zod";
import type { ActionResult, Capability, ObservationsResult } from "#clouds/cloud.ts";
import { canonicalizeCidr } from "#core/cidr.ts";
import { ACTIONS, type Machine, type Route, type RouteState } from "#core/route/state.ts";

/** A route of a case: upstream's fields that decide where it leads. */
export const TableRoute = z.object({
  DestinationCIDR: z.string(),
  TargetNode: z.string().prefault(""),
  Blackhole: z.boolean().prefault(false),
});
export type TableRoute = z.output<typeof TableRoute>;

/** One route table in memory, whose machines have the names of their nodes. */
export interface RouteTableWorld {
  readonly capability: Capability;
  /** The routes as `10.120.0.0/24 to node-1`, sorted. */
  list(): string[];
}

const TABLE = "rtb-1";

/**
 * Creates a table with a case's routes. A route without a target leads to something that is gone. `findMachine`
 * returns the machine of a node; by default each node has one.
 */
export function createRouteTable(
  initial: readonly TableRoute[],
  findMachine: (node: string) => Machine = createMachine,
): RouteTableWorld {
  const routes = new Map(
    initial.map(({ DestinationCIDR, TargetNode, Blackhole }): [string, Route] => {
      const cidr = canonicalizeCidr(DestinationCIDR) ?? DestinationCIDR;
      const target = TargetNode === "" ? ({ kind: "gone" } as const) : toTarget(TargetNode);
      return [cidr, { cidr, target, blackhole: Blackhole }];
    }),
  );
  const usage = { calls: { Routes: 1 }, throttled: 0, waitedMs: 0 };
  const Question = z.object({ nodes: z.array(z.object({ name: z.string() })) });
  return {
    list: () =>
      [...routes.values()]
        .map(({ cidr, target }) => formatRoute(cidr, "id" in target ? target.id : ""))
        .sort(),
    capability: {
      async observe(questions): Promise<ObservationsResult> {
        const answers = questions.map((question) => {
          const { nodes } = Question.parse(question);
          const table = {
            id: TABLE,
            size: routes.size,
            networks: ["10.0.0.0/16"],
            routes: [...routes.values()],
          };
          const machines = Object.fromEntries(nodes.map(({ name }) => [name, findMachine(name)]));
          const state: RouteState = { kind: "tables", tables: [table], machines };
          return { kind: "observed" as const, state };
        });
        return { answers, usage };
      },
      async act({ action, parameters }): Promise<ActionResult> {
        if (action === "delete") routes.delete(ACTIONS.delete.parse(parameters).cidr);
        else {
          const { cidr, target } = ACTIONS[action === "create" ? "create" : "replace"].parse(parameters);
          if (action === "create" && routes.has(cidr))
            return { answer: { kind: "conflict", message: `${cidr} exists` }, usage };
          routes.set(cidr, { cidr, target: toTarget(target["instance"] ?? ""), blackhole: false });
        }
        return { answer: { kind: "done", result: {} }, usage };
      },
    },
  };
}

/** Returns a route as text, for comparison. */
export function formatRoute(cidr: string, node: string): string {
  return `${canonicalizeCidr(cidr) ?? cidr} to ${node}`;
}

function createMachine(id: string): Machine {
  return { kind: "ready", id, target: { instance: id }, forwards: true, running: true };
}

function toTarget(id: string): Route["target"] {
  return { kind: "machine", id };
}
