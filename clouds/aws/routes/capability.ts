import { type Api, createApi } from "#clouds/aws/actions/api.ts";
import { perform } from "#clouds/aws/actions/perform.ts";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import type { Budget } from "#clouds/aws/budget.ts";
import type { CredentialSource } from "#clouds/aws/credentials.ts";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import type { Fault, Outcome } from "#clouds/aws/errors.ts";
import { ROUTE_ACTIONS, ROUTE_COMMANDS, ROUTE_SERVICES } from "#clouds/aws/routes/commands.ts";
import { observeRoutes, Question } from "#clouds/aws/routes/observe.ts";
import { requestOf } from "#clouds/aws/routes/requests.ts";
import { createSession } from "#clouds/aws/session.ts";
import type { ActionCall, Capability } from "#clouds/cloud.ts";
import type { Sleep } from "#clouds/sleep.ts";
import type { CapabilityErrorCode, Observation } from "#core/capability.ts";
import type { CloudUsage } from "#core/report.ts";
import type { RouteState } from "#core/route/state.ts";

/** What routes share with the rest of a cloud. */
export interface RoutesOptions {
  readonly cluster: AwsCluster;
  readonly ec2: Ec2;
  readonly budget: Budget;
  readonly sleep: Sleep;
  readonly credentials: () => CredentialSource | undefined;
  readonly wallClock: () => number;
  /** The operations of `commands.ts`; of the region without it. */
  readonly api?: Api | undefined;
}

/** The capability `routes` of a cluster on AWS, and what closes it. */
export function createRoutes(options: RoutesOptions): Capability & { readonly close: () => void } {
  const { cluster, ec2, budget, sleep, credentials, wallClock } = options;
  const { region } = cluster;
  const api =
    options.api ??
    createApi({ region, services: ROUTE_SERVICES, commands: ROUTE_COMMANDS, credentials, wallClock });
  const allowed: ReadonlySet<string> = new Set(Object.keys(ROUTE_ACTIONS));

  async function within<Result>(
    { share }: Pick<ActionCall, "share">,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const leave = budget.enter(share);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  return {
    observe: (questions, call) =>
      within(call, async () => {
        const { signal } = call;
        const sessions = {
          routes: createSession<Api>({ ec2: api, budget, sleep, signal }),
          instances: createSession({ ec2, budget, sleep, signal }),
        };
        const answers: Observation[] = [];
        for (const question of questions) {
          const parsed = Question.safeParse(question);
          if (!parsed.success) answers.push(UNREADABLE);
          else answers.push(observationOf(await observeRoutes(parsed.data, sessions, cluster)));
        }
        return { answers, usage: sumOf(sessions.routes.usage(), sessions.instances.usage()) };
      }),
    act: (action, call) =>
      within(call, async () => {
        const session = createSession<Api>({ ec2: api, budget, sleep, signal: call.signal });
        const request = requestOf(action.action, action.parameters);
        if (request !== undefined)
          return perform({ capability: action.capability, ...request }, allowed, session);
        const message = `routes have no action ${action.action} with these parameters`;
        return { answer: { kind: "error", code: "Invalid", message }, usage: session.usage() };
      }),
    close: () => api.close(),
  };
}

const UNREADABLE: Observation = {
  kind: "error",
  code: "Invalid",
  message: "the question is none about routes",
};

function observationOf(outcome: Outcome<RouteState>): Observation {
  if (outcome.kind === "ok") return { kind: "observed", state: outcome.value };
  return { kind: "error", code: codeOf(outcome.fault), message: outcome.fault.message };
}

const CODES: readonly string[] = ["Throttled", "Denied", "Unavailable", "Aborted"];

function codeOf({ code }: Fault): CapabilityErrorCode {
  return CODES.includes(code) ? (code as CapabilityErrorCode) : "Unavailable";
}

function sumOf(one: CloudUsage, other: CloudUsage): CloudUsage {
  return {
    calls: { ...one.calls, ...other.calls },
    throttled: one.throttled + other.throttled,
    waitedMs: one.waitedMs + other.waitedMs,
  };
}
