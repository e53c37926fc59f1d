import { describe, expect, test } from "vitest";
import { renderEvent } from "#core/cluster-events.ts";
import type { RejectedAction } from "#core/controller.ts";
import {
  buildWarning,
  describeIssue,
  rejectWithIssue,
  retryUnanswered,
} from "#core/service/issue-decisions.ts";
import { ISSUES, toIssueCode } from "#core/service/issues.ts";
import {
  buildContext,
  buildRelated,
  buildServedService,
  buildService,
  createController,
  getAnnotation,
  getPastTime,
  NOW,
  type Script,
  setAnnotation,
} from "#test/core/service/builders.ts";

const FIELD = "service.beta.kubernetes.io/aws-load-balancer-healthcheck-interval";
const SAID = buildService({ metadata: { annotations: { [FIELD]: '7 "days"' } } });

describe("a Warning", () => {
  test("names the annotation, its value and the allowed values", () => {
    const issue = { code: "InvalidAnnotation", field: FIELD, value: '7 "days"', allowed: "a whole number" };
    expect(renderEvent(buildWarning(SAID, issue))).toEqual({
      type: "Warning",
      reason: "SyncLoadBalancerFailed",
      message: `The annotation ${FIELD} is "7 "days""; allowed: a whole number`,
    });
  });

  test.each([
    ["InvalidSourceRanges", "spec.loadBalancerSourceRanges is invalid; allowed: at most 1000 networks"],
    [
      "UnsupportedAnnotation",
      "The annotation spec.loadBalancerSourceRanges is not supported by this kind of load balancer; allowed: at most 1000 networks",
    ],
    [
      "NotAllowed",
      "The value of spec.loadBalancerSourceRanges is not allowed in this cluster. Ask the operator of the cloud controller, whose log has details.",
    ],
  ])("about a field without a value does not quote one: %s", (code, message) => {
    const issue = { code, field: "spec.loadBalancerSourceRanges", allowed: "at most 1000 networks" };
    expect(renderEvent(buildWarning(SAID, issue)).message).toBe(message);
  });

  test("without allowed values does not mention them", () => {
    const issue = { code: "InvalidAnnotation", field: FIELD, value: '7 "days"' };
    expect(renderEvent(buildWarning(SAID, issue)).message).toBe(`The annotation ${FIELD} is "7 "days""`);
  });

  test("quotes an empty value that the Service contains", () => {
    const issue = { code: "InvalidAnnotation", field: FIELD, value: "", allowed: "a whole number" };
    expect(renderEvent(buildWarning(SAID, issue)).message).toBe(
      `The annotation ${FIELD} is ""; allowed: a whole number`,
    );
  });

  test.each(Object.entries(ISSUES))("reads well without a value or allowed values: %s", (code) => {
    const { message } = renderEvent(buildWarning(SAID, { code, field: FIELD }));
    expect(message).not.toMatch(/""|allowed: *$|allowed: *\./);
  });

  test.each([
    ["a value that the Service does not say", { code: "InvalidAnnotation", value: "sg-0123" }],
    ["an invalid field", { code: "InvalidAnnotation", field: "arn:aws:iam::1:role/a is not allowed" }],
    ["words for a code that has no room for them", { code: "NoEligibleSubnet", allowed: "subnet-0123" }],
    [
      "a code that is in no catalogue",
      { code: "sg-0123", field: "sg-0123", value: "sg-0123", detail: "sg-0123" },
    ],
  ])("does not mention %s", (_, issue) => {
    expect(renderEvent(buildWarning(SAID, issue)).message).not.toMatch(/sg-0123|subnet-0123|arn:/);
  });

  test.each([
    ["spec.ports[0].nodePort", true],
    ["metadata.annotations", true],
    ["serverless-ccm.io/load-balancer", true],
    [FIELD, true],
    ["kubernetes.digitalocean.com/load-balancer-id", true],
    ["kubernetes.digitalocean.com/firewall-managed", true],
    ["service.kubernetes.io/do-loadbalancer-disown", true],
    ["cloud.example.com/load-balancer-size", true],
    ["https://cloud.example.com/secret", false],
    ["secret/name", false],
    ["ports", false],
    ["spec", false],
  ])("takes %s for a field: %s", (field, isField) => {
    const { message } = renderEvent(buildWarning(SAID, { code: "InvalidField", field }));
    expect(message.startsWith(field)).toBe(isField);
  });

  test.each([
    ["NodesWithoutPublicAddress", /^No node has a public IPv4 address/],
    ["InvalidAnnotation", new RegExp(`^The annotation ${FIELD} is`)],
  ])("is followed by one with the stock controller's reason if there is one: %s", (code, sentence) => {
    const issue = {
      code,
      field: FIELD,
      value: '7 "days"',
      stockReason: "LoadBalancerConfigError",
    } as const;
    expect(rejectWithIssue(SAID, issue, NOW).events?.map(renderEvent)).toEqual([
      { type: "Warning", reason: "SyncLoadBalancerFailed", message: expect.stringMatching(sentence) },
      { type: "Warning", reason: "LoadBalancerConfigError", message: expect.stringMatching(sentence) },
    ]);
  });

  test("has a code of the catalogue, whatever the issue's code", () => {
    expect(Object.keys(ISSUES).map((code) => toIssueCode({ code }))).toEqual(Object.keys(ISSUES));
    expect(toIssueCode({ code: "toString" })).toBe("LoadBalancerRefused");
  });
});

