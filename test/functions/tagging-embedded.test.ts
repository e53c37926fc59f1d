import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { describeTagging } from "#test/functions/tagging/tagging-contract.ts";

describeTagging("the embedded API server", (folder) => startEmbeddedControlPlane({ folder }));
