import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { describeRounds } from "#test/functions/rounds-contract.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "a real control plane", (binaries) => {
  describeRounds("kube-apiserver", (folder) => startKubeApiserver({ folder, binaries }));
});
