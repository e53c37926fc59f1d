import { ACCOUNT_LIMIT_READS } from "#clouds/aws/account-limits.ts";
import { createAccountQuotas } from "#clouds/aws/account-quotas.ts";
import { type Api, createApi } from "#clouds/aws/actions/api.ts";
import { perform } from "#clouds/aws/actions/perform.ts";
import { type Budget, MAX_TOKEN_WAIT_MS } from "#clouds/aws/budget.ts";
import { type AwsWorld, MAX_WAIT_MS } from "#clouds/aws/capability.ts";
import {
  LOAD_BALANCER_ACTIONS,
  LOAD_BALANCER_READS,
  LOAD_BALANCER_SERVICES,
} from "#clouds/aws/load-balancers/commands.ts";
import { createGatheredRevokes } from "#clouds/aws/load-balancers/gather-revokes.ts";
import { createBalancerLists } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import { createNodeGroupProofs } from "#clouds/aws/load-balancers/observe/node-groups.ts";
import { observeLoadBalancers } from "#clouds/aws/load-balancers/observe/observe.ts";
import { readerOf } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { Observing } from "#clouds/aws/load-balancers/observe/shared.ts";
import { createZoneTypes } from "#clouds/aws/load-balancers/observe/zone-types.ts";
import { countBalancers, observeHoldings } from "#clouds/aws/load-balancers/orphans/observe-holdings.ts";
import { observeOrphans } from "#clouds/aws/load-balancers/orphans/observe-orphans.ts";
import { createSession, type Session } from "#clouds/aws/session.ts";
import type { ActionCall } from "#clouds/cloud.ts";
import { createEntrance } from "#clouds/entrance.ts";
import type { ClosableCapability } from "#clouds/loaded-capability.ts";
import type { Observation } from "#core/capability.ts";
import { messageOf } from "#core/message-of.ts";
import { HoldingsQuestion, type HoldingsState } from "#core/service/holdings.ts";

/** Load balancers of both kinds, with the security groups that belong to them. Without `api` they are AWS's own. */
export function createLoadBalancers(world: AwsWorld, api: Api = apiOf(world)): ClosableCapability {
  const { cluster, budget, sleep } = world;
  const zoneTypes = createZoneTypes(world.now);
  const nodeGroups = createNodeGroupProofs(world.now);
  const lists = createBalancerLists(world.now);
  const quotas = createAccountQuotas(world.now);
  const enter = createEntrance(budget);
  const gathered = createGatheredRevokes(sleep);
  const sessionOf = ({ signal, onRequest }: ActionCall, maxTokenWaitMs: number): Session<Api> =>
    createSession({ ec2: api, budget, sleep, signal, onRequest, maxTokenWaitMs });
  return {
    async observe(questions, call) {
      const session = sessionOf(call, MAX_WAIT_MS);
      if (questions.length === 0) return { answers: [], usage: session.usage() };
      const leave = enter(call);
      try {
        const waitMs = questions.every(isCount) ? undefined : untilWorthwhile(budget);
        if (waitMs !== undefined)
          return { answers: questions.map(() => later(waitMs)), usage: session.usage() };
        const observing = {
          ...{ cluster, read: readerOf(session), now: world.now },
          ...{ zoneTypes, nodeGroups, lists },
        };
        // That is of the cluster as a whole, and asked alone.
        const answers = questions.every((each) => HoldingsQuestion.safeParse(each).success)
          ? await Promise.all(
              questions.map((each) =>
                holdings(HoldingsQuestion.parse(each), observing, () => quotas.read(session)),
              ),
            )
          : await observeLoadBalancers(questions, observing);
        return { answers, usage: session.usage() };
      } catch (error) {
        // Nothing is known to come here; but the contract is that nobody's batch rejects.
        const failed: Observation = {
          kind: "error",
          code: "Unavailable",
          message: `loadBalancers: ${messageOf(error)}`,
        };
        return { answers: questions.map(() => failed), usage: session.usage() };
      } finally {
        leave();
      }
    },
    async act(action, call) {
      // Whoever comes back halfway is looked at anew: of the scarcest quota that costs more than to wait for its turn.
      const leave = enter(call);
      try {
        return await gathered(action, call.signal, (each) =>
          perform(each, ALLOWED, sessionOf(call, MAX_TOKEN_WAIT_MS)),
        );
      } finally {
        leave();
      }
    },
    close: () => api.close(),
  };
}

async function holdings(
  { auditAt, balancersAlone, quotas }: HoldingsQuestion,
  observing: Observing,
  readQuotas: () => Promise<HoldingsState["quotas"]>,
): Promise<Observation> {
  if (balancersAlone === true)
    return countBalancers(observing, quotas === true ? await readQuotas() : undefined);
  return auditAt === undefined
    ? observeHoldings(observing.cluster, observing.read)
    : observeOrphans(observing, auditAt);
}

/**
 * An observation is of use as a whole: with less than it takes the one after it would find as little, and so on for ever. It waits, and
 * spends nothing until then.
 */
function untilWorthwhile(budget: Budget): number | undefined {
  const waits = (["elb:DescribeLoadBalancers", "elbv2:DescribeLoadBalancers"] as const).flatMap(
    (operation) => budget.untilWhole(operation, MAX_WAIT_MS) ?? [],
  );
  return waits.length === 0 ? undefined : Math.max(...waits);
}

function later(waitMs: number): Observation {
  const message = `this batch's share of the account's quotas lets load balancers be looked at in ${(waitMs / 1000).toFixed(1)} s`;
  return { kind: "error", code: "Throttled", message };
}

/**
 * A count follows an observation, whose lists it uses, and asks little more. Were it to wait until a whole observation is worthwhile again, a
 * small share would never come to make a load balancer: the next invocation observes first, too.
 */
function isCount(question: unknown): boolean {
  return HoldingsQuestion.safeParse(question).data?.balancersAlone === true;
}

const ALLOWED: ReadonlySet<string> = new Set(Object.keys(LOAD_BALANCER_ACTIONS));

function apiOf({ cluster, credentials, wallClock }: AwsWorld): Api {
  return createApi({
    region: cluster.region,
    services: LOAD_BALANCER_SERVICES,
    commands: { ...LOAD_BALANCER_ACTIONS, ...LOAD_BALANCER_READS, ...ACCOUNT_LIMIT_READS },
    credentials,
    wallClock,
  });
}