test.each([
  [{ code: "NoPorts" }, "NoPorts"],
  [{ code: "NoPorts", field: "spec.ports" }, "spec.ports"],
  [{ code: "A", field: "f", value: "v", allowed: "w", detail: "d" }, 'f is "v"; allowed: w; d'],
])("the operator's text for %j is: %s", (issue, sentence) => {
  expect(describeIssue(issue)).toBe(sentence);
});

describe("without an answer of the cloud", () => {
  const SERVED_LONG_AGO = buildServedService({ metadata: { creationTimestamp: getPastTime(10_000) } });
  const error = (code: "Throttled" | "Aborted" | "Unavailable" | "Denied" | "Invalid") => ({
    code,
    message: "no",
  });
  const aged = (seconds: number) => buildService({ metadata: { creationTimestamp: getPastTime(seconds) } });
  const deleted = (seconds: number) =>
    buildService({ metadata: { deletionTimestamp: getPastTime(seconds) } });

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
      buildService({ metadata: { creationTimestamp: "?" } }),
      30,
      ["SyncLoadBalancerFailed"],
    ],
  ])("%s", (_, answer, object, afterSeconds, reasons) => {
    const decision = retryUnanswered(object, answer, NOW);
    expect(decision).toMatchObject({ kind: "retry", afterSeconds });
    expect("events" in decision && decision.events.map(({ reason }) => reason)).toEqual(reasons);
  });

  test("a served Service gets no Warning about a failed audit", async () => {
    expect(retryUnanswered(await SERVED_LONG_AGO, error("Denied"), NOW)).toMatchObject({
      afterSeconds: 30,
      events: [],
    });
  });

  test.each([
    ["a change of its ports", { ports: [{ port: 81, nodePort: 30_081, protocol: "TCP" }] }, {}],
    ["a node more", {}, { related: buildRelated([{ name: "z", providerID: "i-z" }]) }],
  ])("a served Service gets a Warning at once if %s cannot be applied", async (_, spec, facts) => {
    const before = await SERVED_LONG_AGO;
    const object = { ...before, spec: { ...before.spec, ...spec } };
    const controller = await createController();
    const answer = { kind: "error", ...error("Throttled") } as const;
    const plan = controller.decide([{ object, answer, hint: undefined }], buildContext(facts));
    expect(plan).toMatchObject({
      decisions: [
        { kind: "retry", events: [{ reason: "SyncLoadBalancerFailed", code: "CloudUnavailable" }] },
      ],
    });
  });

  test("a Service whose targets are being changed gets a Warning at once", async () => {
    const object = await SERVED_LONG_AGO;
    const mark = JSON.parse(getAnnotation(object) ?? "") as object;
    const changing = setAnnotation(object, JSON.stringify({ ...mark, targets: "" }));
    expect(retryUnanswered(changing, error("Throttled"), NOW)).toMatchObject({
      events: [{ reason: "SyncLoadBalancerFailed", code: "CloudUnavailable" }],
    });
  });

  test("a Service with work in progress gets a Warning and a delay as long as the work has taken", async () => {
    const object = await SERVED_LONG_AGO;
    const mark = JSON.parse(getAnnotation(object) ?? "") as object;
    const underWay = setAnnotation(
      object,
      JSON.stringify({ ...mark, state: "applying", at: getPastTime(70) }),
    );
    expect(retryUnanswered(underWay, error("Denied"), NOW)).toMatchObject({
      afterSeconds: 70,
      events: [{ reason: "SyncLoadBalancerFailed", code: "CloudUnavailable" }],
    });
  });
});

describe("an action that the cloud rejects", () => {
  const action = {
    on: "cloud",
    capability: "loadBalancers",
    action: "PutUp",
    target: "uid-web",
    parameters: {},
    precondition: { uid: "uid-web", deleting: false },
  } as const;

  async function refused(answer: RejectedAction["answer"], script: Script = {}) {
    const controller = await createController(script);
    const subject = { object: buildService(), answer: undefined, hint: undefined };
    return controller.decideRejected?.(subject, { action, answer }, buildContext());
  }

  test.each<[string, RejectedAction["answer"], Script, object]>([
    [
      "for a problem",
      { kind: "conflict", message: "CertificateNotFound: gone", reason: "CertificateNotFound" },
      { issue: { code: "CertificateNotUsable", field: "spec.a" } },
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

  test("because the resource exists is followed by a new observation", async () => {
    expect(await refused({ kind: "conflict", message: "AlreadyExists" })).toBeUndefined();
  });

  test("has no meaning on a cloud without a model", async () => {
    const controller = await createController();
    const subject = { object: buildService(), answer: undefined, hint: undefined };
    const settings = { ...buildContext().settings, cloud: { provider: "other" } };
    const answer = { kind: "conflict", message: "no" } as const;
    expect(
      controller.decideRejected?.(subject, { action, answer }, buildContext({ settings })),
    ).toBeUndefined();
  });
});
