import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { createAwsNodeWorld } from "#test/clouds/aws/node-world.ts";
import { testNodeResourcesConformance } from "#test/clouds/node-resources-conformance.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("moto", "moto", (program) => {
  testNodeResourcesConformance(
    "routes of AWS on the embedded API server",
    () => createAwsNodeWorld(program, "routes"),
    (folder) => startEmbeddedControlPlane({ folder }),
  );
});
