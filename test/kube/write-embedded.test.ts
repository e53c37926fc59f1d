import { startEmbeddedControlPlane } from "#local/api-server/start.ts";
import { describeWrites } from "#test/kube/write-contract.ts";

describeWrites("the embedded API server", (folder) => startEmbeddedControlPlane({ folder }));
