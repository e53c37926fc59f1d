import { fileURLToPath } from "node:url";
import { OUR_MANIFESTS, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { createAwsNodeWorld } from "#test/clouds/aws/node-world.ts";
import { testNodeResourcesConformance } from "#test/clouds/node-resources-conformance.ts";
import { describeWithBoth } from "#test/setup/parts.ts";

const MANIFESTS = ["rbac/tagging", "admission/tagging.yaml"].map((path) =>
  fileURLToPath(new URL(`../../../../infra/${path}`, import.meta.url)),
);

describeWithBoth("moto and a real control plane", (binaries, program) => {
  testNodeResourcesConformance(
    "tags of AWS on kube-apiserver",
    () => createAwsNodeWorld(program, "tags"),
    (folder) => startKubeApiserver({ folder, binaries, manifests: [...OUR_MANIFESTS, ...MANIFESTS] }),
  );
});
