import type { Transport } from "#kube/client/transport.ts";

/** The process that carries a function out has ended: nothing is answered any more. */
class Killed extends Error {}

/** The life of a process that carries a function out, in steps: requests to the API server and calls of the cloud. */
export interface Life {
  /** Comes before each; rejects where the process has ended. */
  step(): Promise<void>;
  /** Called after each change: a process killed directly afterwards never sees the answer. */
  landed(): void;
  /** Wraps a transport so that its requests are steps. */
  transport(api: Transport): Transport;
  /**
   * The API server has answered all that was sent, heard or not: what comes next finds the world as the
   * process left it.
   */
  over(): Promise<void>;
  taken(): number;
}

/** Creates a life of so many steps before the kill; `onStep` is called before each. */
export function createLife(
  steps = Number.POSITIVE_INFINITY,
  onStep?: (step: number) => Promise<unknown> | undefined,
): Life {
  let taken = 0;
  const sent = new Set<Promise<unknown>>();
  const landed = (): void => {
    if (taken >= steps) throw new Killed("killed");
  };
  const step = async (): Promise<void> => {
    if (taken >= steps) throw new Killed("killed");
    taken += 1;
    await onStep?.(taken);
  };
  return {
    step,
    landed,
    transport: (api) => ({
      ...api,
      async send(request) {
        await step();
        const sending = api.send(request);
        sent.add(sending);
        const answer = await sending;
        if (request.method !== "GET") landed();
        return answer;
      },
    }),
    async over() {
      await Promise.allSettled(sent);
    },
    taken: () => taken,
  };
}

/** Ignores the error of a killed process; rethrows others. */
export function ignoreKilled(error: unknown): undefined {
  if (!(error instanceof Killed)) throw error;
}
