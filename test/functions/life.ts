import type { Transport } from "#kube/client/transport.ts";

/** The process that carries a function out has ended: nothing is answered any more. */
class Killed extends Error {}

/** The life of a process that carries a function out, in steps: requests to the API server and calls of the cloud. */
export interface Life {
  /** Comes before each; rejects where the process has ended. */
  step(): Promise<void>;
  /** Comes after each that changes something: killed right after it has landed, its answer reaches nobody. */
  landed(): void;
  /** A way to the API server whose requests are steps. */
  transport(api: Transport): Transport;
  /** The API server has answered all that was sent, heard or not: what comes next finds the world as the process left it. */
  over(): Promise<void>;
  taken(): number;
}

/** A life of so many steps, and then the process is killed; `onStep` is told of each as it is taken. */
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

/** Nothing is heard of what was killed; whatever else went wrong is thrown on. */
export function nothingOfTheKilled(error: unknown): undefined {
  if (!(error instanceof Killed)) throw error;
}
