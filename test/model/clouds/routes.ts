import { parseProviderID } from "#clouds/aws/provider-id.ts";
import type { ActionAnswer } from "#core/capability.ts";
import { canonicalizeCidr } from "#core/cidr.ts";
import type { CloudAction } from "#core/decision.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import {
  ACTIONS,
  type Machine,
  type RouteActionName,
  type RouteQuestion,
  type RouteState,
  type Target,
} from "#core/route/state.ts";
import { type ModelCloud, NO_USAGE } from "../cloud.ts";
import { MACHINE_COUNT } from "../history.ts";

/** The target of a route: a machine by its id, or a foreign gateway. */
type Destination = { readonly machine: string } | { readonly gateway: string };

const TABLE = "rtb-1";

/**
 * Creates one route table with machines of the cluster. As in EC2, only its network identifies a route, not
 * its creator.
 */
export function createRouteModelCloud(): ModelCloud {
  const routes = new Map<string, Destination>();
  const machines = new Map(
    Array.from({ length: MACHINE_COUNT + 1 }, (_, index) => [
      `i-${index + 1}`,
      { isEnded: false, forwards: false },
    ]),
  );

  const targetOf = (to: Destination): Target => {
    if ("gateway" in to) return { kind: "foreign" };
    return isLive(to.machine) ? { kind: "machine", id: to.machine } : { kind: "gone" };
  };
  const isLive = (id: string): boolean => machines.get(id)?.isEnded === false;
  const machineOf = (providerID: string | undefined): Machine => {
    if (providerID === undefined) return { kind: "unnamed" };
    const parsed = parseProviderID(providerID);
    const found = parsed.kind === "instance" ? machines.get(parsed.id) : undefined;
    if (parsed.kind !== "instance" || found === undefined || found.isEnded)
      return { kind: "missing", message: `there is no machine ${providerID}` };
    const { id } = parsed;
    return { kind: "ready", id, target: { instance: id }, forwards: found.forwards, running: true };
  };

  function observe(question: RouteQuestion): RouteState {
    return {
      kind: "tables",
      tables: [
        {
          ...{ id: TABLE, size: routes.size, networks: ["10.0.0.0/16"] },
          routes: [...routes].map(([cidr, to]) => ({
            cidr,
            target: targetOf(to),
            blackhole: "machine" in to && !isLive(to.machine),
          })),
        },
      ],
      machines: Object.fromEntries(
        question.nodes.map(({ name, providerID }) => [name, machineOf(providerID)]),
      ),
    };
  }

  function act({ action, parameters }: CloudAction): ActionAnswer {
    const done = { kind: "done", result: {} } as const;
    const conflict = (message: string) => ({ kind: "conflict", message }) as const;
    switch (action as RouteActionName) {
      case "create":
      case "replace": {
        const { cidr: text, target } = ACTIONS.create.parse(parameters);
        const cidr = canonicalizeCidr(text) ?? text;
        const machine = target["instance"] ?? "";
        if (!isLive(machine))
          return { kind: "error", code: "Invalid", message: `InvalidInstanceID: ${machine}` };
        if (routes.has(cidr) === (action === "create"))
          return conflict(action === "create" ? "RouteAlreadyExists" : "InvalidRoute.NotFound");
        routes.set(cidr, { machine });
        return done;
      }
      case "delete": {
        const { cidr } = ACTIONS.delete.parse(parameters);
        routes.delete(canonicalizeCidr(cidr) ?? cidr);
        return done;
      }
      case "forward": {
        const id = ACTIONS.forward.parse(parameters).target["instance"] ?? "";
        const found = machines.get(id);
        if (found === undefined || found.isEnded) return conflict(`there is no machine ${id}`);
        machines.set(id, { ...found, forwards: true });
        return done;
      }
    }
  }

  const lineOf = ([cidr, to]: readonly [string, Destination]): string =>
    `route ${cidr} to ${formatCanonicalJson(to)}`;
  return {
    capabilities: {
      routes: {
        async observe(questions) {
          const answers = questions.map((question) => {
            const state = structuredClone(observe(question as RouteQuestion));
            return { kind: "observed", state } as const;
          });
          return { answers, usage: NO_USAGE };
        },
        async act(action) {
          return { answer: act(action), usage: NO_USAGE };
        },
      },
    },
    providerIDs: [...machines.keys()].map((id) => `aws:///eu-central-1a/${id}`),
    endMachine(machine) {
      machines.set(`i-${machine + 1}`, { isEnded: true, forwards: false });
    },
    addForeign(number) {
      // The second one is within the cluster's networks.
      const cidr = number % 2 === 0 ? `192.168.${number}.0/24` : `100.64.${100 + number}.0/24`;
      routes.set(cidr, { gateway: `pcx-${number}` });
    },
    drift(number) {
      const ours = [...routes].filter(([, to]) => "machine" in to);
      const [cidr, to] = ours[number % Math.max(1, ours.length)] ?? [];
      if (cidr === undefined || to === undefined) return undefined;
      if (number % 2 === 0) routes.delete(cidr);
      else routes.set(cidr, { machine: `i-${1 + (number % MACHINE_COUNT)}` });
      return `${number % 2 === 0 ? "deletes" : "redirects"} the route of ${cidr}`;
    },
    foreign: () =>
      [...routes]
        .filter(([, to]) => "gateway" in to)
        .map(lineOf)
        .sort(),
    // A node whose machine has ended is ignored, so the target of its route does not matter.
    outline({ nodes }) {
      const machineless = nodes.filter(
        ({ spec }) => machineOf(String(spec?.["providerID"])).kind !== "ready",
      );
      const unserved = machineless.flatMap(({ spec }) => (spec?.["podCIDRs"] ?? []) as string[]);
      return [...routes]
        .filter(([cidr, to]) => "gateway" in to || !unserved.includes(cidr))
        .map(lineOf)
        .sort();
    },
  };
}
