import { expect, test } from "vitest";
import type { ActionResult } from "#clouds/cloud.ts";
import type { CloudAction } from "#core/decision.ts";
import type { LogFacts } from "#core/log-text.ts";
import { logAction } from "#functions/parts/batch.ts";
import type { Invocation } from "#functions/parts/invocation.ts";
import { expectLogLines } from "#test/log-lines.ts";

const ACTION: CloudAction = {
  on: "cloud",
  capability: "loadBalancers",
  action: "elbv2:CreateListener",
  target: "a1",
  parameters: { Secret: "not told" },
  precondition: { uid: "u-1", deleting: false },
};
const SENT = { calls: { "elbv2:CreateListener": 1 }, throttled: 0, waitedMs: 0 };
const OBJECT = {
  metadata: {
    namespace: "default",
    name: "web",
    uid: "u-1",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
};
const COMMON = {
  event: "CloudAction",
  cluster: "blue",
  controller: "service-lb-controller",
  eventId: "e-1",
  namespace: "default",
  name: "web",
  uid: "u-1",
  action: "elbv2:CreateListener",
  target: "a1",
};

function linesOf(result: ActionResult, object: typeof OBJECT | undefined = OBJECT): LogFacts[] {
  const lines: LogFacts[] = [];
  const invocation = {
    dependencies: { log: (line: LogFacts) => lines.push(line) },
    event: { id: "e-1", cluster: "blue", controller: "service-lb-controller" },
  } as unknown as Invocation;
  logAction(invocation, object, ACTION, result);
  return lines;
}

test.each<[string, ActionResult, object]>([
  [
    "one that is done, by the cloud's name of the request",
    { answer: { kind: "done", result: {} }, usage: SENT, requestId: "r-1" },
    { level: "info", cloudRequestId: "r-1" },
  ],
  [
    "one that went together with another one, for which its requests are counted",
    { answer: { kind: "done", result: {} }, usage: { ...SENT, calls: {} } },
    { level: "info" },
  ],
  [
    "one that conflicts with what is there",
    { answer: { kind: "conflict", message: "DuplicateListener" }, usage: SENT, requestId: "r-2" },
    { level: "warn", cloudRequestId: "r-2", code: "Conflict", message: "DuplicateListener" },
  ],
  [
    "one that was not answered, and may be done",
    { answer: { kind: "error", code: "Unavailable", message: "no answer" }, usage: SENT },
    { level: "warn", code: "Unavailable", message: "no answer" },
  ],
])("%s", (_, result, facts) => {
  const lines = linesOf(result);
  expect(lines).toEqual([{ ...COMMON, ...facts }]);
  expectLogLines(lines);
});

test("what was held back has no line", () => {
  const held = { kind: "error", code: "Throttled", message: "in 3 s" } as const;
  expect(linesOf({ answer: held, usage: { ...SENT, calls: {} } })).toEqual([]);
});
