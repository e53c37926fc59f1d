import { expect, test } from "vitest";
import { parseRequestTarget } from "#kube/client/observed-transport.ts";

const nothing = { subresource: undefined, namespace: undefined, name: undefined };

test.each([
  ["/api/v1/nodes", { resource: "nodes" }],
  ["/api/v1/nodes?limit=500&continue=secret", { resource: "nodes" }],
  ["/api/v1/nodes/n1?fieldManager=serverless-ccm", { resource: "nodes", name: "n1" }],
  ["/api/v1/nodes/n1/status", { resource: "nodes", name: "n1", subresource: "status" }],
  [
    "/api/v1/namespaces/a%2Fb/services/s/status",
    { resource: "services", namespace: "a/b", name: "s", subresource: "status" },
  ],
  ["/api/v1/namespaces/default/events", { resource: "events", namespace: "default" }],
  ["/api/v1/namespaces/default", { resource: "namespaces", name: "default" }],
  [
    "/apis/certificates.k8s.io/v1/certificatesigningrequests/csr-1/approval",
    { resource: "certificatesigningrequests", name: "csr-1", subresource: "approval" },
  ],
  ["/api/v1/nodes/%zz", { resource: "nodes" }],
  ["/readyz", { resource: "other" }],
])("%s", (path, target) => {
  expect(parseRequestTarget(path)).toEqual({ ...nothing, ...target });
});
