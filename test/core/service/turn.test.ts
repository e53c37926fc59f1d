import { describe, expect, test } from "vitest";
import { hasTurn, relatedServices } from "#core/service/turn.ts";
import {
  annotationOf,
  context,
  controllerWith,
  converged,
  decideOn,
  FINALIZERS,
  related,
  SETTINGS,
  secondsAgo,
  served,
  service,
  withAnnotation,
} from "#test/core/service/builders.ts";

const SERVED = await served({ metadata: { uid: "uid-served" } });
const aged = (uid: string, seconds: number) =>
  service({ metadata: { uid, creationTimestamp: secondsAgo(seconds) } });

const REFUSED = withAnnotation(
  SERVED,
  (annotationOf(SERVED) ?? "").replace('"state":"applied"', '"state":"refused"'),
);

describe("of others a Service reads", () => {
  test.each([
    ["those that want a load balancer", service(), { uid: "uid-web", holds: false }],
    ["those that have one", SERVED, { uid: "uid-served", holds: true }],
    [
      "those that still have one",
      { ...SERVED, spec: { ...SERVED.spec, type: "ClusterIP" } },
      { uid: "uid-served", holds: true },
    ],
    [
      "those with a finalizer that may be another controller's",
      service({ metadata: { finalizers: FINALIZERS } }),
      { uid: "uid-web", holds: false },
    ],
    ["no others", service({ spec: { type: "ClusterIP" } }), undefined],
    ["nothing that is none", { metadata: {} }, undefined],
  ])("%s", (_, object, projection) => {
    const read = relatedServices.project(object);
    if (projection === undefined) expect(read).toBeUndefined();
    else expect(read).toEqual({ ...projection, created: secondsAgo(5) });
  });

  test.each([
    ["a new one all", service(), "all"],
    ["one that has one none", SERVED, []],
    ["one that the cloud has refused all", REFUSED, "all"],
    ["one that wants none none", service({ spec: { type: "ClusterIP" } }), []],
  ])("%s", (_, object, reads) => {
    expect(relatedServices.reads(object)).toEqual(reads);
  });
});

describe("beyond the limit of load balancers", () => {
  const SETTINGS_OF_ONE = { ...SETTINGS, loadBalancers: { ...SETTINGS.loadBalancers, max: 1 } };
  const FULL = context({ settings: SETTINGS_OF_ONE, related: related(undefined, [SERVED]) });
  const SHELF = { wish: JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]), targets: [] };
  /** As the stock controller leaves it: the finalizer and an address, and no annotation of ours. */
  const OF_STOCK = service({ metadata: { finalizers: FINALIZERS }, status: SERVED.status });

  test("a load balancer of another controller that the cloud shows is taken over, and follows the nodes", async () => {
    const { object, shelf, decisions } = await converged(OF_STOCK, SHELF, FULL, { shows: true });
    expect(decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 45 });
    expect(shelf?.targets).toEqual(["i-a"]);
    expect(hasTurn(object, FULL.related, 1)).toBe(true);
  });

  test("a Service that only says so gets none", async () => {
    const { shelf, decisions } = await converged(OF_STOCK, null, FULL, { shows: false });
    expect(shelf).toBeNull();
    expect(decisions).toMatchObject([
      { kind: "retry", because: { code: "LoadBalancerLimit" }, afterSeconds: 60 },
    ]);
  });

  test("nothing is done while the cloud does not answer", async () => {
    const controller = await controllerWith({ shows: true });
    expect(controller.asks(OF_STOCK, FULL)).toBeDefined();
    expect(decideOn(controller, { object: OF_STOCK }, FULL)).toMatchObject({
      kind: "retry",
      because: { code: "Unavailable" },
    });
  });

  test("a new Service does not ask the cloud", async () => {
    const controller = await controllerWith({ shows: true });
    expect(controller.asks(service(), FULL)).toBeUndefined();
  });
});

describe("whose turn it is", () => {
  test.each<[string, readonly ReturnType<typeof service>[], number, boolean]>([
    ["one where there is room", [], 1, true],
    ["one of none", [], 0, false],
    ["an older one is first", [aged("uid-old", 60)], 1, false],
    ["a younger one comes after", [aged("uid-young", 1)], 1, true],
    ["of the same second the smaller uid is first", [aged("uid-a", 5)], 1, false],
    ["of the same second the greater uid comes after", [aged("uid-z", 5)], 1, true],
    ["whoever has one is first", [SERVED], 1, false],
    ["with room for both", [SERVED], 2, true],
    ["itself is none of the others", [service()], 1, true],
  ])("%s", (_, others, max, turn) => {
    expect(hasTurn(service(), related([], others), max)).toBe(turn);
  });

  test("those of another class are in nobody's way", () => {
    const settings = { loadBalancerClass: "example.com/lb" };
    const own = service({ spec: { loadBalancerClass: "example.com/lb" } });
    const old = (loadBalancerClass?: string) =>
      service({
        metadata: { uid: "uid-old", creationTimestamp: secondsAgo(60) },
        spec: loadBalancerClass === undefined ? {} : { loadBalancerClass },
      });
    expect(hasTurn(own, related([], [old()]), 1, settings)).toBe(true);
    expect(hasTurn(own, related([], [old("example.com/lb")]), 1, settings)).toBe(false);
    expect(hasTurn(service(), related([], [old("example.com/lb")]), 1)).toBe(true);
  });

  test("whoever has one keeps it, whatever the limit is", () => {
    expect(hasTurn(SERVED, {}, 0)).toBe(true);
  });

  test("nobody knows without the others", () => {
    expect(hasTurn(service(), {}, 100)).toBeUndefined();
  });

  test("what is no claim counts for none, and the list is parsed once", () => {
    const lists = { services: { resourceVersion: "1", items: [null, {}] } };
    expect([hasTurn(service(), lists, 1), hasTurn(service(), lists, 1)]).toEqual([true, true]);
  });
});
