import { afterAll, beforeAll, expect, it } from "vitest";
import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import type { ApiResponse } from "#kube/client/transport.ts";
import { MANIFESTS } from "#test/functions/services/services-under-test.ts";
import { add, type PolicyUnderTest, remove, saidBy, startPolicy } from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const SERVICES = "/api/v1/namespaces/default/services";
const ANNOTATION = `/metadata/annotations/${LOAD_BALANCER_ANNOTATION.replaceAll("/", "~1")}`;

interface Row {
  readonly what: string;
  readonly patch: readonly unknown[];
}

/** All start from a Service with a finalizer and an annotation of somebody else, and then ours. */
const ALLOWED: readonly Row[] = [
  { what: "takes a Service on", patch: [add("/metadata/finalizers/-", LOAD_BALANCER_FINALIZER)] },
  { what: "lets it go", patch: [remove("/metadata/finalizers/1"), remove(ANNOTATION)] },
  { what: "says what was applied", patch: [add(ANNOTATION, "{}")] },
  ...[
    "kubernetes.digitalocean.com/load-balancer-id",
    "service.beta.kubernetes.io/do-loadbalancer-type",
    "service.beta.kubernetes.io/do-loadbalancer-certificate-id",
  ].map((name) => ({
    what: `says what it has on DigitalOcean: ${name}`,
    patch: [add(`/metadata/annotations/${name.replaceAll("/", "~1")}`, "a")],
  })),
  {
    what: "says where the load balancer is",
    patch: [add("/status/loadBalancer", { ingress: [{ hostname: "lb.example.com" }] })],
  },
  // The status takes no spec, whoever sends it.
  { what: "writes a spec that is left out", patch: [add("/spec/type", "ClusterIP")] },
];

const REFUSED: readonly (Row & { readonly says: string })[] = [
  {
    what: "adds another finalizer",
    patch: [add("/metadata/finalizers/-", "example.com/more")],
    says: "no finalizer but",
  },
  {
    what: "removes another's finalizer",
    patch: [remove("/metadata/finalizers/0")],
    says: "no finalizer but",
  },
  { what: "removes all finalizers", patch: [remove("/metadata/finalizers")], says: "no finalizer but" },
  {
    what: "annotates something else",
    patch: [add("/metadata/annotations/a", "b")],
    says: "no annotation but",
  },
  {
    what: "names the load balancer on DigitalOcean, which is its owner's to do",
    patch: [add("/metadata/annotations/service.beta.kubernetes.io~1do-loadbalancer-name", "a")],
    says: "no annotation but",
  },
  {
    what: "changes another annotation",
    patch: [add("/metadata/annotations/example.com~1a", "c")],
    says: "no annotation but",
  },
  {
    what: "removes another annotation",
    patch: [remove("/metadata/annotations/example.com~1a")],
    says: "no annotation but",
  },
  { what: "labels", patch: [add("/metadata/labels", { a: "b" })], says: "neither labels nor owners" },
  {
    what: "gives it an owner",
    patch: [add("/metadata/ownerReferences", [{ apiVersion: "v1", kind: "Pod", name: "a", uid: "b" }])],
    says: "neither labels nor owners",
  },
  {
    what: "writes conditions",
    patch: [
      add("/status/conditions", [
        { type: "A", status: "True", reason: "B", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
      ]),
    ],
    says: "nothing of the status but",
  },
];

const EVENTS: readonly { readonly what: string; readonly body: object; readonly code: number }[] = [
  { what: "on a Service", body: {}, code: 201 },
  {
    what: "on a node",
    body: { involvedObject: { kind: "Node", name: "a", namespace: "default" } },
    code: 422,
  },
  {
    what: "on the cluster's namespace",
    // Events on what has no namespace stand in this one.
    body: { involvedObject: { apiVersion: "v1", kind: "Namespace", name: "kube-system" } },
    code: 201,
  },
  {
    what: "on another namespace",
    body: { involvedObject: { apiVersion: "v1", kind: "Namespace", name: "default" } },
    code: 422,
  },
  { what: "in another's name", body: { source: { component: "kubelet" } }, code: 422 },
  { what: "in nobody's name", body: { source: {} }, code: 422 },
];

describeWithPart(
  "control-plane",
  "infra/admission/service.yaml: the identity that makes load balancers",
  (binaries) => {
    let under: PolicyUnderTest;
    let count = 0;

    beforeAll(async () => {
      const probe = async () => event({ source: {} });
      const manifests = MANIFESTS.filter((file) => file.includes("rbac"));
      under = await startPolicy(
        binaries,
        ["service.yaml"],
        async (policy) => {
          under = policy;
          return probe();
        },
        { manifests },
      );
      expect((await write(REFUSED[0] as Row)).status).toBe(422);
    });
    afterAll(() => under?.cluster.close());

    async function made(): Promise<string> {
      const name = `service-${++count}`;
      const answer = await under.send("admin", {
        method: "POST",
        path: SERVICES,
        body: {
          metadata: {
            name,
            finalizers: ["example.com/a", LOAD_BALANCER_FINALIZER],
            annotations: { "example.com/a": "b", [LOAD_BALANCER_ANNOTATION]: "{}" },
          },
          spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
        },
      });
      expect(answer.status).toBe(201);
      return name;
    }

    async function write({ patch }: Row, user = "service"): Promise<ApiResponse> {
      const path = `${SERVICES}/${await made()}/status`;
      return under.send(user, {
        method: "PATCH",
        path,
        body: patch,
        contentType: "application/json-patch+json",
      });
    }

    function event(difference: object, user = "service"): Promise<ApiResponse> {
      return under.send(user, {
        method: "POST",
        path: "/api/v1/namespaces/default/events",
        body: {
          metadata: { generateName: "policy-" },
          involvedObject: { kind: "Service", name: "a", namespace: "default" },
          source: { component: "service-controller" },
          ...difference,
        },
      });
    }

    it.each(ALLOWED)("$what", async (row) => {
      expect(saidBy(await write(row))).toEqual([200, ""]);
    });

    it.each(REFUSED)("never $what", async (row) => {
      expect(saidBy(await write(row))).toEqual([422, expect.stringContaining(row.says)]);
    });

    it.each(EVENTS)("records Events $what: $code", async ({ body, code }) => {
      expect(saidBy(await event(body))[0]).toBe(code);
    });

    it("is the only one that it concerns", async () => {
      expect(saidBy(await write(REFUSED[0] as Row, "admin"))).toEqual([200, ""]);
      expect(saidBy(await event({ source: {} }, "admin"))[0]).toBe(201);
    });
  },
);
