import { OUR_MANIFESTS, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { describeTagging } from "#test/functions/tagging/tagging-contract.ts";
import { MANIFESTS } from "#test/functions/tagging/tags-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("control-plane", "a real control plane", (binaries) => {
  describeTagging("kube-apiserver", (folder) =>
    startKubeApiserver({ folder, binaries, manifests: [...OUR_MANIFESTS, ...MANIFESTS] }),
  );
});
