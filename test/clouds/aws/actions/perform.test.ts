import { expect, test } from "vitest";
import type { Api } from "#clouds/aws/actions/api.ts";
import { perform } from "#clouds/aws/actions/perform.ts";
import { createBudget } from "#clouds/aws/budget.ts";
import { createSession } from "#clouds/aws/session.ts";
import { createAwsError } from "#test/clouds/aws/ec2-world.ts";

interface Options {
  readonly answer?: object | Error | undefined;
  readonly share?: number;
  readonly aborted?: boolean;
  readonly before?: number;
}

/**
 * Performs `elbv2:CreateListener` as often as `before` says, and then once more for the result under test.
 */
async function performed(
  { answer = {}, share = 1, aborted = false, before = 0 }: Options,
  action = "elbv2:CreateListener",
) {
  const clock = { ms: 0 };
  const budget = createBudget(() => clock.ms);
  budget.enter(share);
  const sent: object[] = [];
  const api: Api = {
    async call(operation, request) {
      sent.push({ operation, request });
      if (sent.length > before && answer instanceof Error) throw answer;
      return answer;
    },
    close() {},
  };
  const signal = aborted ? AbortSignal.abort() : new AbortController().signal;
  const sleep = async (delayMs: number): Promise<void> => {
    clock.ms += delayMs;
  };
  const run = () => {
    const session = createSession({ ec2: api, budget, sleep, signal, maxTokenWaitMs: 2_000 });
    const parameters = { LoadBalancerArn: "arn" };
    return perform(
      { capability: "loadBalancers", action, parameters },
      new Set(["elbv2:CreateListener"]),
      session,
    );
  };
  for (let count = 0; count < before; count += 1) await run();
  const result = await run();
  return { result, sent: sent.length - before, clock };
}

test("returns AWS's answer as JSON, with the request ID", async () => {
  const answer = {
    $metadata: { httpStatusCode: 200, requestId: "r-1" },
    Listeners: [{ ListenerArn: "a", Port: 80, Nothing: undefined, At: new Date(0), Certificates: [null] }],
  };
  const { result, sent } = await performed({ answer });
  expect(result).toEqual({
    answer: { kind: "done", result: { Listeners: [{ ListenerArn: "a", Port: 80, Certificates: [null] }] } },
    usage: { calls: { "elbv2:CreateListener": 1 }, throttled: 0, waitedMs: 0 },
    requestId: "r-1",
  });
  expect(sent).toBe(1);
});

test.each([
  ["a connection that broke", createAwsError("TimeoutError", undefined as unknown as number)],
  ["a failure of the service", createAwsError("InternalFailure", 500)],
])("%s: the action may have been done, and is not sent twice", async (_, answer) => {
  const { result, sent } = await performed({ answer });
  expect(result.answer).toMatchObject({ kind: "error", code: "Unavailable" });
  expect(sent).toBe(1);
});

test("sends a throttled action once more after a while, because nothing was done", async () => {
  const { result, sent, clock } = await performed({ answer: createAwsError("ThrottlingException", 400) });
  expect(result.answer).toMatchObject({ kind: "error", code: "Throttled" });
  expect(sent).toBe(2);
  // Two tokens at 10 a second.
  expect(clock.ms).toBe(200);
});

test("an error has the ID of its request, too", async () => {
  const answer = Object.assign(createAwsError("ValidationError", 400), {
    $metadata: { httpStatusCode: 400, requestId: "r-2" },
  });
  const { result } = await performed({ answer });
  expect(result).toMatchObject({ answer: { kind: "error", code: "Invalid" }, requestId: "r-2" });
});

test("does not send an operation of another capability", async () => {
  const { result, sent } = await performed({}, "ec2:CreateRoute");
  expect(result.answer).toEqual({
    kind: "error",
    code: "Invalid",
    message: "loadBalancers has no action ec2:CreateRoute",
  });
  expect(sent).toBe(0);
});

