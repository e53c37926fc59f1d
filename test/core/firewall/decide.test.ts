import { describe, expect, test } from "vitest";
import { inWords } from "#core/cluster-events.ts";
import type { AskContext } from "#core/controller.ts";
import type { CloudAction, Decision } from "#core/decision.ts";
import { firewallController } from "#core/firewall/controller.ts";
import { ANNOTATIONS } from "#core/firewall/exposed-service.ts";
import { OUTBOUND } from "#core/firewall/rules.ts";
import { CREATE, UPDATE } from "#core/firewall/state.ts";
import { firewallWatch } from "#core/firewall/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  BALANCER,
  balanced,
  CLUSTER,
  carryOut,
  contextOf,
  decide,
  firewall,
  from,
  NAME,
  nodePorts,
  observed,
  open,
  SETTINGS,
  TAG,
} from "#test/core/firewall/world.ts";

const WEB = nodePorts("web", [30080]);
const ALL_PORTS = OUTBOUND.map((rule) => ({ ...rule, ports: rule.protocol === "icmp" ? "0" : "all" }));

describe("the firewall of a cluster", () => {
  test("that is not there is made, and left alone then", () => {
    const { actions, decision } = carryOut(observed(), contextOf([WEB]));
    expect(actions).toEqual([
      {
        ...{ on: "cloud", capability: "firewall", action: CREATE, target: NAME },
        parameters: { name: NAME, tags: [TAG], inbound: [open(30080)], outbound: [...OUTBOUND] },
        precondition: { uid: "u", deleting: false },
      },
    ]);
    expect(decision.kind).toBe("unchanged");
  });

  test("is made where nothing is to be let in, too: or everything would be", () => {
    expect(carryOut(observed(), contextOf([])).actions).toMatchObject([
      { action: CREATE, parameters: { inbound: [] } },
    ]);
  });

  test("that is as it should be, in the cloud's own words, is left alone", () => {
    const there = firewall({ inbound: [open(31000), open(30080), open(30080)], outbound: ALL_PORTS });
    const context = contextOf([WEB, nodePorts("other", [31000])]);
    expect(decide(observed({ firewalls: [there] }), context).kind).toBe("unchanged");
  });

  test.each([
    ["lacks a rule", firewall()],
    ["has one too many", firewall({ inbound: [open(30080), open(22)] })],
    ["has another source", firewall({ inbound: [{ ...open(30080), addresses: ["10.0.0.0/8"] }] })],
    ["lets less out", firewall({ inbound: [open(30080)], outbound: OUTBOUND.slice(1) })],
    ["lacks its tag", firewall({ inbound: [open(30080)], tags: [] })],
  ])("that %s is replaced as a whole", (_given, there) => {
    const { actions, decision } = carryOut(observed({ firewalls: [there] }), contextOf([WEB]));
    expect(actions).toMatchObject([
      {
        ...{ action: UPDATE, target: "fw-1" },
        parameters: { name: NAME, tags: [TAG], inbound: [open(30080)], outbound: [...OUTBOUND] },
      },
    ]);
    expect(decision.kind).toBe("unchanged");
  });

  test("lets a load balancer ask for health as soon as it is known", () => {
    const service = balanced("web", [443], { annotations: { [ANNOTATIONS.loadBalancerID]: BALANCER } });
    const there = firewall({ inbound: [open(443), open(10256)] });
    const { actions } = carryOut(
      observed({ firewalls: [there], loadBalancers: [BALANCER] }),
      contextOf([service]),
    );
    expect(actions).toMatchObject([{ parameters: { inbound: [from(10256, BALANCER), open(443)] } }]);
  });

  test.each([
    ["the list lacks a Service", { kind: "count", count: 2 } as const],
    ["their number is not to be had", { kind: "unknown", message: "403" } as const],
  ])("shuts nothing while %s, and opens what is new", (_given, count) => {
    const there = firewall({ inbound: [open(31000)] });
    const { actions } = carryOut(observed({ firewalls: [there] }), contextOf([WEB], { count }));
    expect(actions).toMatchObject([{ parameters: { inbound: [open(30080), open(31000)] } }]);
    const nothingThere = carryOut(observed(), contextOf([WEB], { count }));
    expect(nothingThere.actions).toMatchObject([{ parameters: { inbound: [open(30080)] } }]);
  });

  test("of which the cloud makes something else is not asked for over and over", () => {
    const { actions, decision } = carryOut(observed(), contextOf([WEB]), firewall({ inbound: [open(1)] }));
    expect(actions).toHaveLength(1);
    expect(decision).toMatchObject({
      kind: "retry",
      because: { code: "FirewallDiffers" },
      afterSeconds: 300,
    });
  });
});

describe("what may be somebody else's", () => {
  test.each([
    ["carries droplets", [firewall({ machines: 2 })], "FirewallForeign", "2 droplets"],
    ["carries another tag", [firewall({ tags: [TAG, "db"] })], "FirewallForeign", "tag db"],
    ["is there twice", [firewall(), firewall({ id: "fw-2" })], "FirewallAmbiguous", "fw-1, fw-2"],
  ])("as it %s is left alone, and told", (_given, firewalls, code, words) => {
    const decision = decide(observed({ firewalls }), contextOf([WEB]));
    expect(decision).toMatchObject({
      ...{ kind: "retry", afterSeconds: 300, because: { code, message: expect.stringContaining(words) } },
      events: [{ reason: "SyncFirewallFailed", code }],
    });
    const [event] = eventsOf(decision);
    // The operator's words stay with the operator.
    expect(event && inWords(event).message).not.toContain(words);
  });
});

