import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DoneWrite } from "#core/controller.ts";
import { createServiceController } from "#core/service/controller.ts";
import { LISTENERS_KEY, LOAD_BALANCERS_KEY } from "#core/service/load-balancer-quota.ts";
import type { TargetNode } from "#core/service/model.ts";
import { needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { checkProperty } from "#test/core/check-property.ts";
import {
  buildContext,
  buildListing,
  buildRelated,
  buildServedService,
  buildService,
  converge,
  createController,
  createShelfModel,
  decideOn,
  FINALIZERS,
  getPastTime,
  HOSTNAME,
  type Script,
  SETTINGS,
  type ServiceController,
  type Shelf,
} from "#test/core/service/builders.ts";

describe("the watch", () => {
  const CONTEXT = { labelPrefixes: [], settings: buildContext().settings };

  test("waits for an address", async () => {
    const waits = (object: Service) => [
      serviceWatch.metrics?.waiting?.isWaiting(object),
      ...(serviceWatch.metrics?.delays ?? []).map((delay) => delay.isWaiting(object)),
    ];
    expect(waits(buildService())).toEqual([true, true]);
    expect(waits(await buildServedService())).toEqual([false, false]);
    expect(waits(buildService({ spec: { type: "ClusterIP" } }))).toEqual([false, false]);
  });

  test("checks all Services every ten minutes, and when nodes change", async () => {
    const resyncPolicy = serviceWatch.rechecks?.resync;
    expect(resyncPolicy).toMatchObject({ everySeconds: 600, whenRelatedChange: true });
    expect(resyncPolicy?.fingerprint(buildService())).toBe(
      resyncPolicy?.fingerprint(await buildServedService()),
    );
  });

  test("detects work from watched objects only", async () => {
    expect(serviceWatch.needsWork(buildService(), CONTEXT)).toBe(true);
    expect(serviceWatch.needsWork(await buildServedService(), CONTEXT)).toBe(false);
  });

  test("distinguishes the owner's changes from the controller's own", async () => {
    const demandOf = (object: Service) => serviceWatch.rechecks?.demand?.(object, CONTEXT);
    const edited = buildService({ spec: { ports: [{ port: 81, nodePort: 30_081, protocol: "TCP" }] } });
    expect(demandOf(await buildServedService())).toBe(demandOf(buildService()));
    expect(demandOf(edited)).not.toBe(demandOf(buildService()));
  });
});

test("a model is loaded once, and only for clouds in use", async () => {
  const loaded: string[] = [];
  const load = (name: string) => async () => {
    loaded.push(name);
    return createShelfModel();
  };
  const models = { shelf: load("shelf"), unused: load("unused") };
  const controller = createServiceController(models);
  await controller.load?.("shelf");
  await controller.load?.("shelf");
  await controller.load?.("absent");
  expect(loaded).toEqual(["shelf"]);
});

describe("a reservation request", () => {
  const NETWORK = "network load balancer";
  const SIZE = { kind: NETWORK, missingListeners: 2 };
  const NEW: Script = { shows: false, size: SIZE };
  const OBSERVED = { kind: "observed", state: null } as const;

  async function request(
    script: Script,
    object: Service = buildService(),
    asked = buildContext(),
    answer: Parameters<ServiceController["decide"]>[0][number]["answer"] = OBSERVED,
  ) {
    const controller = await createController(script);
    return controller.listReservationRequests?.([{ object, answer, hint: undefined }], asked);
  }

  test.each<[string, Script, Readonly<Record<string, number>>]>([
    [
      "a load balancer, its kind and its listeners",
      NEW,
      { [LOAD_BALANCERS_KEY]: 1, [NETWORK]: 1, [LISTENERS_KEY]: 2 },
    ],
    [
      "no listeners for a load balancer without any",
      { ...NEW, size: { ...SIZE, missingListeners: 0 } },
      { [LOAD_BALANCERS_KEY]: 1, [NETWORK]: 1 },
    ],
    [
      "only the load balancer on a cloud that reports no sizes",
      { shows: false },
      { [LOAD_BALANCERS_KEY]: 1 },
    ],
    [
      "only the missing listeners of a visible load balancer",
      { ...NEW, shows: true },
      { [LISTENERS_KEY]: 2 },
    ],
  ])("requests %s", async (_, script, amounts) => {
    const { uid, creationTimestamp: created } = buildService().metadata;
    expect(await request(script)).toEqual([{ uid, created, amounts }]);
  });

  test.each<[string, () => ReturnType<typeof request>]>([
    [
      "the load balancer is visible with all its listeners",
      () => request({ shows: true, size: { ...SIZE, missingListeners: 0 } }),
    ],
    ["the cloud reports neither visibility nor size", () => request({})],
    [
      "the cloud did not answer",
      () => request(NEW, undefined, undefined, { kind: "error", code: "Throttled", message: "slow" }),
    ],
    [
      "the cloud has no load balancers",
      () => request(NEW, undefined, buildContext({ settings: { ...SETTINGS, cloud: { provider: "none" } } })),
    ],
    [
      "the Service no longer needs a load balancer",
      () => request(NEW, buildService({ metadata: { finalizers: FINALIZERS }, spec: { type: "ClusterIP" } })),
    ],
    [
      "the next step creates nothing",
      () => request({ ...NEW, next: { kind: "settled", ingress: [], warnings: [] } }),
    ],
  ])("is not made if %s", async (_, requestInCase) => {
    expect(await requestInCase()).toEqual([]);
  });

  test.each<[string, boolean, readonly object[]]>([
    ["is not made for a new load balancer", false, []],
    ["is made for the listeners of a visible load balancer", true, [{ amounts: { [LISTENERS_KEY]: 2 } }]],
  ])("%s, for a stock controller's Service in a cluster at its maximum", async (_, shows, expected) => {
    const stock = buildService({ status: { loadBalancer: { ingress: [{ hostname: HOSTNAME }] } } });
    const settings = { ...SETTINGS, loadBalancers: { ...SETTINGS.loadBalancers, max: 0 } };
    expect(await request({ ...NEW, shows }, stock, buildContext({ settings }))).toMatchObject(expected);
  });
});

describe("a completed action", () => {
  const subject = { object: buildService(), answer: undefined, hint: undefined };
  const write = {
    on: "cluster",
    apiVersion: "v1",
    resource: "services",
    namespace: "default",
    name: "web",
  } as const;

  test.each<[string, DoneWrite["write"]]>([
    ["a deletion", { ...write, verb: "delete", precondition: { uid: "uid-web" } }],
    [
      "an action of which the result is missing",
      {
        on: "cloud",
        capability: "loadBalancers",
        action: "PutUp",
        target: "a",
        parameters: {},
        precondition: { uid: "uid-web", deleting: false },
      },
    ],
  ])("leaves the facts unchanged after %s", async (_, done) => {
    const controller = await createController();
    expect(controller.applyResult?.(subject, { write: done, result: undefined })).toBe(subject);
    expect(controller.applySharedResult?.(subject, { write: done, result: undefined }, buildContext())).toBe(
      subject,
    );
  });

  test.each<[string, Script, string]>([
    ["the shared resources", { isShared: true }, "Fill"],
    ["nothing but shared resources", { isShared: false }, "LoadBalancerEnsured"],
    ["nothing on a cloud without shared resources", {}, "LoadBalancerEnsured"],
  ])("changes %s for other Services", async (_, script, code) => {
    const controller = await createController(script);
    const ports = JSON.stringify(subject.object.spec.ports);
    const answer = { kind: "observed", state: { wish: ports, targets: ["i-a"] } } as const;
    const action = { action: "Fill", target: "another", parameters: {} };
    const done: DoneWrite = {
      write: {
        on: "cloud",
        capability: "loadBalancers",
        ...action,
        precondition: { uid: "uid-another", deleting: false },
      },
      result: { wish: "of another", targets: [] },
    };
    const told = controller.applySharedResult?.({ ...subject, answer }, done, buildContext());
    if (told === undefined) throw new Error("nothing was reported");
    const decision = decideOn(controller, told);
    expect(decision.because.code).toBe(code);
  });
});

/** Any possible Service, with any of its resources in the cloud. */
const services = fc
  .record({
    type: fc.constantFrom("LoadBalancer", "ClusterIP"),
    loadBalancerClass: fc.constantFrom(undefined, "serverless-ccm.io/nlb", "example.com/lb"),
    finalizers: fc.constantFrom(undefined, FINALIZERS, ["example.com/a"], ["example.com/a", ...FINALIZERS]),
    annotations: fc.constantFrom(undefined, {}, { "example.com/a": "b" }),
    isDeleted: fc.boolean(),
    hostname: fc.constantFrom(undefined, "lb.example.com", "other.example.com"),
    port: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ type, loadBalancerClass, finalizers, annotations, isDeleted, hostname, port }) =>
    buildService({
      metadata: { finalizers, annotations, ...(isDeleted ? { deletionTimestamp: getPastTime(1) } : {}) },
      spec: { type, loadBalancerClass, ports: [{ protocol: "TCP", port, nodePort: 30_000 }] },
      status: { loadBalancer: hostname === undefined ? {} : { ingress: [{ hostname }] } },
    }),
  );
