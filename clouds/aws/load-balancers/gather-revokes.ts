import type { SentAction } from "#clouds/aws/actions/perform.ts";
import type { ActionResult } from "#clouds/cloud.ts";
import type { Sleep } from "#clouds/sleep.ts";
import type { CloudUsage } from "#core/report.ts";

/** Sends one action. */
type Send = (action: SentAction) => Promise<ActionResult>;

/** Sends an action, together with those of the invocation's other Services if possible; never rejects. */
export type SendGathered = (action: SentAction, signal: AbortSignal, send: Send) => Promise<ActionResult>;

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
