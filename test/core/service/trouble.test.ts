import { describe, expect, test } from "vitest";
import { inWords } from "#core/cluster-events.ts";
import type { RefusedAction } from "#core/controller.ts";
import { PROBLEMS, toldCodeOf } from "#core/service/problems.ts";
import { refusal, sentenceOf, unanswered, warningOf } from "#core/service/trouble.ts";
import {
  annotationOf,
  context,
  controllerWith,
  NOW,
  related,
  type Script,
  secondsAgo,
  served,
  service,
  withAnnotation,
} from "#test/core/service/builders.ts";

const FIELD = "service.beta.kubernetes.io/aws-load-balancer-healthcheck-interval";
const SAID = service({ metadata: { annotations: { [FIELD]: '7 "days"' } } });

describe("a Warning", () => {
  test("names the annotation, what it says and what it may say", () => {
    const problem = { code: "InvalidAnnotation", field: FIELD, value: '7 "days"', allowed: "a whole number" };
    expect(inWords(warningOf(SAID, problem))).toEqual({
      type: "Warning",
      reason: "SyncLoadBalancerFailed",
      message: `The annotation ${FIELD} is "7 "days""; allowed: a whole number`,
    });
  });

  test.each([
    ["a value that the Service does not say", { code: "InvalidAnnotation", value: "sg-0123" }],
    ["a field that is none", { code: "InvalidAnnotation", field: "arn:aws:iam::1:role/a is not allowed" }],
    ["words for a code that has no room for them", { code: "NoEligibleSubnet", allowed: "subnet-0123" }],
    [
      "a code that is in no catalogue",
      { code: "sg-0123", field: "sg-0123", value: "sg-0123", detail: "sg-0123" },
    ],
  ])("says nothing of %s", (_, problem) => {
    expect(inWords(warningOf(SAID, problem)).message).not.toMatch(/sg-0123|subnet-0123|arn:/);
  });

  test.each([
    ["spec.ports[0].nodePort", true],
    ["metadata.annotations", true],
    ["serverless-ccm.io/load-balancer", true],
    [FIELD, true],
    ["kubernetes.digitalocean.com/load-balancer-id", true],
    ["kubernetes.digitalocean.com/firewall-managed", true],
    ["service.kubernetes.io/do-loadbalancer-disown", true],
    ["ports", false],
    ["spec", false],
  ])("takes %s for a field: %s", (field, isField) => {
    const { message } = inWords(warningOf(SAID, { code: "InvalidField", field }));
    expect(message.startsWith(field)).toBe(isField);
  });

  test.each([
    ["NodesWithoutPublicAddress", /^No node has a public IPv4 address/],
    ["InvalidAnnotation", new RegExp(`^The annotation ${FIELD} is`)],
  ])("has a second one with the stock controller's reason where it has one: %s", (code, sentence) => {
    const problem = {
      code,
      field: FIELD,
      value: '7 "days"',
      stockReason: "LoadBalancerConfigError",
    } as const;
    expect(refusal(SAID, problem, NOW).events?.map(inWords)).toEqual([
      { type: "Warning", reason: "SyncLoadBalancerFailed", message: expect.stringMatching(sentence) },
      { type: "Warning", reason: "LoadBalancerConfigError", message: expect.stringMatching(sentence) },
    ]);
  });

  test("has a code of the catalogue, whatever the problem's is", () => {
    expect(Object.keys(PROBLEMS).map((code) => toldCodeOf({ code }))).toEqual(Object.keys(PROBLEMS));
    expect(toldCodeOf({ code: "toString" })).toBe("LoadBalancerRefused");
  });
});

test.each([
  [{ code: "NoPorts" }, "NoPorts"],
  [{ code: "NoPorts", field: "spec.ports" }, "spec.ports"],
  [{ code: "A", field: "f", value: "v", allowed: "w", detail: "d" }, 'f is "v"; allowed: w; d'],
])("an operator reads of %j: %s", (problem, sentence) => {
  expect(sentenceOf(problem)).toBe(sentence);
});

