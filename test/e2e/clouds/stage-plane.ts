import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { CONFIG_MAPS, formatCreationPath, LEASES, type Resource } from "#core/resources/resource.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import {
  ADMISSION_POLICIES,
  type ControlPlaneBinaries,
  OUR_MANIFESTS,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { askForJson } from "#test/ask.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

/**
 * Starts a real API server with our rights and policies, including those of the service function and of the
 * cloud, which replace others.
 */
export function startRealCluster(
  binaries: ControlPlaneBinaries,
  ofCloud: readonly string[] = [],
): Promise<ClusterUnderTest> {
  const [services = "", ...others] = ["rbac/service-lb-controller", ...ofCloud].map((path) =>
    fileURLToPath(new URL(`../../../infra/${path}`, import.meta.url)),
  );
  const manifests = [...OUR_MANIFESTS, services, ADMISSION_POLICIES, ...others];
  return startCluster((folder) => startKubeApiserver({ folder, binaries, manifests }));
}

/** Starts the embedded one, which grants rights itself, with the objects that an operator applies. */
export async function startEmbeddedCluster(): Promise<ClusterUnderTest> {
  const cluster = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
  const admin = await cluster.transport("admin");
  for (const [resource, file] of STATE) {
    const text = await readFile(new URL(`../../../infra/state/${file}`, import.meta.url), "utf8");
    await askForJson(admin, {
      method: "POST",
      path: formatCreationPath(resource, "kube-system"),
      body: parse(text),
    });
  }
  return cluster;
}

const STATE: readonly (readonly [Resource, string])[] = [
  [CONFIG_MAPS, "config-map.yaml"],
  [LEASES, "relay-lease.yaml"],
];
