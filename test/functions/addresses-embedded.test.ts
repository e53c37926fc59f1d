import { startEmbedded } from "#test/crash-consistency/stage.ts";
import { describeAddresses } from "#test/functions/addresses/addresses-contract.ts";

describeAddresses("the embedded API server", startEmbedded, { hasPolicies: false });