describe("without an answer of the cloud", () => {
  const SERVED_LONG_AGO = served({ metadata: { creationTimestamp: secondsAgo(10_000) } });
  const error = (code: "Throttled" | "Aborted" | "Unavailable" | "Denied" | "Invalid") => ({
    code,
    message: "no",
  });
  const aged = (seconds: number) => service({ metadata: { creationTimestamp: secondsAgo(seconds) } });
  const deleted = (seconds: number) => service({ metadata: { deletionTimestamp: secondsAgo(seconds) } });

  test.each([
    ["a throttle at first", error("Throttled"), aged(4), 3, []],
    ["a throttle that lasts", error("Throttled"), aged(5), 3, ["SyncLoadBalancerFailed"]],
    ["what was given up", error("Aborted"), aged(1_000), 0.5, []],
    ["a failure at first", error("Unavailable"), aged(4), 3, []],
    ["a failure that lasts", error("Unavailable"), aged(5), 3, ["SyncLoadBalancerFailed"]],
    ["nothing at all", undefined, aged(5), 3, ["SyncLoadBalancerFailed"]],
    ["a denial at first", error("Denied"), aged(0), 30, ["SyncLoadBalancerFailed"]],
    ["a denial that lasts", error("Denied"), aged(120), 120, ["SyncLoadBalancerFailed"]],
    ["a denial for days", error("Denied"), aged(100_000), 300, ["SyncLoadBalancerFailed"]],
    ["what cannot be asked", error("Invalid"), aged(90), 90, ["SyncLoadBalancerFailed"]],
    ["a denial of a deletion", error("Denied"), deleted(60), 60, ["DeleteLoadBalancerFailed"]],
    ["one that was made in the future", error("Denied"), aged(-60), 30, ["SyncLoadBalancerFailed"]],
    ["a failure of one that was made in the future", error("Unavailable"), aged(-60), 3, []],
    [
      "one whose creation is unreadable",
      error("Denied"),
      service({ metadata: { creationTimestamp: "?" } }),
      30,
      ["SyncLoadBalancerFailed"],
    ],
  ])("%s", (_, answer, object, afterSeconds, reasons) => {
    const decision = unanswered(object, answer, NOW);
    expect(decision).toMatchObject({ kind: "retry", afterSeconds });
    expect("events" in decision && decision.events.map(({ reason }) => reason)).toEqual(reasons);
  });

  test("one that is served is not told of an audit that fails", async () => {
    expect(unanswered(await SERVED_LONG_AGO, error("Denied"), NOW)).toMatchObject({
      afterSeconds: 30,
      events: [],
    });
  });

  test.each([
    ["a change of its ports", { ports: [{ port: 81, nodePort: 30_081, protocol: "TCP" }] }, {}],
    ["a node more", {}, { related: related([{ name: "z", providerID: "i-z" }]) }],
  ])("one that is served is told at once that %s cannot be applied", async (_, spec, facts) => {
    const before = await SERVED_LONG_AGO;
    const object = { ...before, spec: { ...before.spec, ...spec } };
    const controller = await controllerWith();
    const answer = { kind: "error", ...error("Throttled") } as const;
    const plan = controller.decide([{ object, answer, hint: undefined }], context(facts));
    expect(plan).toMatchObject({
      decisions: [
        { kind: "retry", events: [{ reason: "SyncLoadBalancerFailed", code: "CloudUnavailable" }] },
      ],
    });
  });

  test("one whose targets were being changed is told at once", async () => {
    const object = await SERVED_LONG_AGO;
    const mark = JSON.parse(annotationOf(object) ?? "") as object;
    const changing = withAnnotation(object, JSON.stringify({ ...mark, targets: "" }));
    expect(unanswered(changing, error("Throttled"), NOW)).toMatchObject({
      events: [{ reason: "SyncLoadBalancerFailed", code: "CloudUnavailable" }],
    });
  });

  test("one with something under way is told of how long that has been", async () => {
    const object = await SERVED_LONG_AGO;
    const mark = JSON.parse(annotationOf(object) ?? "") as object;
    const underWay = withAnnotation(
      object,
      JSON.stringify({ ...mark, state: "applying", at: secondsAgo(70) }),
    );
    expect(unanswered(underWay, error("Denied"), NOW)).toMatchObject({
      afterSeconds: 70,
      events: [{ reason: "SyncLoadBalancerFailed", code: "CloudUnavailable" }],
    });
  });
});

describe("an action that the cloud refuses", () => {
  const action = {
    on: "cloud",
    capability: "loadBalancers",
    action: "PutUp",
    target: "uid-web",
    parameters: {},
    precondition: { uid: "uid-web", deleting: false },
  } as const;

  async function refused(answer: RefusedAction["answer"], script: Script = {}) {
    const controller = await controllerWith(script);
    const subject = { object: service(), answer: undefined, hint: undefined };
    return controller.refused?.(subject, { action, answer }, context());
  }

  test.each<[string, RefusedAction["answer"], Script, object]>([
    [
      "for a problem",
      { kind: "conflict", message: "CertificateNotFound: gone", reason: "CertificateNotFound" },
      { problem: { code: "CertificateNotUsable", field: "spec.a" } },
      {
        kind: "retry",
        because: { code: "CertificateNotUsable", message: "spec.a; CertificateNotFound: gone" },
        events: [{ reason: "SyncLoadBalancerFailed", code: "CertificateNotUsable" }],
      },
    ],
    [
      "for good, whatever it is",
      { kind: "error", code: "Invalid", message: "no" },
      {},
      { kind: "retry", afterSeconds: 30, events: [{ code: "LoadBalancerRefused" }] },
    ],
    [
      "for a while",
      { kind: "error", code: "Throttled", message: "slow" },
      {},
      { kind: "retry", afterSeconds: 3 },
    ],
  ])("%s", async (_, answer, script, decision) => {
    expect(await refused(answer, script)).toMatchObject(decision);
  });

  test("as it is there already is observed anew", async () => {
    expect(await refused({ kind: "conflict", message: "AlreadyExists" })).toBeUndefined();
  });

  test("means nothing of itself where the cloud has no model", async () => {
    const controller = await controllerWith();
    const subject = { object: service(), answer: undefined, hint: undefined };
    const settings = { ...context().settings, cloud: { provider: "other" } };
    const answer = { kind: "conflict", message: "no" } as const;
    expect(controller.refused?.(subject, { action, answer }, context({ settings }))).toBeUndefined();
  });
});
