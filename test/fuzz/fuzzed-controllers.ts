import { nodeWatch } from "#core/node/watch.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";

/** The node controllers, which random steps exercise. */
export const FUZZED_CONTROLLERS: readonly string[] = [nodeWatch.name, nodeLifecycleWatch.name];
