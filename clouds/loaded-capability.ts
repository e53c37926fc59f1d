import type { Capability } from "#clouds/cloud.ts";
import { messageOf } from "#core/message-of.ts";

/** A capability, and how its connections are closed. */
export interface ClosableCapability extends Capability {
  close(): void;
}

/** A capability whose code, and with it whatever that needs, is loaded when it is first used; what fails to load is an error of each. */
export function loadedCapability(load: () => Promise<ClosableCapability>): ClosableCapability {
  let loading: Promise<ClosableCapability> | undefined;
  let loaded: ClosableCapability | undefined;
  const get = async (): Promise<
    ClosableCapability | { readonly kind: "failed"; readonly message: string }
  > => {
    loading ??= load();
    try {
      loaded = await loading;
      return loaded;
    } catch (error) {
      loading = undefined;
      return { kind: "failed", message: `the capability cannot be loaded: ${messageOf(error)}` };
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
      if (loaded !== undefined) return loaded.close();
      // What is being loaded is closed once it is there.
      loading?.then(
        (capability) => capability.close(),
        () => undefined,
      );
    },
  };
}

const NO_USAGE = { calls: {}, throttled: 0, waitedMs: 0 };
