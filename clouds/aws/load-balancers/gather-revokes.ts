import type { Performed } from "#clouds/aws/actions/perform.ts";
import type { ActionResult } from "#clouds/cloud.ts";
import type { Sleep } from "#clouds/sleep.ts";
import type { CloudUsage } from "#core/report.ts";

/** Sends one action. */
type Send = (action: Performed) => Promise<ActionResult>;

/** Sends an action of an invocation, together with those of its other Services where that can be; never rejects. */
export type Gathered = (action: Performed, signal: AbortSignal, send: Send) => Promise<ActionResult>;

/** Services that are deleted together come to their rules within this time of each other. */
const GATHER_MS = 100;

/** So many go in one request. */
const MAX_GATHERED = 20;

const REVOKE = "ec2:RevokeSecurityGroupIngress";

/**
 * What Services of an invocation take away from one security group goes in one request, as far as it comes at about the same time.
 * AWS does all of a request or nothing: done is done for each; refused, each goes alone and is told what concerns it; and where the
 * answer is lost each looks anew, as after its own.
 */
export function createGatheredRevokes(sleep: Sleep): Gathered {
  const gatherings = new Map<AbortSignal, Map<unknown, Gathering>>();
  return async (action, signal, send) => {
    if (action.action !== REVOKE) return send(action);
    const ofInvocation = gatherings.get(signal) ?? new Map<unknown, Gathering>();
    gatherings.set(signal, ofInvocation);
    const group = action.parameters["GroupId"];
    const known = ofInvocation.get(group);
    if (known !== undefined && known.actions.length < MAX_GATHERED) return join(known, action);
    const actions: Performed[] = [];
    const gathering: Gathering = { actions, results: gather() };
    ofInvocation.set(group, gathering);
    return join(gathering, action);

    async function gather(): Promise<readonly ActionResult[]> {
      await sleep(GATHER_MS, signal);
      if (ofInvocation.get(group) === gathering) ofInvocation.delete(group);
      if (ofInvocation.size === 0) gatherings.delete(signal);
      return sendTogether(actions, send);
    }
  };
}

interface Gathering {
  readonly actions: Performed[];
  readonly results: Promise<readonly ActionResult[]>;
}

async function join({ actions, results }: Gathering, action: Performed): Promise<ActionResult> {
  const index = actions.push(action) - 1;
  return (await results)[index] as ActionResult;
}

async function sendTogether(actions: readonly Performed[], send: Send): Promise<readonly ActionResult[]> {
  const [first] = actions;
  if (first === undefined || actions.length === 1) return Promise.all(actions.map(send));
  const IpPermissions = actions.flatMap(
    ({ parameters }) => parameters["IpPermissions"] as readonly unknown[],
  );
  const whole = await send({ ...first, parameters: { ...first.parameters, IpPermissions } });
  // What was called is told once, by the first.
  if (!isRefused(whole))
    return actions.map((_, index) => (index === 0 ? whole : { ...whole, usage: NO_USAGE }));
  const results: ActionResult[] = [];
  for (const action of actions) {
    const result = await send(action);
    results.push(results.length === 0 ? { ...result, usage: sumOf(whole.usage, result.usage) } : result);
  }
  return results;
}

/** Whether AWS has said no to it, and nothing of it was done. */
function isRefused({ answer }: ActionResult): boolean {
  return answer.kind === "conflict" || (answer.kind === "error" && answer.code === "Invalid");
}

const NO_USAGE: CloudUsage = { calls: {}, throttled: 0, waitedMs: 0 };

function sumOf(one: CloudUsage, other: CloudUsage): CloudUsage {
  const names = [...new Set([...Object.keys(one.calls), ...Object.keys(other.calls)])];
  return {
    calls: Object.fromEntries(names.map((name) => [name, (one.calls[name] ?? 0) + (other.calls[name] ?? 0)])),
    throttled: one.throttled + other.throttled,
    waitedMs: one.waitedMs + other.waitedMs,
  };
}
