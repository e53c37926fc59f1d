import { describe, expect, test } from "vitest";
import { isNextForCreation, relatedServices } from "#core/service/creation-order.ts";
import {
  buildContext,
  buildRelated,
  buildServedService,
  buildService,
  converge,
  createController,
  decideOn,
  FINALIZERS,
  getAnnotation,
  getPastTime,
  SETTINGS,
  setAnnotation,
} from "#test/core/service/builders.ts";

const SERVED = await buildServedService({ metadata: { uid: "uid-served" } });
const aged = (uid: string, seconds: number) =>
  buildService({ metadata: { uid, creationTimestamp: getPastTime(seconds) } });

const REFUSED = setAnnotation(
  SERVED,
  (getAnnotation(SERVED) ?? "").replace('"state":"applied"', '"state":"refused"'),
);

describe("a Service reads others", () => {
  test.each([
    ["those that want a load balancer", buildService(), { uid: "uid-web", holds: false }],
    ["those that have one", SERVED, { uid: "uid-served", holds: true }],
    [
      "those that still have one",
      { ...SERVED, spec: { ...SERVED.spec, type: "ClusterIP" } },
      { uid: "uid-served", holds: true },
    ],
    [
      "those with a finalizer that may be another controller's",
      buildService({ metadata: { finalizers: FINALIZERS } }),
      { uid: "uid-web", holds: false },
    ],
    ["no others", buildService({ spec: { type: "ClusterIP" } }), undefined],
    ["nothing invalid", { metadata: {} }, undefined],
  ])("%s", (_, object, projection) => {
    const read = relatedServices.project(object);
    if (projection === undefined) expect(read).toBeUndefined();
    else expect(read).toEqual({ ...projection, created: getPastTime(5) });
  });

  test.each([
    ["a new one all", buildService(), "all"],
    ["one that has one none", SERVED, []],
    ["one that the cloud has refused all", REFUSED, "all"],
    ["one that wants none none", buildService({ spec: { type: "ClusterIP" } }), []],
  ])("%s", (_, object, reads) => {
    expect(relatedServices.reads(object)).toEqual(reads);
  });
});

describe("at the maximum number of load balancers", () => {
  const SETTINGS_OF_ONE = { ...SETTINGS, loadBalancers: { ...SETTINGS.loadBalancers, max: 1 } };
  const FULL = buildContext({ settings: SETTINGS_OF_ONE, related: buildRelated(undefined, [SERVED]) });
  const SHELF = { wish: JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]), targets: [] };
  /** As left by the stock controller: the finalizer and an address, without our annotation. */
  const OF_STOCK = buildService({ metadata: { finalizers: FINALIZERS }, status: SERVED.status });

  test("a visible load balancer of another controller is taken over, and follows the nodes", async () => {
    const { object, shelf, decisions } = await converge(OF_STOCK, SHELF, FULL, { shows: true });
    expect(decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 45 });
    expect(shelf?.targets).toEqual(["i-a"]);
    expect(isNextForCreation(object, FULL.related, 1)).toBe(true);
  });

  test("a Service that only claims to have a load balancer gets none", async () => {
    const { shelf, decisions } = await converge(OF_STOCK, null, FULL, { shows: false });
    expect(shelf).toBeNull();
    expect(decisions).toMatchObject([
      { kind: "retry", because: { code: "LoadBalancerLimit" }, afterSeconds: 60 },
    ]);
  });

  test("the Warning about the limit is not sent if the event lacks the other Services", async () => {
    const unknown = buildContext({ related: { nodes: buildRelated()["nodes"] } });
    for (const service of [buildService(), OF_STOCK]) {
      const { shelf, decisions } = await converge(service, null, unknown, { shows: false });
      expect(shelf).toBeNull();
      expect(decisions).toMatchObject([{ kind: "retry", because: { code: "ServicesUnknown" }, events: [] }]);
    }
  });

  test("nothing is done while the cloud does not answer", async () => {
    const controller = await createController({ shows: true });
    expect(controller.buildQuestion(OF_STOCK, FULL)).toBeDefined();
    expect(decideOn(controller, { object: OF_STOCK }, FULL)).toMatchObject({
      kind: "retry",
      because: { code: "Unavailable" },
    });
  });

  test("a new Service does not ask the cloud", async () => {
    const controller = await createController({ shows: true });
    expect(controller.buildQuestion(buildService(), FULL)).toBeUndefined();
  });
});

describe("the creation order", () => {
  test.each<[string, readonly ReturnType<typeof buildService>[], number, boolean]>([
    ["allows the only Service below the maximum", [], 1, true],
    ["allows no Service if the maximum is 0", [], 0, false],
    ["prefers an older Service", [aged("uid-old", 60)], 1, false],
    ["does not prefer a younger Service", [aged("uid-young", 1)], 1, true],
    ["prefers the smaller UID among Services of the same second", [aged("uid-a", 5)], 1, false],
    ["does not prefer the greater UID among Services of the same second", [aged("uid-z", 5)], 1, true],
    ["prefers a Service that has a load balancer", [SERVED], 1, false],
    ["allows a second Service below the maximum", [SERVED], 2, true],
    ["does not count the Service itself", [buildService()], 1, true],
  ])("%s", (_, others, max, turn) => {
    expect(isNextForCreation(buildService(), buildRelated([], others), max)).toBe(turn);
  });

  test("ignores Services of another class", () => {
    const settings = { loadBalancerClass: "example.com/lb" };
    const own = buildService({ spec: { loadBalancerClass: "example.com/lb" } });
    const old = (loadBalancerClass?: string) =>
      buildService({
        metadata: { uid: "uid-old", creationTimestamp: getPastTime(60) },
        spec: loadBalancerClass === undefined ? {} : { loadBalancerClass },
      });
    expect(isNextForCreation(own, buildRelated([], [old()]), 1, settings)).toBe(true);
    expect(isNextForCreation(own, buildRelated([], [old("example.com/lb")]), 1, settings)).toBe(false);
    expect(isNextForCreation(buildService(), buildRelated([], [old("example.com/lb")]), 1)).toBe(true);
  });

  test("never takes away an existing load balancer, whatever the limit", () => {
    expect(isNextForCreation(SERVED, {}, 0)).toBe(true);
  });

  test("is unknown without the other Services", () => {
    expect(isNextForCreation(buildService(), {}, 100)).toBeUndefined();
  });

  test("ignores malformed Services, and parses the list once", () => {
    const lists = { services: { resourceVersion: "1", items: [null, {}] } };
    expect([
      isNextForCreation(buildService(), lists, 1),
      isNextForCreation(buildService(), lists, 1),
    ]).toEqual([true, true]);
  });
});
