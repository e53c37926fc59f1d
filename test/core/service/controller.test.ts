import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DoneWrite } from "#core/controller.ts";
import { createServiceController } from "#core/service/controller.ts";
import type { TargetNode } from "#core/service/model.ts";
import { needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { given } from "#test/core/given.ts";
import {
  context,
  controllerWith,
  converged,
  decideOn,
  FINALIZERS,
  listing,
  related,
  type Script,
  type Shelf,
  secondsAgo,
  served,
  service,
  shelfModel,
} from "#test/core/service/builders.ts";

describe("the watch", () => {
  const CONTEXT = { labelPrefixes: [], settings: context().settings };

  test("waits for an address", async () => {
    const waits = (object: Service) => [
      serviceWatch.waiting?.waits(object),
      ...(serviceWatch.delays ?? []).map((delay) => delay.waits(object)),
    ];
    expect(waits(service())).toEqual([true, true]);
    expect(waits(await served())).toEqual([false, false]);
    expect(waits(service({ spec: { type: "ClusterIP" } }))).toEqual([false, false]);
  });

  test("looks at all of them in ten minutes, and when nodes change", async () => {
    const { looks } = serviceWatch;
    expect(looks).toMatchObject({ everySeconds: 600, whenRelatedChange: true });
    expect(looks?.fingerprint(service())).toBe(looks?.fingerprint(await served()));
  });

  test("says by what is watched alone whether there is something to do", async () => {
    expect(serviceWatch.needsWork(service(), CONTEXT)).toBe(true);
    expect(serviceWatch.needsWork(await served(), CONTEXT)).toBe(false);
  });

  test("tells a change by the owner from what the controller writes itself", async () => {
    const demandOf = (object: Service) => serviceWatch.demand?.(object, CONTEXT);
    const edited = service({ spec: { ports: [{ port: 81, nodePort: 30_081, protocol: "TCP" }] } });
    expect(demandOf(await served())).toBe(demandOf(service()));
    expect(demandOf(edited)).not.toBe(demandOf(service()));
  });
});

test("a model is loaded once, for the clouds that are used alone", async () => {
  const loaded: string[] = [];
  const load = (name: string) => async () => {
    loaded.push(name);
    return shelfModel();
  };
  const models = { shelf: load("shelf"), unused: load("unused") };
  const controller = createServiceController(models);
  await controller.load?.("shelf");
  await controller.load?.("shelf");
  await controller.load?.("absent");
  expect(loaded).toEqual(["shelf"]);
});

describe("what was done", () => {
  const subject = { object: service(), answer: undefined, hint: undefined };
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
      "an action that was not asked about",
      {
        on: "cloud",
        capability: "loadBalancers",
        action: "PutUp",
        target: "a",
        parameters: {},
        precondition: { uid: "uid-web", deleting: false },
      },
    ],
  ])("leaves what is known as it is after %s", async (_, done) => {
    const controller = await controllerWith();
    expect(controller.fold?.(subject, { write: done, result: undefined })).toBe(subject);
    expect(controller.foldOther?.(subject, { write: done, result: undefined }, context())).toBe(subject);
  });

  test.each<[string, Script, string]>([
    ["what all have together", { isShared: true }, "Fill"],
    ["nothing but what all have together", { isShared: false }, "LoadBalancerEnsured"],
    ["nothing where a cloud has nothing of that kind", {}, "LoadBalancerEnsured"],
  ])("changes %s for other Services", async (_, script, code) => {
    const controller = await controllerWith(script);
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
    const told = controller.foldOther?.({ ...subject, answer }, done, context());
    if (told === undefined) throw new Error("nobody was told");
    const decision = decideOn(controller, told);
    expect(decision.because.code).toBe(code);
  });
});

/** Any Service that we may come upon, with anything of it in the cloud. */
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
    service({
      metadata: { finalizers, annotations, ...(isDeleted ? { deletionTimestamp: secondsAgo(1) } : {}) },
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

test("deciding ends, and deciding again on what came of it changes nothing", async () => {
  const controller = await controllerWith();
  const runs: (readonly [Service, Shelf | null, readonly { readonly name: string }[]])[] = [];
  given([services, shelves, nodes], (object, shelf, list) => void runs.push([object, shelf, list]));
  for (const [object, shelf, list] of runs) {
    // A node without a provider ID may be a target soon: none is taken away while one is listed.
    const all: readonly TargetNode[] = list;
    const listed = all.filter(({ providerID }) => providerID !== undefined);
    const at = (seconds: number, reason: "watch" | "refresh" = "watch") =>
      listing(listed, seconds, { related: related(list), reason });
    let asked = at(30);
    const first = await converged(object, shelf, at(0));
    let once = await converged(first.object, first.shelf, asked);
    // What another actor may have sent is waited for.
    if (once.decisions.at(-1)?.kind === "retry") {
      asked = at(100);
      once = await converged(once.object, once.shelf, asked);
    }
    expect(once.decisions.at(-1)?.kind).toBe("unchanged");
    expect(needsWork(once.object, asked.settings)).toBe(false);
    expect(controller.asks(once.object, asked)).toBeUndefined();
    const again = await converged(once.object, once.shelf, at(60, "refresh"));
    expect(again.decisions.map(({ kind }) => kind)).toEqual(["unchanged"]);
    const foreign = (of: Service) =>
      of.metadata.finalizers?.filter((each) => !FINALIZERS.includes(each)) ?? [];
    expect(foreign(once.object)).toEqual(foreign(object));
  }
});

test("nothing of the cloud is changed before the finalizer stands there", async () => {
  const runs: (readonly [Service, Shelf | null])[] = [];
  given([services, shelves], (object, shelf) => void runs.push([object, shelf]));
  for (const [object, shelf] of runs) {
    const { decisions } = await converged(object, shelf);
    let hasFinalizer = object.metadata.finalizers?.includes(FINALIZERS[0] ?? "") === true;
    for (const decision of decisions) {
      for (const write of decision.kind === "change" ? decision.writes : []) {
        if (write.on === "cloud") expect(hasFinalizer).toBe(true);
        else hasFinalizer ||= JSON.stringify(write).includes('"/metadata/finalizers');
      }
    }
  }
});
