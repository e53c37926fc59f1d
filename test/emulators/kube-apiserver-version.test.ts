import { afterAll, beforeAll, expect, it } from "vitest";
import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { getChosenMinor, readVersion } from "#test/setup/control-plane-build.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "the API server that suites run on", (binaries) => {
  let cluster: ClusterUnderTest;
  beforeAll(async () => {
    cluster = await startCluster((folder) => startKubeApiserver({ folder, binaries }));
  });
  afterAll(() => cluster?.close());

  it("has the requested version", async () => {
    const admin = await cluster.transport("admin");
    const { gitVersion } = JSON.parse((await admin.send({ method: "GET", path: "/version" })).body);
    const asked = getChosenMinor();
    // Without a request it may be any version that the machine has.
    expect(gitVersion).toMatch(asked === undefined ? /^v1\.\d+\.\d+/ : new RegExp(`^v${asked}\\.\\d+$`));
    if (asked !== undefined) expect(gitVersion).toBe(await readVersion(asked));
  });
});
