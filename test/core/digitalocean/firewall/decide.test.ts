import { describe, expect, test } from "vitest";
import { renderEvent } from "#core/cluster-events.ts";
import type { AskContext } from "#core/controller.ts";
import type { CloudAction, Decision } from "#core/decision.ts";
import { ANNOTATIONS, exposedServices } from "#core/digitalocean/exposed-service.ts";
import { firewallController } from "#core/digitalocean/firewall/controller.ts";
import { CREATE, OUTBOUND, UPDATE } from "#core/digitalocean/firewall/state.ts";
import { firewallWatch } from "#core/digitalocean/firewall/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  BALANCER,
  buildBalancedService,
  buildContext,
  buildFirewall,
  buildNodePortService,
  buildObserved,
  buildRule,
  CLUSTER,
  carryOut,
  decide,
  KNOWN,
  NAME,
  open,
  SETTINGS,
  TAG,
} from "#test/core/digitalocean/firewall/world.ts";

const WEB = buildNodePortService("web", [30080]);
const ALL_PORTS = OUTBOUND.map((rule) => ({ ...rule, ports: rule.protocol === "icmp" ? "0" : "all" }));

describe("the firewall of a cluster", () => {
  test("is created if missing, and then left unchanged", () => {
    const { actions, decision } = carryOut(buildObserved(), buildContext([WEB]));
    expect(actions).toEqual([
      {
        ...{ on: "cloud", capability: "firewall", action: CREATE, target: NAME },
        parameters: { name: NAME, tags: [TAG], inbound: [open(30080)], outbound: [...OUTBOUND] },
        precondition: { uid: "u", deleting: false },
      },
    ]);
    expect(decision.kind).toBe("unchanged");
  });

  test("is created without rules too, because without a firewall all traffic passes", () => {
    expect(carryOut(buildObserved(), buildContext([])).actions).toMatchObject([
      { action: CREATE, parameters: { inbound: [] } },
    ]);
  });

  test("in its desired state, in the cloud's own format, is left unchanged", () => {
    const there = buildFirewall({ inbound: [open(31000), open(30080), open(30080)], outbound: ALL_PORTS });
    const context = buildContext([WEB, buildNodePortService("other", [31000])]);
    expect(decide(buildObserved({ firewalls: [there] }), context).kind).toBe("unchanged");
  });

  test.each([
    ["lacks a rule", buildFirewall()],
    ["has one too many", buildFirewall({ inbound: [open(30080), open(22)] })],
    ["has another source", buildFirewall({ inbound: [{ ...open(30080), addresses: ["10.0.0.0/8"] }] })],
    ["lacks an outbound rule", buildFirewall({ inbound: [open(30080)], outbound: OUTBOUND.slice(1) })],
    ["lacks its tag", buildFirewall({ inbound: [open(30080)], tags: [] })],
  ])("that %s is replaced as a whole", (_given, there) => {
    const { actions, decision } = carryOut(buildObserved({ firewalls: [there] }), buildContext([WEB]));
    expect(actions).toMatchObject([
      {
        ...{ action: UPDATE, target: "fw-1" },
        parameters: { name: NAME, tags: [TAG], inbound: [open(30080)], outbound: [...OUTBOUND] },
      },
    ]);
    expect(decision.kind).toBe("unchanged");
  });

  test("admits a load balancer's health checks as soon as the load balancer is known", () => {
    const service = buildBalancedService("web", [443], {
      annotations: { [ANNOTATIONS.loadBalancerID]: BALANCER },
    });
    const there = buildFirewall({ inbound: [open(443), open(10256)] });
    const { actions } = carryOut(
      buildObserved({ firewalls: [there], loadBalancers: [KNOWN] }),
      buildContext([service]),
    );
    expect(actions).toMatchObject([{ parameters: { inbound: [buildRule(10256, BALANCER), open(443)] } }]);
  });

  test.each([
    ["shows it, and the event's list does not", ["y", "z"], { kind: "count", count: 2 }, [30001, 30002]],
    ["lacks it, as many as are counted", ["y"], { kind: "count", count: 1 }, [30001]],
    ["lacks it, fewer than are counted", ["y"], { kind: "count", count: 2 }, [30001, 30002]],
    ["cannot be read", undefined, { kind: "count", count: 1 }, [30001, 30002]],
  ] as const)("judges a port without a Service by a list that %s", (_given, names, count, ports) => {
    const services = { y: buildNodePortService("y", [30001]), z: buildNodePortService("z", [30002]) };
    const listed =
      names === undefined
        ? ({ kind: "unknown", message: "503" } as const)
        : ({ kind: "list", items: names.map((name) => exposedServices.project(services[name])) } as const);
    const there = buildFirewall({ inbound: [open(30001), open(30002)] });
    const { actions } = carryOut(
      buildObserved({ firewalls: [there] }),
      buildContext([services.y], { count, listed }),
    );
    const inbound = actions.at(-1)?.parameters["inbound"] ?? there.inbound;
    expect(inbound).toEqual(ports.map((port) => open(port)));
  });

  test.each([
    ["the list lacks a Service", { kind: "count", count: 2 } as const],
    ["their number is unknown", { kind: "unknown", message: "403" } as const],
  ])("closes nothing while %s, and opens new ports", (_given, count) => {
    const there = buildFirewall({ inbound: [open(31000)] });
    const { actions } = carryOut(buildObserved({ firewalls: [there] }), buildContext([WEB], { count }));
    expect(actions).toMatchObject([{ parameters: { inbound: [open(30080), open(31000)] } }]);
    const nothingThere = carryOut(buildObserved(), buildContext([WEB], { count }));
    expect(nothingThere.actions).toMatchObject([{ parameters: { inbound: [open(30080)] } }]);
  });

  test("is not written repeatedly if the cloud changes the result", () => {
    const { actions, decision } = carryOut(
      buildObserved(),
      buildContext([WEB]),
      buildFirewall({ inbound: [open(1)] }),
    );
    expect(actions).toHaveLength(1);
    expect(decision).toMatchObject({
      kind: "retry",
      because: { code: "FirewallDiffers" },
      afterSeconds: 300,
    });
  });
});

