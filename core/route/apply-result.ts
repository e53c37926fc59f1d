import { canonicalizeCidr } from "#core/cidr.ts";
import type { DoneWrite } from "#core/controller.ts";
import type { CloudAction } from "#core/decision.ts";
import type { RouteAnswer } from "#core/route/decide.ts";
import { formatWriteKey, NO_PASS } from "#core/route/pass.ts";
import { ACTIONS, type Machine, type Route, type RouteTable, type RouteTables } from "#core/route/state.ts";

/** Returns the facts after a write, and records that it was tried. */
export function applyResult(answer: RouteAnswer, { write, failed }: DoneWrite): RouteAnswer {
  const { state, pass = NO_PASS } = answer;
  const key = formatWriteKey(write);
  if (failed !== undefined)
    return { ...answer, pass: { ...pass, failed: new Map(pass.failed).set(key, failed) } };
  const after = { ...answer, pass: { ...pass, done: new Set(pass.done).add(key) } };
  if (write.on !== "cloud" || state.kind !== "tables") return after;
  return { ...after, state: applyAction(state, write) };
}

function applyAction(state: RouteTables, { action, parameters }: CloudAction): RouteTables {
  switch (action) {
    case "create":
    case "replace": {
      const { table, cidr: text, target } = ACTIONS[action].parse(parameters);
      const cidr = canonicalizeCidr(text) ?? text;
      const id = Object.values(state.machines).find((machine) => isAt(machine, target))?.id ?? "";
      const route: Route = { cidr, text, target: { kind: "machine", id }, blackhole: false };
      return replaceTableRoutes(state, table, cidr, [route]);
    }
    case "delete": {
      const { table, cidr } = ACTIONS.delete.parse(parameters);
      return replaceTableRoutes(state, table, canonicalizeCidr(cidr) ?? cidr, []);
    }
    case "forward": {
      const { target } = ACTIONS.forward.parse(parameters);
      const machines = Object.entries(state.machines).map(([name, machine]): [string, Machine] => [
        name,
        isAt(machine, target) ? { ...machine, forwards: true } : machine,
      ]);
      return { ...state, machines: Object.fromEntries(machines) };
    }
    default:
      return state;
  }
}

type Ready = Extract<Machine, { readonly kind: "ready" }>;

function isAt(machine: Machine, target: Readonly<Record<string, string>>): machine is Ready {
  return machine.kind === "ready" && JSON.stringify(machine.target) === JSON.stringify(target);
}

function replaceTableRoutes(
  state: RouteTables,
  table: string,
  cidr: string,
  routes: readonly Route[],
): RouteTables {
  const changed = (each: RouteTable): RouteTable => {
    const others = each.routes.filter((route) => route.cidr !== cidr);
    const size = each.size - (each.routes.length - others.length) + routes.length;
    return { ...each, size, routes: [...others, ...routes] };
  };
  return { ...state, tables: state.tables.map((each) => (each.id === table ? changed(each) : each)) };
}
