import type { Capability } from "#clouds/cloud.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** A capability with connections that can be closed. */
export interface ClosableCapability extends Capability {
  close(): void;
}

type Loaded = Capability & Partial<ClosableCapability>;

/**
 * Creates a capability whose code and dependencies are loaded on first use; a failed load is the error of
 * each call.
 */
export function createLazyCapability(load: () => Promise<Loaded>): ClosableCapability {
  let loading: Promise<Loaded> | undefined;
  let loaded: Loaded | undefined;
  const get = async (): Promise<Loaded | { readonly kind: "failed"; readonly message: string }> => {
    loading ??= load();
    try {
      loaded = await loading;
      return loaded;
    } catch (error) {
      loading = undefined;
      return { kind: "failed", message: `the capability cannot be loaded: ${getErrorMessage(error)}` };
    }
  };
  return {
    async observe(questions, call) {
      const capability = await get();
      if (!("kind" in capability)) return capability.observe(questions, call);
      const { message } = capability;
      return { answers: questions.map(() => ({ kind: "error", code: "Invalid", message })), usage: NO_USAGE };
    },
    async act(action, call) {
      const capability = await get();
      if (!("kind" in capability)) return capability.act(action, call);
      return { answer: { kind: "error", code: "Invalid", message: capability.message }, usage: NO_USAGE };
    },
    close() {
      if (loaded !== undefined) return loaded.close?.();
      // Code that is still loading is closed once it is loaded.
      loading?.then(
        (capability) => capability.close?.(),
        () => undefined,
      );
    },
  };
}

const NO_USAGE = { calls: {}, throttled: 0, waitedMs: 0 };
