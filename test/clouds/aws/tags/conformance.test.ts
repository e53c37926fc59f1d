import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { awsNodeWorld } from "#test/clouds/aws/node-world.ts";
import { nodeResourcesConformance } from "#test/clouds/node-resources-conformance.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("moto", "moto", (program) => {
  nodeResourcesConformance(
    "tags of AWS on the embedded API server",
    () => awsNodeWorld(program, "tags"),
    (folder) => startEmbeddedControlPlane({ folder }),
  );
});
