import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { LOAD_BALANCER_ANNOTATION, LOAD_BALANCER_CLASS, LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import type { ApiResponse } from "#kube/client/transport.ts";
import { MANIFESTS } from "#test/functions/services/services-under-test.ts";
import {
  add,
  getPolicyFile,
  getRefusal,
  type PolicyUnderTest,
  remove,
  startPolicy,
} from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const JSON_PATCH = "application/json-patch+json";
const SERVICES = "/api/v1/namespaces/default/services";
const ANNOTATION = `/metadata/annotations/${LOAD_BALANCER_ANNOTATION.replaceAll("/", "~1")}`;

interface Row {
  readonly what: string;
  readonly patch: readonly unknown[];
}

/** Every row starts with a Service with a foreign finalizer and annotation, and then ours. */
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
  // The status subresource ignores the spec of every client.
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
    says: "nothing of the status but the load balancer: conditions",
  },
  {
    what: "removes the annotations of others with its own",
    patch: [remove("/metadata/annotations")],
    says: "no annotation but serverless-ccm.io/load-balancer, and what load balancers are known by: example.com/a",
  },
];

/**
 * A write on a Service as built by `made`, for example with another controller's class, or without a class
 * and with type ClusterIP.
 */
interface ForeignRow extends Row {
  readonly on: Made;
  /** Matches the message of the rejection; undefined if the write is allowed. */
  readonly says?: string;
}

const ELSEWHERE: Made = { spec: { loadBalancerClass: "example.com/other" } };
const OF_OUR_CLASS: Made = { spec: { loadBalancerClass: LOAD_BALANCER_CLASS } };
/** What the API server keeps when a Service with a load balancer changes its type. */
const LOST: Made = { spec: { type: "ClusterIP" } };
const UNTOUCHED = { finalizers: ["example.com/a"], annotations: { "example.com/a": "b" } };
const INGRESS = add("/status/loadBalancer", { ingress: [{ hostname: "lb.example.com" }] });
const NO_INGRESS = add("/status/loadBalancer", {});
const FINALIZER = add("/metadata/finalizers/-", LOAD_BALANCER_FINALIZER);
const DIGITALOCEAN = "/metadata/annotations/kubernetes.digitalocean.com~1load-balancer-id";

