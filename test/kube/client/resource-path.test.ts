import { expect, it } from "vitest";
import { collectionPath, objectPath } from "#kube/client/resource-path.ts";

it.each([
  ["/api/v1/nodes", undefined, "n", "/api/v1/nodes", "/api/v1/nodes/n"],
  ["/api/v1/services", "a", "web", "/api/v1/namespaces/a/services", "/api/v1/namespaces/a/services/web"],
  [
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    undefined,
    "system:node/x",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests/system%3Anode%2Fx",
  ],
])("%s in %s, %s", (path, namespace, name, collection, object) => {
  expect(collectionPath(path, namespace)).toBe(collection);
  expect(objectPath(path, { name, namespace })).toBe(object);
});
