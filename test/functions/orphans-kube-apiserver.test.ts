import { OUR_MANIFESTS, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { describeOrphans } from "#test/functions/orphans/orphans-contract.ts";
import { MANIFESTS } from "#test/functions/services/services-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "a real control plane", (binaries) => {
  describeOrphans("kube-apiserver", (folder) =>
    startKubeApiserver({ folder, binaries, manifests: [...OUR_MANIFESTS, ...MANIFESTS] }),
  );
});
