import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { describeRounds } from "#test/functions/rounds-contract.ts";

describeRounds("the embedded API server", (folder) => startEmbeddedControlPlane({ folder }));
