import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { describeControlPlane } from "#test/emulators/control-plane-contract.ts";
import { describeWithPart, testWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "a real control plane", (binaries) => {
  const start = (folder: string) => startKubeApiserver({ folder, binaries });
  describeControlPlane("kube-apiserver", start, testWithPart("etcdutl"));
});
