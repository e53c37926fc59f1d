import type { Clock } from "#kube/follow/clock.ts";
import type { ControllerRelay } from "#relay/controller-relay.ts";
import type { ObjectIdentity, Queue } from "#relay/work/types.ts";

/** The dependencies and limits of a cluster's scheduler. */
export interface SchedulerOptions {
  readonly controllers: readonly ControllerRelay[];
  readonly clock: Clock;
  /** The limit of the cluster's invocations in flight. */
  readonly maxInvocations: number;
  /** Reads objects again whose watch event is late. */
  readonly read: (controller: ControllerRelay, objects: readonly ObjectIdentity[]) => void;
}

/** Decides which controller of a cluster sends its next batch, and when. */
export interface Scheduler {
  /** Sends what is due now, and sets the timer for what becomes due later. */
  run(): void;
  /** Sends nothing any more. */
  stop(): void;
}

/** Creates the scheduler of one cluster. */
export function createScheduler(options: SchedulerOptions): Scheduler {
  const { controllers, clock, maxInvocations } = options;
  let cancelTimer: () => void = () => {};
  let isStopped = false;

  function run(): void {
    if (isStopped) return;
    cancelTimer();
    const nowMs = clock.now();
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const controller of controllers) {
      const reads = controller.advance(nowMs);
      if (reads.length > 0) options.read(controller, reads);
      soonestMs = Math.min(soonestMs, (controller.nextMs() ?? Number.POSITIVE_INFINITY) - nowMs);
    }
    soonestMs = Math.min(soonestMs, sendAll("work", nowMs), sendAll("look", nowMs));
    if (soonestMs !== Number.POSITIVE_INFINITY) cancelTimer = clock.after(Math.max(0, soonestMs), run);
  }

  /**
   * Sends every batch that closes now, taking turns between controllers. Returns how long the next batch
   * lingers.
   */
  function sendAll(queue: Queue, nowMs: number): number {
    for (;;) {
      let next: ControllerRelay | undefined;
      let soonestMs = Number.POSITIVE_INFINITY;
      for (const controller of controllers) {
        if (!controller.isReady(queue)) continue;
        const waitMs = controller.closesInMs(queue, countFreePermits(queue, controller, nowMs), nowMs);
        if (waitMs === undefined) {
          const patienceMs = queue === "work" ? controller.patienceMs(nowMs) : 0;
          if (patienceMs > 0) soonestMs = Math.min(soonestMs, patienceMs);
          continue;
        }
        if (waitMs > 0) soonestMs = Math.min(soonestMs, waitMs);
        else if (next === undefined || isBefore(controller, next)) next = controller;
      }
      if (next === undefined || !next.send(queue)) return soonestMs;
    }
  }

  /**
   * Resyncs and monitoring come after work. They leave one permit free for new work if the cluster has more
   * than one.
   */
  function countFreePermits(queue: Queue, controller: ControllerRelay, nowMs: number): number {
    const free = maxInvocations - sumInvocations(controllers);
    if (free <= 0) return 0;
    if (queue === "work" && controller.patienceMs(nowMs) === 0) return free;
    const isBehindWork = controllers.some(
      (other) => other.isReady("work") && (queue === "look" || other.patienceMs(nowMs) === 0),
    );
    return isBehindWork ? 0 : free - (maxInvocations > 1 ? 1 : 0);
  }

  return {
    run,
    stop() {
      isStopped = true;
      cancelTimer();
    },
  };
}

/** Returns the number of the controllers' invocations in flight. */
export function sumInvocations(controllers: readonly ControllerRelay[]): number {
  let sum = 0;
  for (const controller of controllers) sum += controller.invocations();
  return sum;
}

/** Orders controllers whose batches close: fewest in flight first, then the longest wait for a turn. */
function isBefore(one: ControllerRelay, other: ControllerRelay): boolean {
  const difference = one.invocations() - other.invocations();
  return difference === 0 ? one.sentMs() < other.sentMs() : difference < 0;
}
