import { createKubeApiserverStage } from "#test/crash-consistency/stage.ts";
import { describeAddresses } from "#test/functions/addresses/addresses-contract.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "a real control plane", (binaries) => {
  describeAddresses("kube-apiserver", createKubeApiserverStage(binaries), { hasPolicies: true });
});
