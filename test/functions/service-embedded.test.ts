import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { describeServices } from "#test/functions/services/services-contract.ts";

describeServices("the embedded API server", (folder) => startEmbeddedControlPlane({ folder }));
