import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { describeMembership } from "#test/relay/sharding/lease-membership-contract.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "replicas on a real API server", (binaries) => {
  describeMembership(async () =>
    startKubeApiserver({
      folder: await mkdtemp(join(tmpdir(), "membership-")),
      binaries,
      manifests: [],
    }),
  );
});