const shelves = fc.constantFrom<Shelf | null>(
  null,
  { wish: "", targets: [] },
  { wish: "[]", targets: ["i-z"] },
);
const nodes = fc.subarray([
  { name: "a", providerID: "i-a" },
  { name: "b", providerID: "i-b" },
  { name: "c" },
]);

test("decisions end, and a decision on the final result changes nothing", async () => {
  const controller = await createController();
  const runs: (readonly [Service, Shelf | null, readonly { readonly name: string }[]])[] = [];
  checkProperty([services, shelves, nodes], (object, shelf, list) => void runs.push([object, shelf, list]));
  for (const [object, shelf, list] of runs) {
    // A node without a provider ID may be a target soon: while one is listed, no target is removed.
    const all: readonly TargetNode[] = list;
    const listed = all.filter(({ providerID }) => providerID !== undefined);
    const at = (seconds: number, reason: "watch" | "refresh" = "watch") =>
      buildListing(listed, seconds, { related: buildRelated(list), reason });
    let asked = at(30);
    const first = await converge(object, shelf, at(0));
    let once = await converge(first.object, first.shelf, asked);
    // Requests that another actor may have sent are awaited.
    if (once.decisions.at(-1)?.kind === "retry") {
      asked = at(100);
      once = await converge(once.object, once.shelf, asked);
    }
    expect(once.decisions.at(-1)?.kind).toBe("unchanged");
    expect(needsWork(once.object, asked.settings)).toBe(false);
    expect(controller.buildQuestion(once.object, asked)).toBeUndefined();
    const again = await converge(once.object, once.shelf, at(60, "refresh"));
    expect(again.decisions.map(({ kind }) => kind)).toEqual(["unchanged"]);
    const foreign = (of: Service) =>
      of.metadata.finalizers?.filter((each) => !FINALIZERS.includes(each)) ?? [];
    expect(foreign(once.object)).toEqual(foreign(object));
  }
});

test("the cloud is never changed before the finalizer is written", async () => {
  const runs: (readonly [Service, Shelf | null])[] = [];
  checkProperty([services, shelves], (object, shelf) => void runs.push([object, shelf]));
  for (const [object, shelf] of runs) {
    const { decisions } = await converge(object, shelf);
    let hasFinalizer = object.metadata.finalizers?.includes(FINALIZERS[0] ?? "") === true;
    for (const decision of decisions) {
      for (const write of decision.kind === "change" ? decision.writes : []) {
        if (write.on === "cloud") expect(hasFinalizer).toBe(true);
        else hasFinalizer ||= JSON.stringify(write).includes('"/metadata/finalizers');
      }
    }
  }
});
