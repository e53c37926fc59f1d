import { expect, it } from "vitest";
import { formatNamespacedPath } from "#kube/client/transport.ts";

it.each([
  ["/api/v1/nodes", undefined, "/api/v1/nodes"],
  ["/api/v1/services", "a", "/api/v1/namespaces/a/services"],
  ["/apis/apps/v1/deployments", "a/b", "/apis/apps/v1/namespaces/a%2Fb/deployments"],
])("%s in %s", (path, namespace, collection) => {
  expect(formatNamespacedPath(path, namespace)).toBe(collection);
});
