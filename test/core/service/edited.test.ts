import { describe, expect, test } from "vitest";
import type { Decision } from "#core/decision.ts";
import { patched } from "#core/json-patch.ts";
import type { LoadBalancerStep, ServiceEdit } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { edited } from "#core/service/writes.ts";
import {
  context,
  controllerWith,
  decideOn,
  FINALIZERS,
  secondsAgo,
  served,
  service,
} from "#test/core/service/builders.ts";

const BECAUSE = { code: "Named", message: "the cloud has named it" };
const DELETED_AT = secondsAgo(1);

/** What is written by an edit: nothing, or the Service after it. */
function writtenBy(object: Service, edit: ServiceEdit) {
  const write = edited(object, edit);
  return write === undefined ? undefined : { write, object: patched(object, write.patch) };
}

describe("an edit of a Service", () => {
  test.each<[string, Partial<Service["metadata"]>, ServiceEdit, Partial<Service["metadata"]>]>([
    [
      "makes the map of annotations",
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
    const { write, object } = writtenBy(service({ metadata }), edit) ?? {};
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
    "spec.loadBalancerIP %s on the Service itself, on what was read of it",
    (_title, before, wanted, expected) => {
      const spec = before === undefined ? {} : { loadBalancerIP: before };
      const { write, object } = writtenBy(service({ spec }), { loadBalancerIP: wanted }) ?? {};
      expect(object?.spec.loadBalancerIP).toBe(expected);
      expect(write?.subresource).toBeUndefined();
      expect(write?.precondition).toContainEqual({
        op: "test",
        path: "/spec/loadBalancerIP",
        value: before ?? null,
      });
    },
  );

  test("that says what stands there writes nothing", () => {
    const object = service({
      metadata: { annotations: { a: "1" }, labels: { implementation: "kube-vip" } },
      spec: { loadBalancerIP: "10.0.0.1" },
    });
    const edit = { annotations: { a: "1", b: null }, labels: { implementation: "kube-vip" } };
    expect(edited(object, edit)).toBeUndefined();
    expect(edited(object, { ...edit, loadBalancerIP: "10.0.0.1" })).toBeUndefined();
  });

  test("of a Service that leaves is guarded by that", () => {
    const object = service({ spec: { type: "ClusterIP" } });
    expect(edited(object, { labels: { implementation: "x" } })?.precondition).toContainEqual({
      op: "test",
      path: "/spec/type",
      value: "ClusterIP",
    });
  });
});

describe("a model that wants something written", () => {
  const write = (edit: ServiceEdit): LoadBalancerStep => ({ kind: "write", because: BECAUSE, edit });
  const decide = async (object: Service, next: LoadBalancerStep): Promise<Decision> =>
    decideOn(
      await controllerWith({ next }),
      { object, answer: { kind: "observed", state: null } },
      context(),
    );
  const applied = (object: Service, decision: Decision): Service =>
    decision.kind === "change"
      ? decision.writes.reduce(
          (before, each) => ("patch" in each ? patched(before, each.patch) : before),
          object,
        )
      : object;

  test("has the Service claimed first, then written on, then waits", async () => {
    const next = write({ annotations: { "example.com/id": "1" } });
    const claimed = applied(service(), await decide(service(), next));
    expect(claimed.metadata.finalizers).toEqual(FINALIZERS);
    expect(claimed.metadata.annotations).not.toHaveProperty(["example.com/id"]);
    const named = applied(claimed, await decide(claimed, next));
    expect(named.metadata.annotations).toMatchObject({ "example.com/id": "1" });
    expect(await decide(named, next)).toMatchObject({ kind: "retry", afterSeconds: 30 });
  });

  test("that stands there already is asked for again later", async () => {
    const object = await served();
    const leaving = { ...object, metadata: { ...object.metadata, deletionTimestamp: DELETED_AT } };
    expect(await decide(leaving, write({ annotations: { absent: null } }))).toMatchObject({
      kind: "retry",
      because: { code: "LoadBalancerInProgress" },
      afterSeconds: 30,
    });
  });

  test("on one that leaves has it written on as such", async () => {
    const object = await served();
    const leaving = { ...object, metadata: { ...object.metadata, deletionTimestamp: DELETED_AT } };
    const decision = await decide(leaving, write({ labels: { implementation: "x" } }));
    expect(applied(leaving, decision).metadata.labels).toEqual({ implementation: "x" });
  });
});

describe("a model that leaves the status to somebody in the cluster", () => {
  const next: LoadBalancerStep = { kind: "handed-over", warnings: [] };

  test("has the Service settled with whatever addresses it has", async () => {
    for (const ingress of [[], [{ ip: "10.0.0.1" }]]) {
      const object = service({ status: { loadBalancer: { ingress } } });
      const decision = await decideOn(
        await controllerWith({ next }),
        { object, answer: { kind: "observed", state: null } },
        context(),
      );
      const message =
        ingress.length === 0
          ? "the load balancer is there, and whoever writes its status has not yet"
          : "the load balancer is at 10.0.0.1";
      expect(decision).toMatchObject({
        ...{ kind: "change", because: { message }, writes: [{ resource: "services" }] },
      });
      const [written] = decision.kind === "change" ? decision.writes : [];
      if (written === undefined || !("patch" in written)) throw new Error("nothing is written");
      expect(patched(object, written.patch).status).toEqual({ loadBalancer: { ingress } });
    }
  });

  test.each<[string, (object: Service) => Service]>([
    [
      "that is deleted",
      (object) => ({ ...object, metadata: { ...object.metadata, deletionTimestamp: DELETED_AT } }),
    ],
    ["of another type", (object) => ({ ...object, spec: { ...object.spec, type: "ClusterIP" } })],
  ])("lets go of one %s, with the status that it has", async (_, changed) => {
    const object = changed(await served());
    const decision = decideOn(
      await controllerWith({ next }),
      { object, answer: { kind: "observed", state: null } },
      context(),
    );
    expect(decision).toMatchObject({ kind: "change", because: { code: "LoadBalancerDeleted" } });
    const [written] = decision.kind === "change" ? decision.writes : [];
    if (written === undefined || !("patch" in written)) throw new Error("nothing is written");
    const after = patched(object, written.patch);
    expect([after.metadata.finalizers, after.metadata.annotations]).toEqual([[], {}]);
    expect(after.status).toEqual(object.status);
  });
});
