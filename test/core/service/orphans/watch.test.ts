import { describe, expect, test } from "vitest";
import {
  LOAD_BALANCER_ANNOTATION,
  LOAD_BALANCER_FINALIZER,
  LOAD_BALANCER_ID_ANNOTATION,
} from "#core/contracts.ts";
import { NAMED_WATCHES, selectWatches, WATCHES } from "#core/controllers.ts";
import { findOrphans } from "#core/service/orphans/audit.ts";
import {
  type ExistingService,
  existingServices,
  mayHoldLoadBalancer,
  selectExistingServices,
} from "#core/service/orphans/existing-services.ts";
import { orphanWatch } from "#core/service/orphans/watch.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { namespace } from "#test/core/service/orphans/world.ts";

describe("the audit of orphaned load balancers", () => {
  test("is a companion of the service-lb-controller, in its function, without a name of its own", () => {
    expect(selectWatches([serviceWatch.name], WATCHES).slice(0, 2)).toEqual([serviceWatch, orphanWatch]);
    expect(selectWatches([orphanWatch.name], WATCHES)).toEqual([]);
    expect(NAMED_WATCHES).not.toContain(orphanWatch);
    expect(orphanWatch.enablement).toEqual({ companionOf: serviceWatch.name });
    expect(orphanWatch).toMatchObject({ functionName: serviceWatch.functionName });
  });

  test("works on the cluster, needs no work, and checks every ten minutes, whatever Services do", () => {
    const parsed = orphanWatch.parse({ ...namespace, kind: "Namespace" });
    expect(parsed).toEqual({ kind: "object", object: namespace });
    expect(orphanWatch.snapshot(namespace, {} as never)).toEqual(namespace);
    expect(orphanWatch.needsWork(namespace, {} as never)).toBe(false);
    expect(orphanWatch.rechecks?.resync?.fingerprint(namespace)).toBe("");
    expect(orphanWatch.rechecks?.resync).toMatchObject({ everySeconds: 600 });
    expect(orphanWatch.rechecks?.resync?.whenRelatedChange).toBeUndefined();
    expect(existingServices.reads(namespace)).toBe("all");
  });

  test.each([
    ["of another class", { spec: { type: "LoadBalancer", loadBalancerClass: "other" } }],
    ["that is being deleted", { metadata: { deletionTimestamp: "2026-03-01T12:00:00Z" } }],
    ["with an invalid spec", { spec: 7 }],
  ])("knows a Service %s", (_given, { metadata = {}, ...rest }: Record<string, unknown>) => {
    const named = { namespace: "default", name: "web", uid: "11111111-2222-3333-4444-555555555555" };
    const projected = existingServices.project({ metadata: { ...named, ...(metadata as object) }, ...rest });
    expect(projected).toEqual({ key: "default/web", uid: "11111111222233334444555555555555" });
    expect(
      selectExistingServices({ services: { resourceVersion: "1", items: [projected, { key: 1 }] } }),
    ).toEqual([projected]);
  });

  test.each<[string, unknown, string | undefined]>([
    ["names a load balancer", { [LOAD_BALANCER_ID_ANNOTATION]: " lb-lost " }, "lb-lost"],
    ["has other annotations", { other: "a" }, undefined],
    ["names an empty ID", { [LOAD_BALANCER_ID_ANNOTATION]: " " }, undefined],
    ["names an ID that is too long", { [LOAD_BALANCER_ID_ANNOTATION]: "a".repeat(65) }, undefined],
    ["has invalid annotations", 7, undefined],
  ])("knows the load balancer of a Service that %s", (_given, annotations, named) => {
    const object = { metadata: { namespace: "default", name: "heir", uid: "2-2", annotations } };
    const living = selectExistingServices({
      services: { resourceVersion: "1", items: [existingServices.project(object)] },
    });
    expect(living).toEqual([
      { key: "default/heir", uid: "22", ...(named === undefined ? {} : { loadBalancerID: named }) },
    ]);
    const lost = { kind: "load balancer", id: "lb-lost", name: "a11", uid: "11", service: "default/lost" };
    const { gone, retained: held } = findOrphans([lost], living ?? []);
    expect([gone, held]).toEqual(named === undefined ? [[lost], []] : [[], [lost]]);
  });

  test("marks Services of another type as such", () => {
    const metadata = { namespace: "default", name: "web", uid: "u-1" };
    const projected = existingServices.project({ metadata, spec: { type: "ClusterIP" } });
    expect(projected).toEqual({ key: "default/web", uid: "u1", isPlain: true, isBare: true });
    expect(selectExistingServices({ services: { resourceVersion: "1", items: [projected] } })).toEqual([
      projected,
    ]);
  });

  test.each<[string, object, boolean]>([
    ["the finalizer", { finalizers: [LOAD_BALANCER_FINALIZER] }, true],
    ["our annotation", { annotations: { [LOAD_BALANCER_ANNOTATION]: "{}" } }, true],
    ["invalid finalizers", { finalizers: 7 }, true],
    ["neither", { finalizers: ["example.com/a"], annotations: { a: "b" } }, false],
  ])("decides whether a Service of another type holds a load balancer by %s", (_given, more, holds) => {
    const metadata = { namespace: "default", name: "web", uid: "u-1", ...more };
    const [living] = selectExistingServices({
      services: {
        resourceVersion: "1",
        items: [existingServices.project({ metadata, spec: { type: "ClusterIP" } })],
      },
    }) as [ExistingService];
    expect(mayHoldLoadBalancer(living)).toBe(holds);
  });

  test("drops Services without a name, which the count then reveals", () => {
    expect(existingServices.project({ metadata: { name: "web" } })).toBeUndefined();
    expect(selectExistingServices({})).toBeUndefined();
  });
});