describe("a firewall of another owner", () => {
  test.each([
    ["carries droplets", [buildFirewall({ machines: 2 })], "FirewallForeign", "2 droplets"],
    ["carries another tag", [buildFirewall({ tags: [TAG, "db"] })], "FirewallForeign", "tag db"],
    ["is there twice", [buildFirewall(), buildFirewall({ id: "fw-2" })], "FirewallAmbiguous", "fw-1, fw-2"],
  ])("is left unchanged and reported if it %s", (_given, firewalls, code, words) => {
    const decision = decide(buildObserved({ firewalls }), buildContext([WEB]));
    expect(decision).toMatchObject({
      ...{ kind: "retry", afterSeconds: 300, because: { code, message: expect.stringContaining(words) } },
      events: [{ reason: "SyncFirewallFailed", code }],
    });
    const [event] = eventsOf(decision);
    // The message for the operator does not reach the cluster.
    expect(event && renderEvent(event).message).not.toContain(words);
  });
});

describe("a Service with an invalid annotation", () => {
  const odd = buildBalancedService("web", [443], { annotations: { [ANNOTATIONS.type]: "GLOBAL" } });

  test("gets a Warning, and all other work continues", () => {
    const { actions, decision } = carryOut(
      buildObserved(),
      buildContext([odd, buildNodePortService("other", [31000])]),
    );
    expect(actions).toMatchObject([{ parameters: { inbound: [open(31000)] } }]);
    expect(decision).toMatchObject({
      ...{ kind: "retry", afterSeconds: 300, because: { code: "TypeInvalid" } },
      events: [
        {
          ...{ reason: "FirewallAnnotationInvalid", code: "TypeInvalid" },
          about: { kind: "Service", namespace: "default", name: "web", uid: "uid-web" },
          facts: { field: ANNOTATIONS.type },
        },
      ],
    });
  });
});

test("of a thousand invalid Services twenty get a Warning, with the total number", () => {
  const annotations = { [ANNOTATIONS.type]: "GLOBAL" };
  const odd = Array.from({ length: 1_000 }, (_, index) =>
    buildBalancedService(`web-${index}`, [443], { annotations }),
  );
  const { decision } = carryOut(buildObserved(), buildContext(odd));
  expect(eventsOf(decision)).toHaveLength(20);
  expect(decision.because?.message).toContain("1000 Services");
});

