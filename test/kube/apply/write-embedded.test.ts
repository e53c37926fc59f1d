import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { describeWrites } from "#test/kube/apply/write-contract.ts";

describeWrites("the embedded API server", (folder) => startEmbeddedControlPlane({ folder }));
