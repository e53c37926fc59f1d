import { describe, expect, test } from "vitest";
import {
  CERTIFICATE_SIGNING_REQUESTS,
  collectionPath,
  creationPath,
  followedPath,
  keyOfName,
  NODES,
  objectPath,
  withQuery,
} from "#core/resources/resource.ts";

const SERVICES = { apiVersion: "v1", name: "services" };

describe("paths", () => {
  test("of collections", () => {
    expect(collectionPath(NODES)).toBe("/api/v1/nodes");
    expect(collectionPath(CERTIFICATE_SIGNING_REQUESTS)).toBe(
      "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    );
  });

  test("of objects, with and without a namespace and a subresource", () => {
    expect(objectPath(NODES, { name: "node-a" }, "status")).toBe("/api/v1/nodes/node-a/status");
    expect(objectPath(SERVICES, { namespace: "a", name: "web" })).toBe("/api/v1/namespaces/a/services/web");
  });

  test("of what is to be created", () => {
    expect(creationPath(SERVICES, "a")).toBe("/api/v1/namespaces/a/services");
    expect(creationPath(NODES, undefined)).toBe("/api/v1/nodes");
  });

  test("of what is followed: all objects, or the one of a name", () => {
    expect(followedPath(NODES, undefined)).toBe("/api/v1/nodes");
    expect(followedPath(NODES, { name: "node-a" })).toBe(
      "/api/v1/nodes?fieldSelector=metadata.name%3Dnode-a",
    );
    expect(followedPath(SERVICES, { namespace: "a", name: "web" })).toBe(
      "/api/v1/namespaces/a/services?fieldSelector=metadata.name%3Dweb",
    );
    expect([withQuery("/a", "b=1"), withQuery("/a?b=1", "c=2")]).toEqual(["/a?b=1", "/a?b=1&c=2"]);
  });

  test("lead nowhere else, whatever an object is called", () => {
    expect(objectPath(NODES, { name: "../pods?x" })).toBe("/api/v1/nodes/..%2Fpods%3Fx");
    expect(objectPath(SERVICES, { namespace: "a/b", name: "c" })).toBe("/api/v1/namespaces/a%2Fb/services/c");
  });
});

test("keys tell the same name in two namespaces apart", () => {
  expect([keyOfName({ namespace: "a", name: "web" }), keyOfName({ namespace: "b", name: "web" })]).toEqual([
    "a/web",
    "b/web",
  ]);
  expect(keyOfName({ name: "node-a" })).toBe("node-a");
});
