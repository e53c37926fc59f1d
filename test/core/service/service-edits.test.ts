import { describe, expect, test } from "vitest";
import type { Decision } from "#core/decision.ts";
import { applyOperations } from "#core/json-patch.ts";
import type { LoadBalancerStep, ServiceEdit } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { planServiceEdit } from "#core/service/writes.ts";
import {
  buildContext,
  buildServedService,
  buildService,
  createController,
  decideOn,
  FINALIZERS,
  getPastTime,
} from "#test/core/service/builders.ts";

const BECAUSE = { code: "Named", message: "the cloud has named it" };
const DELETED_AT = getPastTime(1);

/** The result of an edit: no write, or the Service after it. */
function writtenBy(object: Service, edit: ServiceEdit) {
  const write = planServiceEdit(object, edit);
  return write === undefined ? undefined : { write, object: applyOperations(object, write.patch) };
}

describe("an edit of a Service", () => {
  test.each<[string, Partial<Service["metadata"]>, ServiceEdit, Partial<Service["metadata"]>]>([
    [
      "creates the map of annotations",
      {},
      { annotations: { "example.com/id": "1" } },
      { annotations: { "example.com/id": "1" } },
    ],
    [
      "leaves other annotations as they are",
      { annotations: { other: "x", "example.com/id": "0" } },
      { annotations: { "example.com/id": "1" } },
      { annotations: { other: "x", "example.com/id": "1" } },
    ],
    [
      "takes away annotations and labels",
      { annotations: { "example.com/id": "0", other: "x" }, labels: { implementation: "a" } },
      { annotations: { "example.com/id": null }, labels: { implementation: null, "ipam-address": null } },
      { annotations: { other: "x" }, labels: {} },
    ],
    [
      "adds a label",
      { labels: {} },
      { labels: { implementation: "kube-vip" } },
      { labels: { implementation: "kube-vip" } },
    ],
  ])("%s", (_title, metadata, edit, expected) => {
    const { write, object } = writtenBy(buildService({ metadata }), edit) ?? {};
    expect(object?.metadata).toMatchObject(expected);
    expect(object?.metadata.annotations).toEqual(expected.annotations ?? metadata.annotations);
    expect(write?.subresource).toBe("status");
    expect(write?.precondition).toContainEqual({
      op: "test",
      path: "/metadata/deletionTimestamp",
      value: null,
    });
  });

  test.each<[string, string | undefined, string | null, string | undefined]>([
    ["is set", undefined, "10.0.0.1", "10.0.0.1"],
    ["is changed", "10.0.0.2", "10.0.0.1", "10.0.0.1"],
    ["is taken away", "10.0.0.2", null, undefined],
  ])(
    "spec.loadBalancerIP %s on the Service itself, guarded by the value read",
    (_title, before, wanted, expected) => {
      const spec = before === undefined ? {} : { loadBalancerIP: before };
      const { write, object } = writtenBy(buildService({ spec }), { loadBalancerIP: wanted }) ?? {};
      expect(object?.spec.loadBalancerIP).toBe(expected);
      expect(write?.subresource).toBeUndefined();
      expect(write?.precondition).toContainEqual({
        op: "test",
        path: "/spec/loadBalancerIP",
        value: before ?? null,
      });
    },
  );

  test("that equals the current value writes nothing", () => {
    const object = buildService({
      metadata: { annotations: { a: "1" }, labels: { implementation: "kube-vip" } },
      spec: { loadBalancerIP: "10.0.0.1" },
    });
    const edit = { annotations: { a: "1", b: null }, labels: { implementation: "kube-vip" } };
    expect(planServiceEdit(object, edit)).toBeUndefined();
    expect(planServiceEdit(object, { ...edit, loadBalancerIP: "10.0.0.1" })).toBeUndefined();
  });

  test("of a leaving Service tests that it still leaves", () => {
    const object = buildService({ spec: { type: "ClusterIP" } });
    expect(planServiceEdit(object, { labels: { implementation: "x" } })?.precondition).toContainEqual({
      op: "test",
      path: "/spec/type",
      value: "ClusterIP",
    });
  });
});

