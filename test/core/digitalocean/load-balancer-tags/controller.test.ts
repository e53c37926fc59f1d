import { describe, expect, test } from "vitest";
import type { DecisionContext } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { ANNOTATIONS } from "#core/digitalocean/exposed-service.ts";
import { tagsController } from "#core/digitalocean/load-balancer-tags/controller.ts";
import { tagsWatch } from "#core/digitalocean/load-balancer-tags/watch.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import {
  BALANCER,
  buildBalancedService,
  buildContext,
  buildNodePortService,
  CLUSTER,
} from "#test/core/digitalocean/firewall/world.ts";

const SETTINGS: Settings = { ...DEFAULT_SETTINGS, cloud: { provider: "digitalocean", clusterID: "7b1c" } };
const annotations = { [ANNOTATIONS.loadBalancerID]: BALANCER };
const WEB = buildBalancedService("web", [443], { annotations });

type Answer = Parameters<NonNullable<typeof tagsController.applyResult>>[0]["answer"];

function subjectOf(answer: Answer) {
  return { object: CLUSTER, answer, hint: undefined };
}

function observed(lacking: readonly string[], unproven: readonly string[] = []): Answer {
  return { kind: "observed", state: { lacking, unproven } };
}

function contextWith(services: readonly unknown[], settings = SETTINGS): DecisionContext {
  return buildContext(services, { settings });
}

function decide(subject: ReturnType<typeof subjectOf>, context = contextWith([WEB])): Decision | undefined {
  const plan = tagsController.decide([subject], context);
  return plan.kind === "each" ? plan.decisions[0] : undefined;
}

describe("the tags of load balancers", () => {
  test("are requested only for Services with a load balancer", () => {
    const asked = (services: readonly unknown[], settings?: Settings) =>
      tagsController.buildQuestion(CLUSTER, contextWith(services, settings));
    expect(asked([WEB, buildBalancedService("new", [80]), buildNodePortService("other", [30000])])).toEqual({
      capability: "loadBalancerTags",
      ask: {
        services: [
          { namespace: "default", name: "new", uid: "uid-new" },
          { namespace: "default", name: "web", uid: "uid-web", loadBalancerID: BALANCER },
        ],
      },
    });
    expect(asked([buildNodePortService("other", [30000])])).toBeUndefined();
    expect(asked([WEB], DEFAULT_SETTINGS)).toBeUndefined();
    expect(tagsController.buildQuestion(CLUSTER, { ...contextWith([]), related: {} })).toBeUndefined();
  });

  test("are written with one action on all load balancers that lack them", () => {
    const subject = subjectOf(observed(["lb-1", "lb-2"]));
    const decision = decide(subject);
    expect(decision).toMatchObject({
      kind: "change",
      writes: [
        {
          ...{ capability: "loadBalancerTags", action: "TagLoadBalancers", target: "k8s:7b1c" },
          parameters: { ids: ["lb-1", "lb-2"] },
        },
      ],
    });
    const [write] = decision?.kind === "change" ? decision.writes : [];
    if (write === undefined) throw new Error("nothing is written");
    const after = tagsController.applyResult?.(subject, { write, result: null });
    expect(decide(after as ReturnType<typeof subjectOf>)).toMatchObject({ kind: "unchanged" });
    const because = { code: "Throttled", message: "slow down" };
    expect(tagsController.applyResult?.(subject, { write, result: null, failed: because })).toBe(subject);
    const unasked = subjectOf(undefined);
    expect(tagsController.applyResult?.(unasked, { write, result: null })).toBe(unasked);
  });

  test.each<[string, Answer, string, string]>([
    ["all load balancers have the tag", observed([]), "unchanged", "UpToDate"],
    ["the cloud was not asked", undefined, "unchanged", "UpToDate"],
    [
      "a load balancer is named only by an annotation",
      observed([], ["default/web: lb-9"]),
      "skip",
      "TagMissing",
    ],
    ["the cloud fails", { kind: "error", code: "Unavailable", message: "503" }, "retry", "Unavailable"],
    ["the cloud's answer is invalid", { kind: "observed", state: 7 }, "retry", "Invalid"],
  ])("stay unchanged if %s", (_given, answer, kind, code) => {
    expect(decide(subjectOf(answer))).toMatchObject({ kind, because: { code } });
  });

  test("are not written without configuration", () => {
    const context = contextWith([WEB], DEFAULT_SETTINGS);
    expect(decide(subjectOf(observed(["lb-1"])), context)).toMatchObject({ kind: "unchanged" });
  });

  test("are checked with the service-lb-controller every quarter of an hour, on DigitalOcean with clusterID", () => {
    expect(tagsWatch).toMatchObject({
      functionName: "service",
      enablement: { companionOf: "service-lb-controller" },
      rechecks: { resync: { everySeconds: 900 } },
    });
    expect(tagsWatch.rechecks?.resync?.fingerprint(CLUSTER)).toBe("");
    expect(tagsWatch.enablement?.isFor?.(SETTINGS)).toBe(true);
    expect(tagsWatch.enablement?.isFor?.({ ...SETTINGS, cloud: { provider: "digitalocean" } })).toBe(false);
    expect(tagsWatch.enablement?.isFor?.(DEFAULT_SETTINGS)).toBe(false);
  });
});
