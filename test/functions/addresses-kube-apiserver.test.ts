import { describeAddresses } from "#test/functions/addresses/addresses-contract.ts";
import { onKubeApiserver } from "#test/killing/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "a real control plane", (binaries) => {
  describeAddresses("kube-apiserver", onKubeApiserver(binaries), { hasPolicies: true });
});
