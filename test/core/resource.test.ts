import { describe, expect, test } from "vitest";
import {
  CERTIFICATE_SIGNING_REQUESTS,
  formatCollectionPath,
  formatCreationPath,
  formatFollowedPath,
  formatObjectKey,
  formatObjectPath,
  NODES,
  withQuery,
} from "#core/resources/resource.ts";

const SERVICES = { apiVersion: "v1", name: "services" };

describe("paths", () => {
  test("of collections", () => {
    expect(formatCollectionPath(NODES)).toBe("/api/v1/nodes");
    expect(formatCollectionPath(CERTIFICATE_SIGNING_REQUESTS)).toBe(
      "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    );
  });

  test("of objects, with and without a namespace and a subresource", () => {
    expect(formatObjectPath(NODES, { name: "node-a" }, "status")).toBe("/api/v1/nodes/node-a/status");
    expect(formatObjectPath(SERVICES, { namespace: "a", name: "web" })).toBe(
      "/api/v1/namespaces/a/services/web",
    );
  });

  test("of new objects", () => {
    expect(formatCreationPath(SERVICES, "a")).toBe("/api/v1/namespaces/a/services");
    expect(formatCreationPath(NODES, undefined)).toBe("/api/v1/nodes");
  });

  test("of watched objects: all, or the one with a name", () => {
    expect(formatFollowedPath(NODES, undefined)).toBe("/api/v1/nodes");
    expect(formatFollowedPath(NODES, { name: "node-a" })).toBe(
      "/api/v1/nodes?fieldSelector=metadata.name%3Dnode-a",
    );
    expect(formatFollowedPath(SERVICES, { namespace: "a", name: "web" })).toBe(
      "/api/v1/namespaces/a/services?fieldSelector=metadata.name%3Dweb",
    );
    expect([withQuery("/a", "b=1"), withQuery("/a?b=1", "c=2")]).toEqual(["/a?b=1", "/a?b=1&c=2"]);
  });

  test("cannot be changed by an object's name", () => {
    expect(formatObjectPath(NODES, { name: "../pods?x" })).toBe("/api/v1/nodes/..%2Fpods%3Fx");
    expect(formatObjectPath(SERVICES, { namespace: "a/b", name: "c" })).toBe(
      "/api/v1/namespaces/a%2Fb/services/c",
    );
  });
});

test("keys of equal names in two namespaces differ", () => {
  expect([
    formatObjectKey({ namespace: "a", name: "web" }),
    formatObjectKey({ namespace: "b", name: "web" }),
  ]).toEqual(["a/web", "b/web"]);
  expect(formatObjectKey({ name: "node-a" })).toBe("node-a");
});
