import { describe, expect, test } from "vitest";
import type { ApiRequest } from "#kube/client/transport.ts";
import {
  ask,
  createNode,
  createNodeName,
  getNode,
  getTransport,
  MERGE_PATCH,
  NODES,
  type Running,
} from "#test/emulators/control-plane/client.ts";

/** Describes the creation of nodes, events and config maps, and the validation of their content. */
export function describeResources(running: Running): void {
  describe("resources", () => {
    test("a new node gets uid, version, time, the zero values and admission's taint", async () => {
      const created = await createNode(running(), { spec: { taints: [{ key: "a", effect: "NoExecute" }] } });
      expect(created).toMatchObject({
        metadata: {
          uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
          resourceVersion: expect.stringMatching(/^\d+$/),
          creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        },
        spec: {
          taints: [
            { key: "a", effect: "NoExecute" },
            { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
          ],
        },
        status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: { machineID: "" } },
      });
      expect(await getNode(running(), created.metadata.name)).toEqual({ ...created, code: 200 });
    });

    test("each write has a higher version, for any kind of object", async () => {
      const node = await createNode(running());
      const event = await ask(running(), newEvent(createNodeName("event")));
      const next = await createNode(running());
      const versions = [node, event, next].map(({ metadata }) => Number(metadata.resourceVersion));
      expect(versions).toEqual(versions.toSorted((left, right) => left - right));
      expect(new Set(versions).size).toBe(3);
    });

    test.each(REFUSED)("$given: $answer.code", async ({ request, answer }) => {
      expect(await ask(running(), request)).toMatchObject({ kind: "Status", status: "Failure", ...answer });
    });

    test.each([
      { resource: "nodes", path: NODES, body: () => ({ metadata: { name: createNodeName() } }) },
      {
        resource: "events",
        path: EVENTS,
        body: () => ({
          metadata: { name: createNodeName("event") },
          involvedObject: { kind: "Node", name: "some" },
        }),
      },
    ])("reports that an object of $resource already exists", async ({ resource, path, body }) => {
      const request = { method: "POST", path, body: body() } as const;
      const first = await ask(running(), request);
      const second = await ask(running(), request);
      expect([first.code, second.code]).toEqual([201, 409]);
      expect(second).toMatchObject({ reason: "AlreadyExists", details: { kind: resource } });
    });

    test("finds events by their object", async () => {
      const uid = createNodeName("uid");
      const name = createNodeName("event");
      await ask(running(), newEvent(name, { uid }));
      await ask(running(), newEvent(createNodeName("event"), { uid: "other" }));
      const path = `${EVENTS}?fieldSelector=involvedObject.uid%3D${uid}`;
      const { items = [] } = await ask(running(), { method: "GET", path });
      expect(items.map(({ metadata }) => metadata.name)).toEqual([name]);
    });

    test("increments an event's count by a patch", async () => {
      const name = createNodeName("event");
      await ask(running(), newEvent(name));
      const path = `${EVENTS}/${name}`;
      const request = { method: "PATCH", path, body: { count: 2 }, contentType: MERGE_PATCH } as const;
      expect(await ask(running(), request)).toMatchObject({
        code: 200,
        count: 2,
        reason: "Tested",
      });
    });

    test("replaces a config map by its version, once", async () => {
      const path = "/api/v1/namespaces/kube-system/configmaps";
      const name = createNodeName("state");
      const created = await ask(running(), {
        method: "POST",
        path,
        body: { metadata: { name }, data: { state: "a" } },
      });
      const swap = (state: string) => {
        const { resourceVersion } = created.metadata;
        const body = { metadata: { name, resourceVersion }, data: { state } };
        return ask(running(), { method: "PUT", path: `${path}/${name}`, body });
      };
      expect(await swap("b")).toMatchObject({ code: 200, data: { state: "b" } });
      expect(await swap("c")).toMatchObject({ code: 409, reason: "Conflict" });
      expect(await ask(running(), { method: "GET", path: `${path}/${name}` })).toMatchObject({
        data: { state: "b" },
      });
    });

    test("a dry run returns the answer of the write, and writes nothing", async () => {
      const name = createNodeName();
      const request = { method: "POST", path: `${NODES}?dryRun=All`, body: { metadata: { name } } } as const;
      expect(await ask(running(), request)).toMatchObject({ code: 201, metadata: { name } });
      expect(await getNode(running(), name)).toMatchObject({ code: 404 });
    });

    test.each(["/livez", "/readyz"])("%s answers ok", async (path) => {
      const admin = await getTransport(running());
      expect(await admin.send({ method: "GET", path })).toMatchObject({ status: 200, body: "ok" });
    });
  });
}

const EVENTS = "/api/v1/namespaces/default/events";

function newEvent(name: string, involved: Readonly<Record<string, string>> = {}): ApiRequest {
  const involvedObject = { apiVersion: "v1", kind: "Node", name: "some", ...involved };
  const body = { metadata: { name }, involvedObject, reason: "Tested", type: "Normal", count: 1 };
  return { method: "POST", path: EVENTS, body };
}

const create = (metadata: object, rest: object = {}): ApiRequest => ({
  method: "POST",
  path: NODES,
  body: { metadata, ...rest },
});

const REFUSED: readonly { readonly given: string; readonly request: ApiRequest; readonly answer: object }[] =
  [
    {
      given: "a node with an underscore in its name",
      request: create({ name: "a_b" }),
      answer: { code: 422, reason: "Invalid", details: { causes: [{ field: "metadata.name" }] } },
    },
    {
      given: "a node without a name",
      request: create({}),
      answer: {
        code: 422,
        reason: "Invalid",
        message: 'Node "" is invalid: metadata.name: Required value: name or generateName is required',
      },
    },
    {
      given: "a node with a version before it is made",
      request: create({ name: "versioned", resourceVersion: "1" }),
      answer: { code: 500, message: "resourceVersion should not be set on objects to be created" },
    },
    {
      given: "a pod among the nodes",
      request: create({ name: "pod" }, { kind: "Pod", apiVersion: "v1" }),
      answer: { code: 400, reason: "BadRequest" },
    },
    {
      given: "an event on a node outside of default",
      request: {
        method: "POST",
        path: "/api/v1/namespaces/kube-system/events",
        body: { metadata: { name: "elsewhere" }, involvedObject: { kind: "Node", name: "some" } },
      },
      answer: { code: 422, reason: "Invalid", details: { causes: [{ field: "involvedObject.namespace" }] } },
    },
    {
      given: "an event of another namespace than it is sent to",
      request: {
        method: "POST",
        path: EVENTS,
        body: { metadata: { name: "stray", namespace: "other" }, involvedObject: { kind: "Node" } },
      },
      answer: { code: 400, reason: "BadRequest" },
    },
    {
      given: "an event in a namespace that is not there",
      request: {
        method: "POST",
        path: "/api/v1/namespaces/absent/events",
        body: { metadata: { name: "lost" }, involvedObject: { kind: "Pod", namespace: "absent" } },
      },
      answer: { code: 404, reason: "NotFound", message: 'namespaces "absent" not found' },
    },
    {
      given: "a resource that is not served",
      request: { method: "GET", path: "/api/v1/gadgets" },
      answer: { code: 404, reason: "NotFound", message: "the server could not find the requested resource" },
    },
    {
      given: "a method that a node has not",
      request: { method: "POST", path: `${NODES}/some`, body: {} },
      answer: { code: 405, reason: "MethodNotAllowed" },
    },
  ];
