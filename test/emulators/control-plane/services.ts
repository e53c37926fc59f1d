import { describe, expect, test } from "vitest";
import {
  type Answered,
  ask,
  createNodeName,
  JSON_PATCH,
  MERGE_PATCH,
  type Running,
} from "#test/emulators/control-plane/client.ts";

const SERVICES = "/api/v1/namespaces/default/services";
const FINALIZER = "example.com/keep";
const HOSTNAME = [{ hostname: "lb.example.com" }];

/** Describes the fields of Services that load balancers depend on. */
export function describeServices(running: Running): void {
  describe("services", () => {
    const create = (spec: object = {}, metadata: object = {}, rest: object = {}): Promise<Answered> =>
      ask(running(), {
        method: "POST",
        path: SERVICES,
        body: {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: createNodeName("service"), ...metadata },
          spec: { type: "LoadBalancer", ports: [{ port: 80 }], ...spec },
          ...rest,
        },
      });
    const read = ({ metadata }: Answered): Promise<Answered> =>
      ask(running(), { method: "GET", path: `${SERVICES}/${metadata.name}` });
    const patch = (
      { metadata }: Answered,
      body: unknown,
      { subresource = "", contentType = JSON_PATCH } = {},
    ): Promise<Answered> =>
      ask(running(), {
        method: "PATCH",
        path: `${SERVICES}/${metadata.name}${subresource}`,
        body,
        contentType,
      });
    const patchStatus = (service: Answered, body: unknown): Promise<Answered> =>
      patch(service, body, { subresource: "/status" });
    const addIngress = (ingress: unknown) => [
      { op: "test", path: "/status/loadBalancer/ingress", value: null },
      { op: "add", path: "/status/loadBalancer", value: { ingress } },
    ];

    test("a new one has defaults and node ports, but no status and no generation", async () => {
      const created = await create({}, {}, { status: { loadBalancer: { ingress: HOSTNAME } } });
      expect(created).toMatchObject({
        code: 201,
        kind: "Service",
        spec: {
          type: "LoadBalancer",
          sessionAffinity: "None",
          externalTrafficPolicy: "Cluster",
          internalTrafficPolicy: "Cluster",
          allocateLoadBalancerNodePorts: true,
          ipFamilies: ["IPv4"],
          ipFamilyPolicy: "SingleStack",
          ports: [{ protocol: "TCP", port: 80, targetPort: 80, nodePort: expect.any(Number) }],
        },
      });
      expect(created.status).toEqual({ loadBalancer: {} });
      expect(created.metadata).not.toHaveProperty("generation");
      expect(await read(created)).toEqual({ ...created, code: 200 });
    });

    test("the status subresource accepts finalizers and annotations, but never the spec", async () => {
      const created = await create();
      const patched = await patchStatus(created, [
        { op: "test", path: "/metadata/uid", value: created.metadata.uid },
        { op: "test", path: "/metadata/deletionTimestamp", value: null },
        { op: "test", path: "/spec/type", value: "LoadBalancer" },
        { op: "test", path: "/metadata/finalizers", value: null },
        { op: "add", path: "/metadata/finalizers", value: [FINALIZER] },
        { op: "test", path: "/metadata/annotations", value: null },
        { op: "add", path: "/metadata/annotations", value: { "example.com/a": "b" } },
        { op: "add", path: "/spec/type", value: "ClusterIP" },
        ...addIngress(HOSTNAME),
      ]);
      expect(patched).toMatchObject({
        code: 200,
        metadata: { finalizers: [FINALIZER], annotations: { "example.com/a": "b" } },
        spec: { type: "LoadBalancer" },
        status: { loadBalancer: { ingress: HOSTNAME } },
      });
      expect((await read(created)).spec).toEqual(created.spec);
    });

    test("a patch of the object leaves the status unchanged", async () => {
      const created = await create();
      const contentType = MERGE_PATCH;
      await patch(created, { status: { loadBalancer: { ingress: HOSTNAME } } }, { contentType });
      expect((await read(created)).status).toEqual({ loadBalancer: {} });
    });

    test("an address without a mode gets one, a hostname must not have one", async () => {
      const created = await create();
      const ip = [{ ip: "192.0.2.1" }];
      expect(await patchStatus(created, addIngress(ip))).toMatchObject({
        code: 200,
        status: { loadBalancer: { ingress: [{ ip: "192.0.2.1", ipMode: "VIP" }] } },
      });
      const other = await create();
      const named = [{ ...HOSTNAME[0], ipMode: "VIP" }];
      expect(await patchStatus(other, addIngress(named))).toMatchObject({
        code: 422,
        details: { causes: [{ field: "status.loadBalancer.ingress[0].ipMode" }] },
      });
    });

    test("with another type it loses node ports, class and status, and gets no new ones", async () => {
      const created = await create({ loadBalancerClass: "example.com/lb" });
      await patchStatus(created, addIngress(HOSTNAME));
      const type = [{ op: "add", path: "/spec/type", value: "ClusterIP" }];
      const changed = await patch(created, type);
      expect(changed).toMatchObject({ code: 200, spec: { type: "ClusterIP" } });
      expect(changed.status).toEqual({ loadBalancer: {} });
      for (const field of ["loadBalancerClass", "allocateLoadBalancerNodePorts", "externalTrafficPolicy"])
        expect(changed.spec).not.toHaveProperty(field);
      expect(JSON.stringify(changed.spec)).not.toContain("nodePort");
      expect(await patchStatus(created, addIngress(HOSTNAME))).toMatchObject({
        code: 422,
        details: { causes: [{ field: "status.loadBalancer.ingress" }] },
      });
    });

    test("a finalizer keeps it until a status write removes the finalizer", async () => {
      const created = await create({}, { finalizers: [FINALIZER] });
      const path = `${SERVICES}/${created.metadata.name}`;
      expect(await ask(running(), { method: "DELETE", path })).toMatchObject({
        code: 200,
        metadata: { deletionTimestamp: expect.any(String) },
      });
      const another = [{ op: "add", path: "/metadata/finalizers/-", value: "example.com/more" }];
      expect((await patchStatus(created, another)).code).toBe(422);
      const released = await patchStatus(created, [
        { op: "test", path: "/metadata/finalizers/0", value: FINALIZER },
        { op: "remove", path: "/metadata/finalizers/0" },
        { op: "add", path: "/status/loadBalancer", value: {} },
      ]);
      expect(released.code).toBe(200);
      expect((await read(created)).code).toBe(404);
    });
  });
}
