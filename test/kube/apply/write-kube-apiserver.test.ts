import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { describeWrites } from "#test/kube/apply/write-contract.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "a real control plane", (binaries) => {
  describeWrites("kube-apiserver", (folder) => startKubeApiserver({ folder, binaries }));
});
