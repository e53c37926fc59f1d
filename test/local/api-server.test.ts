import { startEmbeddedControlPlane } from "#local/api-server/start.ts";
import { describeControlPlane } from "#test/local/control-plane-contract.ts";

describeControlPlane("the embedded API server", (folder) =>
  startEmbeddedControlPlane({ folder, bookmarkIntervalMs: 1500 }),
);