describe("a model that requests an edit", () => {
  const write = (edit: ServiceEdit): LoadBalancerStep => ({ kind: "write", because: BECAUSE, edit });
  const decide = async (object: Service, next: LoadBalancerStep): Promise<Decision> =>
    decideOn(
      await createController({ next }),
      { object, answer: { kind: "observed", state: null } },
      buildContext(),
    );
  const applied = (object: Service, decision: Decision): Service =>
    decision.kind === "change"
      ? decision.writes.reduce(
          (before, each) => ("patch" in each ? applyOperations(before, each.patch) : before),
          object,
        )
      : object;

  test("has the Service claimed first, then edited, and then waits", async () => {
    const next = write({ annotations: { "example.com/id": "1" } });
    const claimed = applied(buildService(), await decide(buildService(), next));
    expect(claimed.metadata.finalizers).toEqual(FINALIZERS);
    expect(claimed.metadata.annotations).not.toHaveProperty(["example.com/id"]);
    const named = applied(claimed, await decide(claimed, next));
    expect(named.metadata.annotations).toMatchObject({ "example.com/id": "1" });
    expect(await decide(named, next)).toMatchObject({ kind: "retry", afterSeconds: 30 });
  });

  test("whose value is already written is asked again later", async () => {
    const object = await buildServedService();
    const leaving = { ...object, metadata: { ...object.metadata, deletionTimestamp: DELETED_AT } };
    expect(await decide(leaving, write({ annotations: { absent: null } }))).toMatchObject({
      kind: "retry",
      because: { code: "LoadBalancerInProgress" },
      afterSeconds: 30,
    });
  });

  test("for a leaving Service gets it edited as a leaving one", async () => {
    const object = await buildServedService();
    const leaving = { ...object, metadata: { ...object.metadata, deletionTimestamp: DELETED_AT } };
    const decision = await decide(leaving, write({ labels: { implementation: "x" } }));
    expect(applied(leaving, decision).metadata.labels).toEqual({ implementation: "x" });
  });
});

describe("a model that leaves the status to a component in the cluster", () => {
  const next: LoadBalancerStep = { kind: "handed-over", warnings: [] };

  test("settles the Service with any addresses that it has", async () => {
    for (const ingress of [[], [{ ip: "10.0.0.1" }]]) {
      const object = buildService({ status: { loadBalancer: { ingress } } });
      const decision = await decideOn(
        await createController({ next }),
        { object, answer: { kind: "observed", state: null } },
        buildContext(),
      );
      const message =
        ingress.length === 0
          ? "the load balancer is there, and the component that writes its status has not done so yet"
          : "the load balancer is at 10.0.0.1";
      expect(decision).toMatchObject({
        ...{ kind: "change", because: { message }, writes: [{ resource: "services" }] },
      });
      const [written] = decision.kind === "change" ? decision.writes : [];
      if (written === undefined || !("patch" in written)) throw new Error("nothing is written");
      expect(applyOperations(object, written.patch).status).toEqual({ loadBalancer: { ingress } });
    }
  });

  test.each<[string, (object: Service) => Service]>([
    [
      "that is deleted",
      (object) => ({ ...object, metadata: { ...object.metadata, deletionTimestamp: DELETED_AT } }),
    ],
    ["of another type", (object) => ({ ...object, spec: { ...object.spec, type: "ClusterIP" } })],
  ])("releases a Service %s and keeps its status", async (_, changed) => {
    const object = changed(await buildServedService());
    const decision = decideOn(
      await createController({ next }),
      { object, answer: { kind: "observed", state: null } },
      buildContext(),
    );
    expect(decision).toMatchObject({ kind: "change", because: { code: "LoadBalancerDeleted" } });
    const [written] = decision.kind === "change" ? decision.writes : [];
    if (written === undefined || !("patch" in written)) throw new Error("nothing is written");
    const after = applyOperations(object, written.patch);
    expect([after.metadata.finalizers, after.metadata.annotations]).toEqual([[], {}]);
    expect(after.status).toEqual(object.status);
  });
});
