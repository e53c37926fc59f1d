import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { describeOrphans } from "#test/functions/orphans/orphans-contract.ts";

describeOrphans("the embedded API server", (folder) => startEmbeddedControlPlane({ folder }));
