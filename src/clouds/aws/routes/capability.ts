import {
  CreateRouteCommand,
  DeleteRouteCommand,
  DescribeRouteTablesCommand,
  EC2Client,
  ModifyInstanceAttributeCommand,
  ModifyNetworkInterfaceAttributeCommand,
  ReplaceRouteCommand,
} from "@aws-sdk/client-ec2";
import { type Api, type ApiParts, type Commands, createApi } from "#clouds/aws/actions/api.ts";
import { perform } from "#clouds/aws/actions/perform.ts";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import { type CurrentRoute, createCurrentRoutes } from "#clouds/aws/routes/current-routes.ts";
import { observeRoutes, Question, type RouteSessions } from "#clouds/aws/routes/observe.ts";
import { buildRequest } from "#clouds/aws/routes/requests.ts";
import { type AwsDependencies, createSession, MAX_WAIT_MS, type Session } from "#clouds/aws/session.ts";
import type { ActionCall } from "#clouds/cloud.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import { toObservation } from "#clouds/outcome.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import { addUsage } from "#core/report.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/**
 * Creates the routes capability, for routes to the pods of nodes. `ec2` is shared with nodes; without `api`
 * it uses AWS.
 */
export function createRoutes(
  dependencies: AwsDependencies,
  ec2: Ec2,
  api: Api = createRouteApi(dependencies),
): ClosableCapability {
  const { cluster, budget, sleep, now } = dependencies;
  const currentRoutes = createCurrentRoutes(cluster, now);
  const enter = createInvocationShares(budget);
  const openSession = ({ signal, onRequest }: ActionCall): Session<Api> =>
    createSession({ ec2: api, budget, sleep, signal, onRequest, maxTokenWaitMs: MAX_WAIT_MS });

  async function observeOne(question: unknown, sessions: RouteSessions): Promise<Observation> {
    const parsed = Question.safeParse(question);
    if (!parsed.success) return UNREADABLE;
    try {
      return toObservation(await observeRoutes(parsed.data, sessions, cluster));
    } catch (error) {
      // No known error reaches this line, but by contract a batch never rejects.
      return { kind: "error", code: "Unavailable", message: `routes: ${getErrorMessage(error)}` };
    }
  }

  return {
    async observe(questions, call) {
      const { signal, onRequest } = call;
      const sessions = {
        routes: openSession(call),
        instances: createSession({ ec2, budget, sleep, signal, onRequest }),
      };
      const leave = enter(call);
      try {
        const answers: Observation[] = [];
        for (const question of questions) answers.push(await observeOne(question, sessions));
        return { answers, usage: addUsage(sessions.routes.getUsage(), sessions.instances.getUsage()) };
      } finally {
        leave();
      }
    },
    async act({ capability, action, parameters }, call) {
      const session = openSession(call);
      const request = buildRequest(action, parameters);
      if (request === undefined) {
        const message = `routes have no action ${action} with these parameters`;
        return { answer: { kind: "error", code: "Invalid", message }, usage: session.getUsage() };
      }
      const leave = enter(call);
      try {
        const { expected, ...sent } = request;
        const current = expected === undefined ? "same" : await currentRoutes.check(expected, session);
        if (current === "same") return await perform({ capability, ...sent }, ALLOWED, session);
        return { answer: answerUnsent(current, action), usage: session.getUsage() };
      } finally {
        leave();
      }
    },
    close: () => api.close(),
  };
}

/** The result of an action that is not sent; a missing route needs no deletion. */
function answerUnsent(current: Exclude<CurrentRoute, "same">, action: string): ActionAnswer {
  if (current !== "missing") return current;
  return action === "delete"
    ? { kind: "done", result: undefined }
    : { kind: "conflict", message: "the route no longer exists" };
}

/** Actions that change routes. */
const ROUTE_ACTIONS = {
  "ec2:CreateRoute": CreateRouteCommand,
  "ec2:ReplaceRoute": ReplaceRouteCommand,
  "ec2:DeleteRoute": DeleteRouteCommand,
  "ec2:ModifyInstanceAttribute": ModifyInstanceAttributeCommand,
  "ec2:ModifyNetworkInterfaceAttribute": ModifyNetworkInterfaceAttributeCommand,
} as const satisfies Commands;

const ALLOWED: ReadonlySet<string> = new Set(Object.keys(ROUTE_ACTIONS));

function createRouteApi({ cluster: { region }, credentials, wallClock }: AwsDependencies): Api {
  return createApi({
    region,
    services: ROUTE_SERVICES,
    commands: ROUTE_COMMANDS,
    credentials,
    wallClock,
  });
}

const UNREADABLE: Observation = {
  kind: "error",
  code: "Invalid",
  message: "the question is not about routes",
};

/** Commands that read routes; instances are read as for nodes. */
export const ROUTE_COMMANDS: Commands = {
  ...ROUTE_ACTIONS,
  "ec2:DescribeRouteTables": DescribeRouteTablesCommand,
};

/** The only service that routes need. */
const ROUTE_SERVICES: ApiParts["services"] = { ec2: (options) => new EC2Client(options) };
