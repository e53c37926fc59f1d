import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { describeControlPlane } from "#test/emulators/control-plane-contract.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "a real control plane", (binaries) => {
  describeControlPlane("kube-apiserver", (folder) => startKubeApiserver({ folder, binaries }));
});
