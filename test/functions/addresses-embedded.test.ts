import { describeAddresses } from "#test/functions/addresses/addresses-contract.ts";
import { startEmbedded } from "#test/killing/stage.ts";

describeAddresses("the embedded API server", startEmbedded, { hasPolicies: false });
