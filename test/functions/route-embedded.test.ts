import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { describeRoutes } from "#test/functions/routes/routes-contract.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart("moto", "moto", (program) => {
  describeRoutes("the embedded API server", (folder) => startEmbeddedControlPlane({ folder }), program);
});
