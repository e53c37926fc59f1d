import { OUR_MANIFESTS, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { describeRoutes } from "#test/functions/routes/routes-contract.ts";
import { MANIFESTS } from "#test/functions/routes/routes-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("moto", "moto", (program) => {
  describeWithPart("control-plane", "a real control plane", (binaries) => {
    describeRoutes(
      "kube-apiserver",
      (folder) => startKubeApiserver({ folder, binaries, manifests: [...OUR_MANIFESTS, ...MANIFESTS] }),
      program,
    );
  });
});