const CLASSES: readonly ForeignRow[] = [
  { what: "says where a load balancer of our class is", on: OF_OUR_CLASS, patch: [INGRESS] },
  {
    what: "takes a Service of our class on",
    on: { ...OF_OUR_CLASS, ...UNTOUCHED },
    patch: [FINALIZER, add(ANNOTATION, "{}")],
  },
  {
    what: "writes addresses of another class's Service",
    on: { ...ELSEWHERE, ...UNTOUCHED },
    patch: [INGRESS],
    says: "writes addresses of Services of type LoadBalancer and of its own classes alone",
  },
  {
    what: "writes addresses of another class's Service that it has annotated",
    on: ELSEWHERE,
    patch: [INGRESS],
    says: "writes addresses of Services of type LoadBalancer and of its own classes alone",
  },
  {
    what: "takes the addresses of another class's Service away",
    on: { ...ELSEWHERE, ...UNTOUCHED, ingress: [{ ip: "192.0.2.1" }] },
    patch: [NO_INGRESS],
    says: "writes addresses of Services of type LoadBalancer and of its own classes alone",
  },
  {
    what: "takes away the addresses that it left where the class has changed",
    on: { ...ELSEWHERE, ingress: [{ hostname: "lb.example.com" }] },
    patch: [NO_INGRESS, remove(ANNOTATION)],
  },
  {
    what: "takes another class's Service on",
    on: { ...ELSEWHERE, ...UNTOUCHED },
    patch: [FINALIZER],
    says: "writes the finalizer of load balancers on Services of type LoadBalancer and of its own classes alone",
  },
  {
    what: "lets another class's living Service go",
    on: ELSEWHERE,
    patch: [remove("/metadata/finalizers/1")],
    says: "writes the finalizer of load balancers on Services of type LoadBalancer and of its own classes alone",
  },
  {
    what: "lets another class's Service go that is being deleted",
    on: { ...ELSEWHERE, isDeleted: true },
    patch: [remove("/metadata/finalizers/1")],
  },
  {
    what: "annotates another class's Service",
    on: { ...ELSEWHERE, ...UNTOUCHED },
    patch: [add(ANNOTATION, "{}")],
    says: "annotates Services of type LoadBalancer and of its own classes alone",
  },
  {
    what: "annotates another class's Service anew, beside what it left there",
    on: ELSEWHERE,
    patch: [add(DIGITALOCEAN, "a")],
    says: "annotates Services of type LoadBalancer and of its own classes alone",
  },
  {
    what: "says that it looks for what is left of another class's Service that is being deleted",
    on: { ...ELSEWHERE, annotations: UNTOUCHED.annotations, isDeleted: true },
    patch: [add(ANNOTATION, "{}")],
  },
  {
    what: "annotates another class's Service that is being deleted and that it does not hold",
    on: { ...ELSEWHERE, ...UNTOUCHED, isDeleted: true },
    patch: [add(ANNOTATION, "{}")],
    says: "annotates Services of type LoadBalancer and of its own classes alone",
  },
  {
    what: "takes away the addresses of another class's Service that is being deleted",
    on: { ...ELSEWHERE, ...UNTOUCHED, isDeleted: true, ingress: [{ ip: "192.0.2.1" }] },
    patch: [NO_INGRESS],
    says: "writes addresses of Services of type LoadBalancer and of its own classes alone",
  },
  { what: "says that it leaves another class's Service", on: ELSEWHERE, patch: [add(ANNOTATION, "{ }")] },
  { what: "lets a Service go that has lost its type", on: LOST, patch: [remove("/metadata/finalizers/1")] },
  {
    what: "claims a Service that has lost its type",
    on: { ...LOST, annotations: UNTOUCHED.annotations },
    patch: [add(ANNOTATION, "{}")],
  },
  {
    what: "takes a Service of another type on",
    on: { ...LOST, ...UNTOUCHED },
    patch: [FINALIZER],
    says: "writes the finalizer of load balancers on Services of type LoadBalancer and of its own classes alone",
  },
  {
    what: "annotates a Service of another type that it does not hold",
    on: { ...LOST, ...UNTOUCHED },
    patch: [add(ANNOTATION, "{}")],
    says: "annotates Services of type LoadBalancer and of its own classes alone",
  },
  {
    what: "annotates a Service that has lost its type with anything else",
    on: LOST,
    patch: [add(DIGITALOCEAN, "a")],
    says: "annotates Services of type LoadBalancer and of its own classes alone",
  },
];

const ADDRESSES =
  "no IP address; where the cloud gives Services IP addresses, apply infra/admission/addresses/";

const INGRESSES: readonly ForeignRow[] = [
  {
    what: "writes an IP address",
    on: {},
    patch: [add("/status/loadBalancer", { ingress: [{ ip: "192.0.2.1", ipMode: "VIP" }] })],
    says: ADDRESSES,
  },
  {
    what: "writes an IP address beside a hostname",
    on: {},
    patch: [add("/status/loadBalancer", { ingress: [{ hostname: "lb.example.com", ip: "192.0.2.1" }] })],
    says: ADDRESSES,
  },
  {
    what: "writes an IP address for a hostname that stands there",
    on: { ingress: [{ hostname: "lb.example.com" }] },
    patch: [add("/status/loadBalancer/ingress/0", { ip: "192.0.2.1" })],
    says: ADDRESSES,
  },
  {
    what: "writes more hostnames than any load balancer has",
    on: {},
    patch: [
      add("/status/loadBalancer", {
        ingress: Array.from({ length: 17 }, (_, index) => ({ hostname: `lb-${index}.example.com` })),
      }),
    ],
    says: "at most 16 addresses",
  },
  {
    what: "annotates a Service on which an IP address of another's stands",
    on: { ingress: [{ ip: "192.0.2.1" }] },
    patch: [add(ANNOTATION, "{ }")],
  },
  {
    what: "takes an IP address of another's away",
    on: { ingress: [{ ip: "192.0.2.1" }] },
    patch: [NO_INGRESS],
  },
];

interface Made {
  readonly spec?: object;
  readonly finalizers?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Written by another client. */
  readonly ingress?: readonly object[];
  readonly isDeleted?: true;
}

