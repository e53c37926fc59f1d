import { expect, test } from "vitest";
import type { SentAction } from "#clouds/aws/actions/perform.ts";
import { createGatheredRevokes } from "#clouds/aws/load-balancers/capability.ts";
import type { ActionResult } from "#clouds/cloud.ts";
import type { ActionAnswer } from "#core/capability.ts";

const DONE: ActionAnswer = { kind: "done", result: {} };
const GONE: ActionAnswer = { kind: "conflict", message: "not found", reason: "InvalidPermission.NotFound" };

const revoke = (rule: string, group = "sg-1"): SentAction => ({
  capability: "loadBalancers",
  action: "ec2:RevokeSecurityGroupIngress",
  parameters: { GroupId: group, IpPermissions: [{ rule }] },
});

/** An AWS that answers according to the rules in the request, and a clock that tests move. */
function aWorld(answer: (rules: readonly string[]) => ActionAnswer = () => DONE) {
  const sent: string[] = [];
  const waking: (() => void)[] = [];
  const sleep = (): Promise<void> => new Promise((resolve) => void waking.push(resolve));
  const gathered = createGatheredRevokes(sleep);
  const send = async ({ action, parameters }: SentAction): Promise<ActionResult> => {
    const rules = ((parameters["IpPermissions"] ?? []) as { readonly rule: string }[]).map(
      ({ rule }) => rule,
    );
    sent.push(`${action.replace(/.*:/, "")} ${parameters["GroupId"] ?? ""} ${rules.join("+")}`.trim());
    return {
      answer: answer(rules),
      usage: { calls: { Revoke: 1 }, throttled: 0, waitedMs: 1 },
      requestId: `r${sent.length}`,
    };
  };
  const { signal } = new AbortController();
  return {
    sent,
    act: (action: SentAction, of = signal) => gathered(action, of, send),
    pass: () => {
      for (const wake of waking.splice(0)) wake();
    },
  };
}

test("several removals from one group go in one request, and each gets its request ID", async () => {
  const { sent, act, pass } = aWorld();
  const results = [act(revoke("a")), act(revoke("b")), act(revoke("c"))];
  expect(sent).toEqual([]);
  pass();
  expect(
    (await Promise.all(results)).map(({ answer, usage, requestId }) => [answer, usage, requestId]),
  ).toEqual([
    [DONE, { calls: { Revoke: 1 }, throttled: 0, waitedMs: 1 }, "r1"],
    [DONE, { calls: {}, throttled: 0, waitedMs: 0 }, "r1"],
    [DONE, { calls: {}, throttled: 0, waitedMs: 0 }, "r1"],
  ]);
  expect(sent).toEqual(["RevokeSecurityGroupIngress sg-1 a+b+c"]);
});

test("a single removal is sent unchanged, and a later one is sent separately", async () => {
  const { sent, act, pass } = aWorld();
  const first = act(revoke("a"));
  pass();
  await first;
  const second = act(revoke("b"));
  pass();
  await second;
  expect(sent).toEqual(["RevokeSecurityGroupIngress sg-1 a", "RevokeSecurityGroupIngress sg-1 b"]);
});

test("other groups, invocations and actions stay separate", async () => {
  const { sent, act, pass } = aWorld();
  const results = [
    act(revoke("a")),
    act(revoke("b", "sg-2")),
    act(revoke("c"), new AbortController().signal),
    act({ capability: "loadBalancers", action: "elbv2:DeleteLoadBalancer", parameters: {} }),
  ];
  expect(sent).toEqual(["DeleteLoadBalancer"]);
  pass();
  await Promise.all(results);
  expect(sent.slice(1)).toEqual([
    "RevokeSecurityGroupIngress sg-1 a",
    "RevokeSecurityGroupIngress sg-2 b",
    "RevokeSecurityGroupIngress sg-1 c",
  ]);
});

test("after a rejection each removal is sent alone, and only the rejected one gets the error", async () => {
  const { sent, act, pass } = aWorld((rules) => (rules.includes("b") ? GONE : DONE));
  const results = ["a", "b", "c"].map((rule) => act(revoke(rule)));
  pass();
  const answered = await Promise.all(results);
  expect(answered.map(({ answer }) => answer)).toEqual([DONE, GONE, DONE]);
  expect(answered.map(({ usage }) => usage.calls)).toEqual([{ Revoke: 2 }, { Revoke: 1 }, { Revoke: 1 }]);
  expect(answered.map(({ requestId }) => requestId)).toEqual(["r2", "r3", "r4"]);
  expect(sent.map((each) => each.split(" ")[2])).toEqual(["a+b+c", "a", "b", "c"]);
});

test.each<ActionAnswer>([
  { kind: "error", code: "Unavailable", message: "lost", reason: undefined },
  { kind: "error", code: "Throttled", message: "later", reason: undefined },
  { kind: "error", code: "Denied", message: "may not", reason: undefined },
  { kind: "error", code: "Aborted", message: "too late", reason: undefined },
] as ActionAnswer[])(
  "if the result is unknown, each removal gets that answer, and nothing is sent again: %o",
  async (answer) => {
    const { sent, act, pass } = aWorld(() => answer);
    const results = ["a", "b"].map((rule) => act(revoke(rule)));
    pass();
    expect((await Promise.all(results)).map((each) => each.answer)).toEqual([answer, answer]);
    expect(sent).toHaveLength(1);
  },
);

test("a request has a maximum size", async () => {
  const { sent, act, pass } = aWorld();
  const results = Array.from({ length: 45 }, (_, index) => act(revoke(`${index}`)));
  pass();
  await Promise.all(results);
  expect(sent.map((each) => each.split("+").length)).toEqual([20, 20, 5]);
});
