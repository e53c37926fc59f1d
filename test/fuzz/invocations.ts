import { AsyncLocalStorage } from "node:async_hooks";
import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { Event } from "#core/event.ts";
import { Report } from "#core/report.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import type { Invocation, Invoker } from "#platforms/invoker.ts";
import type { Fate } from "#test/fuzz/steps.ts";
import { parseIdentity } from "#test/relay/report-builders.ts";

/** The functions of a world in this process, and the faults of an invocation on its way. */
export interface Invocations {
  /** Returns the invoker for one life of one relay, and tracks its invocations in flight. */
  invoker(relay: string): Invoker;
  /**
   * Sets the fate of the next invocation; a killed function sends `after` requests to the API server first.
   */
  next(fate: Fate, after: number): void;
  forgetFates(): void;
  count(): number;
}

export interface InvocationOptions {
  readonly cluster: Cluster;
  readonly controllers: readonly Controller[];
  readonly cloud: Cloud;
  /** Returns a transport with the identity of a controller's function. */
  readonly transportOf: (controller: Controller) => Transport;
  readonly clock: Clock;
  /** The duration of a request to the API server. */
  readonly latencyMs: () => number;
  /** Reports a broken invariant. */
  readonly violated: (what: string) => void;
}

const NEVER = new AbortController().signal;

/**
 * How long a function whose answer was lost may still write, and the delay of a platform's second delivery.
 */
const SETTLE_MS = 20_000;
const AGAIN_AFTER_MS = 3_000;
const LATE_MS = 1_500;

/** Creates the functions. Each invocation is a newly started function without state of earlier ones. */
export function createInvocations(options: InvocationOptions): Invocations {
  const { cluster, clock } = options;
  const fates: { readonly fate: Fate; readonly after: number }[] = [];
  let invocations = 0;

  /** The transport of the running invocation. */
  const way = new AsyncLocalStorage<Transport>();
  const functions = new Map(
    options.controllers.map((controller) => [
      controller.name,
      {
        transport: options.transportOf(controller),
        invoke: createControllerFunction(controller, {
          clusters: async (name) => (name === cluster.name ? cluster : undefined),
          cloud: async () => options.cloud,
          api: async () => way.getStore() ?? Promise.reject(new Error("no invocation is at work")),
          now: () => clock.wallTime(),
        }),
      },
    ]),
  );

  /** Carries an event out. A killed function sends this many requests and never answers. */
  async function carryOut(event: Event, requests = Number.POSITIVE_INFINITY): Promise<unknown> {
    const found = functions.get(event.controller);
    if (found === undefined) throw new Error(`there is no ${event.controller}`);
    const killed = Promise.withResolvers<never>();
    let left = requests;
    const api: Transport = {
      ...found.transport,
      send: async (request) => {
        await pause(clock, options.latencyMs(), NEVER);
        if (left <= 0) {
          killed.reject(new Error("Runtime.ExitError"));
          return new Promise(() => {});
        }
        left -= 1;
        return found.transport.send(request);
      },
    };
    const context = { awsRequestId: event.id, getRemainingTimeInMillis: () => 60_000 };
    const answered = way.run(api, () => found.invoke(JSON.parse(JSON.stringify(event)), context));
    return Promise.race([answered, killed.promise]);
  }

  async function meet(event: Event): Promise<Invocation> {
    const { fate, after } = fates.shift() ?? { fate: undefined, after: 0 };
    try {
      switch (fate) {
        case "refused":
          return failed("Throttled", 0);
        case "crashed":
          return failed("FunctionError", 0);
        case "killed":
          return invocationOf(await carryOut(event, after));
        case "lost":
          await carryOut(event);
          return failed("TimedOut", SETTLE_MS);
        case "twice": {
          const [answer] = await Promise.all([carryOut(event), carryOut(event)]);
          return invocationOf(answer);
        }
        case "again":
          void pause(clock, AGAIN_AFTER_MS, NEVER).then(() => carryOut(event));
          return invocationOf(await carryOut(event));
        case "late":
          await pause(clock, LATE_MS, NEVER);
          return invocationOf(await carryOut(event));
        case undefined:
          return invocationOf(await carryOut(event));
      }
    } catch {
      return failed("FunctionError", 0);
    }
  }

  return {
    next: (fate, after) => void fates.push({ fate, after }),
    forgetFates: () => void fates.splice(0),
    count: () => invocations,
    invoker(relay) {
      /** The end of possible writes, by controller and uid. */
      const busyUntilMs = new Map<string, number>();
      return {
        async invoke(event, signal) {
          invocations += 1;
          const keys = event.objects.map((object) => `${event.controller} ${parseIdentity(object).uid}`);
          for (const key of keys) {
            if ((busyUntilMs.get(key) ?? 0) > clock.now())
              options.violated(`${relay} sent ${key} while it was in flight`);
            busyUntilMs.set(key, Number.POSITIVE_INFINITY);
          }
          const invocation = await meet(event);
          const settleMs = invocation.kind === "failed" ? invocation.settleMs : 0;
          for (const key of keys) {
            if (settleMs > 0 && !signal.aborted) busyUntilMs.set(key, clock.now() + settleMs);
            else busyUntilMs.delete(key);
          }
          return invocation;
        },
        close: () => Promise.resolve(),
      };
    },
  };
}

function failed(code: string, settleMs: number): Invocation {
  return { kind: "failed", code, message: "by the fuzzer", settleMs };
}

function invocationOf(answer: unknown): Invocation {
  return { kind: "report", report: Report.parse(JSON.parse(JSON.stringify(answer))) };
}
