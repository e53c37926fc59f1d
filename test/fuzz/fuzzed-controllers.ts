import { nodeWatch } from "#core/node/watch.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";

/** Those about nodes, which random steps are about. */
export const FUZZED_CONTROLLERS: readonly string[] = [nodeWatch.name, nodeLifecycleWatch.name];