describe("without enough facts", () => {
  test.each([
    [
      "no firewall is configured",
      buildObserved(),
      { settings: DEFAULT_SETTINGS },
      "unchanged",
      "NotConfigured",
    ],
    ["the event came without Services", buildObserved(), { related: {} }, "retry", "ServicesUnknown"],
    ["the cloud was not asked", undefined, {}, "retry", "Unavailable"],
    ["the cloud fails", { kind: "error", code: "Throttled", message: "slow down" }, {}, "retry", "Throttled"],
    ["the cloud talks rubbish", { kind: "observed", state: 7 }, {}, "retry", "Invalid"],
  ] as const)("nothing is done if %s", (_given, answer, more, kind, code) => {
    expect(decide(answer, buildContext([WEB], more))).toMatchObject({ kind, because: { code } });
  });

  test("the cloud is not asked without configuration or Services", () => {
    const context = buildContext([WEB]);
    const asked = (more: Partial<AskContext>) =>
      firewallController.buildQuestion(CLUSTER, { ...context, ...more });
    expect(asked({})).toEqual({ capability: "firewall", ask: { name: NAME, loadBalancers: [] } });
    expect(asked({ settings: DEFAULT_SETTINGS })).toBeUndefined();
    expect(asked({ related: {} })).toBeUndefined();
  });
});

describe("the number of Services", () => {
  const counted = (answer: Parameters<typeof buildObserved>[0] | undefined, more: Partial<AskContext> = {}) =>
    firewallController.getStateReference?.(
      [{ object: CLUSTER, answer: answer && buildObserved(answer), hint: undefined }],
      {
        ...buildContext([WEB]),
        ...more,
      },
    );

  test("is requested only if a port would be closed", () => {
    const tooOpen = { firewalls: [buildFirewall({ inbound: [open(30080), open(22)] })] };
    expect(counted(tooOpen)).toMatchObject({ name: "namespaces", counted: { name: "services" } });
    expect(counted({ firewalls: [buildFirewall({ inbound: [open(30080)] })] })).toBeUndefined();
    expect(counted({})).toBeUndefined();
    expect(counted(undefined)).toBeUndefined();
    expect(counted(tooOpen, { settings: DEFAULT_SETTINGS })).toBeUndefined();
    expect(counted(tooOpen, { related: {} })).toBeUndefined();
  });
});

describe("an action that the cloud rejected", () => {
  const action: CloudAction = {
    ...{ on: "cloud", capability: "firewall", action: UPDATE, target: "fw-1" },
    ...{ parameters: {}, precondition: { uid: "u", deleting: false } },
  };
  const subject = { object: CLUSTER, answer: buildObserved(), hint: undefined };
  const refused = (
    answer: { kind: "error"; code: "Denied" | "Invalid" | "Unavailable" } | { kind: "conflict" },
  ) =>
    firewallController.decideRejected?.(
      subject,
      { action, answer: { message: "no", ...answer } },
      buildContext([]),
    );

  test.each(["Denied", "Invalid"] as const)("as %s is reported, and retried at the next check", (code) => {
    expect(refused({ kind: "error", code })).toMatchObject({
      ...{ kind: "retry", afterSeconds: 300, because: { code, message: "UpdateFirewall fw-1: no" } },
      events: [{ reason: "SyncFirewallFailed", code: "FirewallRefused" }],
    });
  });

  test("temporarily is retried", () => {
    expect(refused({ kind: "error", code: "Unavailable" })).toBeUndefined();
    expect(refused({ kind: "conflict" })).toBeUndefined();
  });

  test("changes none of the known facts", () => {
    const because = { code: "Denied", message: "no" };
    const patch = { ...action, on: "cluster" } as never;
    expect(firewallController.applyResult?.(subject, { write: action, result: null, failed: because })).toBe(
      subject,
    );
    expect(firewallController.applyResult?.(subject, { write: patch, result: null })).toBe(subject);
    const unasked = { ...subject, answer: undefined };
    expect(firewallController.applyResult?.(unasked, { write: action, result: null })).toBe(unasked);
  });
});

test("is a companion of the service-lb-controller where configured, and checks every five minutes", () => {
  expect(firewallWatch).toMatchObject({
    ...{ functionName: "service", scope: "batch" },
    enablement: { companionOf: "service-lb-controller" },
    rechecks: { resync: { everySeconds: 300, whenRelatedChange: true } },
  });
  expect(firewallWatch.rechecks?.resync?.fingerprint(CLUSTER)).toBe("");
  expect(firewallWatch.enablement?.isFor?.(SETTINGS)).toBe(true);
  expect(firewallWatch.enablement?.isFor?.(DEFAULT_SETTINGS)).toBe(false);
});

function eventsOf(decision: Decision) {
  return decision.kind === "retry" ? decision.events : [];
}
