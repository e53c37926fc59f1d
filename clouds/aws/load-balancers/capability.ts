import { ACCOUNT_LIMIT_READS } from "#clouds/aws/account-limits.ts";
import { createAccountQuotas } from "#clouds/aws/account-quotas.ts";
import { type Api, createApi } from "#clouds/aws/actions/api.ts";
import { perform } from "#clouds/aws/actions/perform.ts";
import { type Budget, MAX_TOKEN_WAIT_MS } from "#clouds/aws/budget.ts";
import { type AwsDependencies, MAX_WAIT_MS } from "#clouds/aws/capability.ts";
import {
  LOAD_BALANCER_ACTIONS,
  LOAD_BALANCER_READS,
  LOAD_BALANCER_SERVICES,
} from "#clouds/aws/load-balancers/commands.ts";
import { createGatheredRevokes } from "#clouds/aws/load-balancers/gather-revokes.ts";
import { createBalancerLists } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import { createNodeGroupProofs } from "#clouds/aws/load-balancers/observe/node-groups.ts";
import { observeLoadBalancers } from "#clouds/aws/load-balancers/observe/observe.ts";
import { createReader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { ObserveContext } from "#clouds/aws/load-balancers/observe/shared-state.ts";
import { createZoneTypes } from "#clouds/aws/load-balancers/observe/zone-types.ts";
import { countBalancers, observeHoldings } from "#clouds/aws/load-balancers/orphans/observe-holdings.ts";
import { observeOrphans } from "#clouds/aws/load-balancers/orphans/observe-orphans.ts";
import { createSession, type Session } from "#clouds/aws/session.ts";
import type { ActionCall } from "#clouds/cloud.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import type { Observation } from "#core/capability.ts";
import { getErrorMessage } from "#core/error-message.ts";
import { HoldingsQuestion, type HoldingsState } from "#core/service/holdings.ts";

/**
 * Creates the capability for load balancers of both types, with their security groups. Without `api` it uses
 * AWS.
 */
export function createLoadBalancers(
  dependencies: AwsDependencies,
  api: Api = createLoadBalancerApi(dependencies),
): ClosableCapability {
  const { cluster, budget, sleep } = dependencies;
  const zoneTypes = createZoneTypes(dependencies.now);
  const nodeGroups = createNodeGroupProofs(dependencies.now);
  const lists = createBalancerLists(dependencies.now);
  const quotas = createAccountQuotas(dependencies.now);
  const enter = createInvocationShares(budget);
  const sendGathered = createGatheredRevokes(sleep);
  const openSession = ({ signal, onRequest }: ActionCall, maxTokenWaitMs: number): Session<Api> =>
    createSession({ ec2: api, budget, sleep, signal, onRequest, maxTokenWaitMs });
  return {
    async observe(questions, call) {
      const session = openSession(call, MAX_WAIT_MS);
      if (questions.length === 0) return { answers: [], usage: session.getUsage() };
      const leave = enter(call);
      try {
        const waitMs = questions.every(isCount) ? undefined : getWaitMs(budget);
        if (waitMs !== undefined)
          return { answers: questions.map(() => buildThrottledAnswer(waitMs)), usage: session.getUsage() };
        const context = {
          ...{ cluster, read: createReader(session), now: dependencies.now },
          ...{ zoneTypes, nodeGroups, lists },
        };
        // This question is about the whole cluster and comes alone.
        const answers = questions.every((each) => HoldingsQuestion.safeParse(each).success)
          ? await Promise.all(
              questions.map((each) =>
                answerHoldings(HoldingsQuestion.parse(each), context, () => quotas.read(session)),
              ),
            )
          : await observeLoadBalancers(questions, context);
        return { answers, usage: session.getUsage() };
      } catch (error) {
        // No known error reaches this line, but by contract a batch never rejects.
        const failed: Observation = {
          kind: "error",
          code: "Unavailable",
          message: `loadBalancers: ${getErrorMessage(error)}`,
        };
        return { answers: questions.map(() => failed), usage: session.getUsage() };
      } finally {
        leave();
      }
    },
    async act(action, call) {
      // The call waits for its turn here: a retry halfway would observe everything again, which spends more
      // of the scarcest quota.
      const leave = enter(call);
      try {
        return await sendGathered(action, call.signal, (each) =>
          perform(each, ALLOWED, openSession(call, MAX_TOKEN_WAIT_MS)),
        );
      } finally {
        leave();
      }
    },
    close: () => api.close(),
  };
}

async function answerHoldings(
  { auditAt, balancersAlone, quotas }: HoldingsQuestion,
  observing: ObserveContext,
  readQuotas: () => Promise<HoldingsState["quotas"]>,
): Promise<Observation> {
  if (balancersAlone === true)
    return countBalancers(observing, quotas === true ? await readQuotas() : undefined);
  return auditAt === undefined
    ? observeHoldings(observing.cluster, observing.read)
    : observeOrphans(observing, auditAt);
}

/**
 * Returns how long to wait before an observation. An observation is useful only as a whole: with too few
 * tokens it would fail, and so would every later one. It waits before it spends any.
 */
function getWaitMs(budget: Budget): number | undefined {
  const waits = (["elb:DescribeLoadBalancers", "elbv2:DescribeLoadBalancers"] as const).flatMap(
    (operation) => budget.getWaitMs(operation, MAX_WAIT_MS) ?? [],
  );
  return waits.length === 0 ? undefined : Math.max(...waits);
}

function buildThrottledAnswer(waitMs: number): Observation {
  const message = `this batch's share of the account's quotas allows reads of load balancers in ${(waitMs / 1000).toFixed(1)} s`;
  return { kind: "error", code: "Throttled", message };
}

/**
 * Whether a question is a count. A count follows an observation, whose lists it reuses, and sends few
 * requests. If it waited for a whole observation's tokens, a small share could never create a load balancer,
 * because the next invocation observes first too.
 */
function isCount(question: unknown): boolean {
  return HoldingsQuestion.safeParse(question).data?.balancersAlone === true;
}

const ALLOWED: ReadonlySet<string> = new Set(Object.keys(LOAD_BALANCER_ACTIONS));

function createLoadBalancerApi({ cluster, credentials, wallClock }: AwsDependencies): Api {
  return createApi({
    region: cluster.region,
    services: LOAD_BALANCER_SERVICES,
    commands: { ...LOAD_BALANCER_ACTIONS, ...LOAD_BALANCER_READS, ...ACCOUNT_LIMIT_READS },
    credentials,
    wallClock,
  });
}
