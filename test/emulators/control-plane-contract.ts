import { afterAll, beforeAll, describe, test } from "vitest";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { describeAccess } from "#test/emulators/control-plane/access.ts";
import { describeCertificateRequests } from "#test/emulators/control-plane/certificate-requests.ts";
import { describeDeletion } from "#test/emulators/control-plane/deletion.ts";
import { describeLifecycle } from "#test/emulators/control-plane/lifecycle.ts";
import { describeLists } from "#test/emulators/control-plane/lists.ts";
import { describePatches } from "#test/emulators/control-plane/patches.ts";
import { describeResources } from "#test/emulators/control-plane/resources.ts";
import { describeServices } from "#test/emulators/control-plane/services.ts";
import { describeWatches } from "#test/emulators/control-plane/watches.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import type { MakeTest } from "#test/setup/parts.ts";

/**
 * Describes what src/kube/ and src/relay/ rely on in an API server of any kind. Embedded and real servers must answer
 * alike, or a test on one proves nothing for the other. The folder is created for it, and removed after it is
 * closed. `testRestore` defines the test that restores the store.
 */
export function describeControlPlane(
  name: string,
  start: (folder: string) => Promise<ControlPlane>,
  testRestore: MakeTest = test,
): void {
  describe(name, () => {
    let cluster: ClusterUnderTest | undefined;
    beforeAll(async () => {
      cluster = await startCluster(start);
    });
    afterAll(() => cluster?.close());
    const running = (): ClusterUnderTest => {
      if (cluster === undefined)
        throw new Error("the control plane did not start: see the error of beforeAll");
      return cluster;
    };
    describeAccess(running);
    describeResources(running);
    describePatches(running);
    describeCertificateRequests(running);
    describeServices(running);
    describeDeletion(running);
    describeLists(running);
    describeWatches(running);
    // Last, because it stops the server and restores its store.
    describeLifecycle(running, testRestore);
  });
}