describe("a Service that cannot be made out", () => {
  const odd = balanced("web", [443], { annotations: { [ANNOTATIONS.type]: "GLOBAL" } });

  test("is told of, and everything else goes on", () => {
    const { actions, decision } = carryOut(observed(), contextOf([odd, nodePorts("other", [31000])]));
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

test("of a thousand Services that cannot be made out twenty are told, and how many there are", () => {
  const annotations = { [ANNOTATIONS.type]: "GLOBAL" };
  const odd = Array.from({ length: 1_000 }, (_, index) => balanced(`web-${index}`, [443], { annotations }));
  const { decision } = carryOut(observed(), contextOf(odd));
  expect(eventsOf(decision)).toHaveLength(20);
  expect(decision.because?.message).toContain("1000 Services");
});

describe("where nothing can be said", () => {
  test.each([
    ["no firewall is configured", observed(), { settings: DEFAULT_SETTINGS }, "unchanged", "NotConfigured"],
    ["the event came without Services", observed(), { related: {} }, "retry", "ServicesUnknown"],
    ["the cloud was not asked", undefined, {}, "retry", "Unavailable"],
    ["the cloud fails", { kind: "error", code: "Throttled", message: "slow down" }, {}, "retry", "Throttled"],
    ["the cloud talks rubbish", { kind: "observed", state: 7 }, {}, "retry", "Invalid"],
  ] as const)("as %s, nothing is done", (_given, answer, more, kind, code) => {
    expect(decide(answer, contextOf([WEB], more))).toMatchObject({ kind, because: { code } });
  });

  test("nothing is asked either without configuration or Services", () => {
    const context = contextOf([WEB]);
    const asked = (more: Partial<AskContext>) => firewallController.asks(CLUSTER, { ...context, ...more });
    expect(asked({})).toEqual({ capability: "firewall", ask: { name: NAME, loadBalancers: [] } });
    expect(asked({ settings: DEFAULT_SETTINGS })).toBeUndefined();
    expect(asked({ related: {} })).toBeUndefined();
  });
});

describe("how many Services there are", () => {
  const counted = (answer: Parameters<typeof observed>[0] | undefined, more: Partial<AskContext> = {}) =>
    firewallController.stateOf?.([{ object: CLUSTER, answer: answer && observed(answer), hint: undefined }], {
      ...contextOf([WEB]),
      ...more,
    });

  test("is asked where something would be shut, and only then", () => {
    const tooOpen = { firewalls: [firewall({ inbound: [open(30080), open(22)] })] };
    expect(counted(tooOpen)).toMatchObject({ name: "namespaces", counted: { name: "services" } });
    expect(counted({ firewalls: [firewall({ inbound: [open(30080)] })] })).toBeUndefined();
    expect(counted({})).toBeUndefined();
    expect(counted(undefined)).toBeUndefined();
    expect(counted(tooOpen, { settings: DEFAULT_SETTINGS })).toBeUndefined();
    expect(counted(tooOpen, { related: {} })).toBeUndefined();
  });
});

describe("what the cloud did not do", () => {
  const action: CloudAction = {
    ...{ on: "cloud", capability: "firewall", action: UPDATE, target: "fw-1" },
    ...{ parameters: {}, precondition: { uid: "u", deleting: false } },
  };
  const subject = { object: CLUSTER, answer: observed(), hint: undefined };
  const refused = (
    answer: { kind: "error"; code: "Denied" | "Invalid" | "Unavailable" } | { kind: "conflict" },
  ) => firewallController.refused?.(subject, { action, answer: { message: "no", ...answer } }, contextOf([]));

  test.each(["Denied", "Invalid"] as const)(
    "as it is %s is told, and tried again at the next look",
    (code) => {
      expect(refused({ kind: "error", code })).toMatchObject({
        ...{ kind: "retry", afterSeconds: 300, because: { code, message: "UpdateFirewall fw-1: no" } },
        events: [{ reason: "SyncFirewallFailed", code: "FirewallRefused" }],
      });
    },
  );

  test("for the time being is a matter of time", () => {
    expect(refused({ kind: "error", code: "Unavailable" })).toBeUndefined();
    expect(refused({ kind: "conflict" })).toBeUndefined();
  });

  test("changes nothing of what is known", () => {
    const because = { code: "Denied", message: "no" };
    const patch = { ...action, on: "cluster" } as never;
    expect(firewallController.fold?.(subject, { write: action, result: null, failed: because })).toBe(
      subject,
    );
    expect(firewallController.fold?.(subject, { write: patch, result: null })).toBe(subject);
    const unasked = { ...subject, answer: undefined };
    expect(firewallController.fold?.(unasked, { write: action, result: null })).toBe(unasked);
  });
});

test("is on beside the service-lb-controller where it is configured, and looks every five minutes", () => {
  expect(firewallWatch).toMatchObject({
    ...{ beside: "service-lb-controller", functionName: "service", aliases: [], scope: "batch" },
    looks: { everySeconds: 300, whenRelatedChange: true },
  });
  expect(firewallWatch.looks?.fingerprint(CLUSTER)).toBe("");
  expect(firewallWatch.isFor?.(SETTINGS)).toBe(true);
  expect(firewallWatch.isFor?.(DEFAULT_SETTINGS)).toBe(false);
});

function eventsOf(decision: Decision) {
  return decision.kind === "retry" ? decision.events : [];
}