test("sends nothing after the deadline", async () => {
  const { result, sent } = await performed({ aborted: true });
  expect(result.answer).toMatchObject({ kind: "error", code: "Aborted" });
  expect(sent).toBe(0);
});

test("waits at most two seconds for a token; then the answer says when one is free", async () => {
  // A fiftieth of 36 at once and of 10 a second: one at once, then one every 5 s.
  const { result, sent, clock } = await performed({ share: 0.02, before: 1 });
  expect(result).toMatchObject({
    answer: { kind: "error", code: "Throttled", message: expect.stringContaining("in 5.0 s") },
    usage: { calls: {} },
  });
  expect([sent, clock.ms]).toEqual([0, 0]);
});

test("an action that needs a shorter wait waits less", async () => {
  // A tenth of 36 at once and of 10 a second: three and a part of the fourth, then one every second.
  const { result, sent, clock } = await performed({ share: 0.1, before: 3 });
  expect(result.answer.kind).toBe("done");
  expect([sent, clock.ms]).toEqual([1, 400]);
});

/** An account with some valid instances; `says` answers for the others. */
function anAccount(bad: readonly string[], says: (bad: readonly string[]) => string, failure?: Error) {
  const registered: string[] = [];
  let calls = 0;
  const api: Api = {
    async call(_, request) {
      calls += 1;
      if (failure !== undefined && calls > 1) throw failure;
      const ids = (request as { Targets: { Id: string }[] }).Targets.map(({ Id: id }) => id);
      const found = ids.filter((id) => bad.includes(id));
      if (found.length > 0) throw createAwsError("InvalidTargetException", 400, says(found));
      registered.push(...ids);
      return { $metadata: { requestId: `r-${calls}` } };
    },
    close() {},
  };
  return { api, registered, calls: () => calls };
}

async function registered(account: ReturnType<typeof anAccount>, ids: readonly string[]) {
  const budget = createBudget(() => 0);
  const signal = new AbortController().signal;
  const session = createSession({ ec2: account.api, budget, sleep: async () => {}, signal });
  const parameters = { TargetGroupArn: "tg", Targets: ids.map((Id) => ({ Id })) };
  const action = "elbv2:RegisterTargets";
  return perform({ capability: "loadBalancers", action, parameters }, new Set([action]), session);
}

const NODES = ["i-1", "i-2", "i-3", "i-4", "i-5", "i-6"];
const naming = (bad: readonly string[]): string => `not in a running state: '${bad.join("', '")}'`;
const silent = (): string => "some targets cannot be registered";

test.each([
  ["that AWS names", naming, ["i-3", "i-5"], 2, "r-2"],
  ["that AWS does not name", silent, ["i-3"], 5, "r-4"],
])("a bad target %s does not keep another one out", async (_, says, bad, calls, id) => {
  const account = anAccount(bad, says);
  const { answer, usage, requestId } = await registered(account, NODES);
  expect(account.registered.toSorted()).toEqual(NODES.filter((id) => !bad.includes(id)));
  expect(answer).toEqual({ kind: "done", result: { refused: bad } });
  expect(account.calls()).toBe(calls);
  expect(usage.calls).toEqual({ "elbv2:RegisterTargets": calls });
  expect(requestId).toBe(id);
});

test.each([
  ["all targets are bad", anAccount(NODES, naming), NODES, 1],
  ["the only target is bad", anAccount(["i-1"], silent), ["i-1"], 1],
  ["too many are bad for finding out which", anAccount(["i-1", "i-3", "i-5"], silent), NODES, 9],
])("%s: the state must be observed again", async (_, account, ids, calls) => {
  const { answer } = await registered(account, ids);
  expect(answer).toMatchObject({ kind: "conflict" });
  expect(account.calls()).toBe(calls);
});

test("a failure for another reason on the way is the result", async () => {
  const account = anAccount(["i-3"], naming, createAwsError("ThrottlingException", 400));
  expect((await registered(account, NODES)).answer).toMatchObject({ kind: "error", code: "Throttled" });
});