describeWithPart(
  "control-plane",
  "infra/admission/service.yaml: the identity that makes load balancers",
  (binaries) => {
    let under: PolicyUnderTest;
    let count = 0;

    beforeAll(async () => {
      const manifests = MANIFESTS.filter((file) => file.includes("rbac"));
      under = await startPolicy(
        binaries,
        ["service.yaml", "ingress.yaml"],
        async (policy) => {
          under = policy;
          return write(INGRESSES[0] as Row);
        },
        { manifests },
      );
      expect((await write(REFUSED[0] as Row)).status).toBe(422);
    });
    afterAll(() => under?.cluster.close());

    async function made({ spec, ingress, isDeleted, ...metadata }: Made): Promise<string> {
      const name = `service-${++count}`;
      const answer = await under.send("admin", {
        method: "POST",
        path: SERVICES,
        body: {
          metadata: {
            name,
            finalizers: ["example.com/a", LOAD_BALANCER_FINALIZER],
            annotations: { "example.com/a": "b", [LOAD_BALANCER_ANNOTATION]: "{}" },
            ...metadata,
          },
          spec: { type: "LoadBalancer", ports: [{ port: 80 }], ...spec },
        },
      });
      expect(answer.status).toBe(201);
      const path = `${SERVICES}/${name}`;
      if (ingress !== undefined) {
        const body = [add("/status/loadBalancer", { ingress })];
        const request = { method: "PATCH", path: `${path}/status`, body, contentType: JSON_PATCH } as const;
        expect(getRefusal(await under.send("admin", request))).toEqual([200, ""]);
      }
      if (isDeleted) expect((await under.send("admin", { method: "DELETE", path })).status).toBe(200);
      return name;
    }

    async function write(
      { patch, on = {} }: Row & { readonly on?: Made },
      user = "service",
    ): Promise<ApiResponse> {
      const path = `${SERVICES}/${await made(on)}/status`;
      return under.send(user, { method: "PATCH", path, body: patch, contentType: JSON_PATCH });
    }

    it.each(ALLOWED)("$what", async (row) => {
      expect(getRefusal(await write(row))).toEqual([200, ""]);
    });

    it.each(REFUSED)("never $what", async (row) => {
      expect(getRefusal(await write(row))).toEqual([422, expect.stringContaining(row.says)]);
    });

    it.each([...CLASSES, ...INGRESSES].filter(({ says }) => says === undefined))("$what", async (row) => {
      expect(getRefusal(await write(row))).toEqual([200, ""]);
    });

    it.each([...CLASSES, ...INGRESSES].filter(({ says }) => says !== undefined))(
      "never $what",
      async (row) => {
        expect(getRefusal(await write(row))).toEqual([422, expect.stringContaining(row.says ?? "")]);
      },
    );

    it("writes IP addresses if the cloud gives them: with infra/admission/addresses", async () => {
      await under.plane.apply(getPolicyFile("addresses"));
      const [row] = INGRESSES as [ForeignRow];
      await vi.waitFor(async () => expect(getRefusal(await write(row))).toEqual([200, ""]), {
        timeout: 30_000,
      });
      const ports = [{ port: 80, protocol: "TCP" }];
      const more = {
        on: {},
        patch: [add("/status/loadBalancer", { ingress: [{ ip: "192.0.2.1", ports }] })],
      };
      expect(getRefusal(await write({ what: "", ...more }))).toEqual([
        422,
        expect.stringContaining("hostnames and IP addresses of load balancers, and nothing else of them"),
      ]);
      expect(getRefusal(await write({ ...row, on: ELSEWHERE }))).toEqual([
        422,
        expect.stringContaining("of its own classes"),
      ]);
    });

    it("serves Services of another class only if that class is named", async () => {
      const text = (await readFile(getPolicyFile("service.yaml"), "utf8")).replace(
        "['', 'serverless-ccm.io/nlb']",
        "['example.com/other']",
      );
      const folder = await mkdtemp(path.join(tmpdir(), "service-policy-"));
      try {
        const file = path.join(folder, "named.yaml");
        await writeFile(file, text);
        await under.plane.apply(file);
        const ofThat = { what: "", on: ELSEWHERE, patch: [INGRESS] };
        await vi.waitFor(async () => expect(getRefusal(await write(ofThat))).toEqual([200, ""]), {
          timeout: 30_000,
        });
        expect(getRefusal(await write({ ...ofThat, on: {} }))).toEqual([
          422,
          expect.stringContaining("of its own classes"),
        ]);
      } finally {
        await rm(folder, { recursive: true });
      }
    });

    it("applies to no other identity", async () => {
      expect(getRefusal(await write(REFUSED[0] as Row, "admin"))).toEqual([200, ""]);
      expect(getRefusal(await write(INGRESSES[0] as Row, "admin"))).toEqual([200, ""]);
    });
  },
);
