import { ACCOUNT_LIMIT_READS, createAccountQuotas } from "#clouds/aws/account-limits.ts";
import { type Api, createApi } from "#clouds/aws/actions/api.ts";
import { perform, type SentAction } from "#clouds/aws/actions/perform.ts";
import { type Budget, MAX_TOKEN_WAIT_MS } from "#clouds/aws/budget.ts";
import {
  LOAD_BALANCER_ACTIONS,
  LOAD_BALANCER_READS,
  LOAD_BALANCER_SERVICES,
} from "#clouds/aws/load-balancers/commands.ts";
import { createBalancerLists } from "#clouds/aws/load-balancers/observe/all-load-balancers.ts";
import { createNodeGroupProofs } from "#clouds/aws/load-balancers/observe/node-groups.ts";
import { observeLoadBalancers } from "#clouds/aws/load-balancers/observe/observe.ts";
import { createReader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { ObserveContext } from "#clouds/aws/load-balancers/observe/shared-state.ts";
import { createZoneTypes } from "#clouds/aws/load-balancers/observe/vpc.ts";
import { countBalancers, observeHoldings } from "#clouds/aws/load-balancers/orphans/observe-holdings.ts";
import { observeOrphans } from "#clouds/aws/load-balancers/orphans/observe-orphans.ts";
import { type AwsDependencies, createSession, MAX_WAIT_MS, type Session } from "#clouds/aws/session.ts";
import type { ActionCall, ActionResult } from "#clouds/cloud.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import type { Sleep } from "#clouds/sleep.ts";
import type { Observation } from "#core/capability.ts";
import type { CloudUsage } from "#core/report.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
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

/** Sends one action. */
type Send = (action: SentAction) => Promise<ActionResult>;

/** Sends an action, together with those of the invocation's other Services if possible; never rejects. */
type SendGathered = (action: SentAction, signal: AbortSignal, send: Send) => Promise<ActionResult>;

/** Services that are deleted together reach their rules within this time of each other. */
const GATHER_MS = 100;

/** Maximum actions per request. */
const MAX_GATHERED = 20;

const REVOKE = "ec2:RevokeSecurityGroupIngress";

/**
 * Merges the revokes of an invocation's Services for one security group into one request, if they come at
 * about the same time. AWS applies a whole request or nothing. On success each action is done. If AWS rejects
 * it, each action is sent alone and gets its own error. If the answer is lost, each Service observes again.
 */
export function createGatheredRevokes(sleep: Sleep): SendGathered {
  const batchesBySignal = new Map<AbortSignal, Map<unknown, RevokeBatch>>();
  return async (action, signal, send) => {
    if (action.action !== REVOKE) return send(action);
    const batchesByGroup = batchesBySignal.get(signal) ?? new Map<unknown, RevokeBatch>();
    batchesBySignal.set(signal, batchesByGroup);
    const group = action.parameters["GroupId"];
    const openBatch = batchesByGroup.get(group);
    if (openBatch !== undefined && openBatch.actions.length < MAX_GATHERED)
      return joinBatch(openBatch, action);
    const actions: SentAction[] = [];
    const newBatch: RevokeBatch = { actions, results: sendAfterDelay() };
    batchesByGroup.set(group, newBatch);
    return joinBatch(newBatch, action);

    async function sendAfterDelay(): Promise<readonly ActionResult[]> {
      await sleep(GATHER_MS, signal);
      if (batchesByGroup.get(group) === newBatch) batchesByGroup.delete(group);
      if (batchesByGroup.size === 0) batchesBySignal.delete(signal);
      return sendTogether(actions, send);
    }
  };
}

interface RevokeBatch {
  readonly actions: SentAction[];
  readonly results: Promise<readonly ActionResult[]>;
}

async function joinBatch({ actions, results }: RevokeBatch, action: SentAction): Promise<ActionResult> {
  const index = actions.push(action) - 1;
  return (await results)[index] as ActionResult;
}

async function sendTogether(actions: readonly SentAction[], send: Send): Promise<readonly ActionResult[]> {
  const [first] = actions;
  if (first === undefined || actions.length === 1) return Promise.all(actions.map(send));
  const IpPermissions = actions.flatMap(
    ({ parameters }) => parameters["IpPermissions"] as readonly unknown[],
  );
  const combined = await send({ ...first, parameters: { ...first.parameters, IpPermissions } });
  // Only the first result reports the call.
  if (!isRefused(combined))
    return actions.map((_, index) => (index === 0 ? combined : { ...combined, usage: NO_USAGE }));
  const results: ActionResult[] = [];
  for (const action of actions) {
    const result = await send(action);
    results.push(
      results.length === 0 ? { ...result, usage: addUsage(combined.usage, result.usage) } : result,
    );
  }
  return results;
}

/** Whether AWS rejected the request, so that nothing of it was done. */
function isRefused({ answer }: ActionResult): boolean {
  return answer.kind === "conflict" || (answer.kind === "error" && answer.code === "Invalid");
}

const NO_USAGE: CloudUsage = { calls: {}, throttled: 0, waitedMs: 0 };

function addUsage(one: CloudUsage, other: CloudUsage): CloudUsage {
  const names = [...new Set([...Object.keys(one.calls), ...Object.keys(other.calls)])];
  return {
    calls: Object.fromEntries(names.map((name) => [name, (one.calls[name] ?? 0) + (other.calls[name] ?? 0)])),
    throttled: one.throttled + other.throttled,
    waitedMs: one.waitedMs + other.waitedMs,
  };
}
