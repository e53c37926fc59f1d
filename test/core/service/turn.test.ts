import { describe, expect, test } from "vitest";
import { hasTurn, relatedServices } from "#core/service/turn.ts";
import { FINALIZERS, related, secondsAgo, served, service } from "#test/core/service/builders.ts";

const SERVED = await served({ metadata: { uid: "uid-served" } });
const aged = (uid: string, seconds: number) =>
  service({ metadata: { uid, creationTimestamp: secondsAgo(seconds) } });

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
    ["one that wants none none", service({ spec: { type: "ClusterIP" } }), []],
  ])("%s", (_, object, reads) => {
    expect(relatedServices.reads(object)).toEqual(reads);
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
