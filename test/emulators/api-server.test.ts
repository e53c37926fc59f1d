import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { describeControlPlane } from "#test/emulators/control-plane-contract.ts";

describeControlPlane("the embedded API server", (folder) =>
  startEmbeddedControlPlane({ folder, bookmarkIntervalMs: 1500 }),
);
