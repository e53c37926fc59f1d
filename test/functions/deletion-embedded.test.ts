import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { describeDeletion } from "#test/functions/deletion-contract.ts";

describeDeletion("the embedded API server", (folder) => startEmbeddedControlPlane({ folder }));

describeDeletion(
  "the embedded API server, written by the relay",
  (folder) => startEmbeddedControlPlane({ folder }),
  "relay",
);
