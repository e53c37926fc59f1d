import { type Api, createApi } from "#clouds/aws/actions/api.ts";
import { perform } from "#clouds/aws/actions/perform.ts";
import { type AwsWorld, MAX_WAIT_MS } from "#clouds/aws/capability.ts";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import { ROUTE_ACTIONS, ROUTE_COMMANDS, ROUTE_SERVICES } from "#clouds/aws/routes/commands.ts";
import { type CurrentRoute, createCurrentRoutes } from "#clouds/aws/routes/current-routes.ts";
import { observeRoutes, Question, type RouteSessions } from "#clouds/aws/routes/observe.ts";
import { requestOf } from "#clouds/aws/routes/requests.ts";
import { createSession, type Session } from "#clouds/aws/session.ts";
import type { ActionCall } from "#clouds/cloud.ts";
import { createEntrance } from "#clouds/entrance.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import { observationOf } from "#clouds/observation.ts";
import type { ActionAnswer, Observation } from "#core/capability.ts";
import { messageOf } from "#core/message-of.ts";
import { addUsage } from "#core/usage.ts";

/** Routes to the pods of nodes. `ec2` is that of nodes; without `api` routes are AWS's own. */
export function createRoutes(world: AwsWorld, ec2: Ec2, api: Api = apiOf(world)): ClosableCapability {
  const { cluster, budget, sleep, now } = world;
  const currentRoutes = createCurrentRoutes(cluster, now);
  const enter = createEntrance(budget);
  const sessionOf = ({ signal, onRequest }: ActionCall): Session<Api> =>
    createSession({ ec2: api, budget, sleep, signal, onRequest, maxTokenWaitMs: MAX_WAIT_MS });

  async function answer(question: unknown, sessions: RouteSessions): Promise<Observation> {
    const parsed = Question.safeParse(question);
    if (!parsed.success) return UNREADABLE;
    try {
      return observationOf(await observeRoutes(parsed.data, sessions, cluster));
    } catch (error) {
      // Nothing is known to come here; but the contract is that nobody's batch rejects.
      return { kind: "error", code: "Unavailable", message: `routes: ${messageOf(error)}` };
    }
  }

  return {
    async observe(questions, call) {
      const { signal, onRequest } = call;
      const sessions = {
        routes: sessionOf(call),
        instances: createSession({ ec2, budget, sleep, signal, onRequest }),
      };
      const leave = enter(call);
      try {
        const answers: Observation[] = [];
        for (const question of questions) answers.push(await answer(question, sessions));
        return { answers, usage: addUsage(sessions.routes.usage(), sessions.instances.usage()) };
      } finally {
        leave();
      }
    },
    async act({ capability, action, parameters }, call) {
      const session = sessionOf(call);
      const request = requestOf(action, parameters);
      if (request === undefined) {
        const message = `routes have no action ${action} with these parameters`;
        return { answer: { kind: "error", code: "Invalid", message }, usage: session.usage() };
      }
      const leave = enter(call);
      try {
        const { expected, ...sent } = request;
        const current = expected === undefined ? "same" : await currentRoutes.check(expected, session);
        if (current === "same") return await perform({ capability, ...sent }, ALLOWED, session);
        return { answer: answerInstead(current, action), usage: session.usage() };
      } finally {
        leave();
      }
    },
    close: () => api.close(),
  };
}

/** What an action comes to that is not sent; a route that is gone needs no deletion. */
function answerInstead(current: Exclude<CurrentRoute, "same">, action: string): ActionAnswer {
  if (current !== "missing") return current;
  return action === "delete"
    ? { kind: "done", result: undefined }
    : { kind: "conflict", message: "the route is not there any more" };
}

const ALLOWED: ReadonlySet<string> = new Set(Object.keys(ROUTE_ACTIONS));

function apiOf({ cluster: { region }, credentials, wallClock }: AwsWorld): Api {
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
  message: "the question is none about routes",
};
