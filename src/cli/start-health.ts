import { randomBytes } from "node:crypto";
import { EVENT_VERSION, type Event } from "#core/event.ts";
import type { Invoker } from "#delivery/invoker.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import {
  createPlatformHealth,
  type PlatformNote,
  type ProcessPlatformHealth,
} from "#relay/delivery/platform-health.ts";

export interface StartHealthOptions {
  /** The invoker that is probed; the caller closes it. */
  readonly invoker: Pick<Invoker, "invoke">;
  readonly clusters: () => number;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** Called whenever a function fails or recovers. */
  readonly onChange?: () => void;
  readonly clock?: Clock;
}

/** Starts the health check of the function platform; its changes are log lines. */
export function startHealth(options: StartHealthOptions): ProcessPlatformHealth {
  const { invoker, log, clock = systemClock } = options;
  const identity = randomBytes(4).toString("hex");
  let probes = 0;
  return createPlatformHealth({
    clock,
    clusters: options.clusters,
    async probe(failure, signal) {
      probes += 1;
      const invocation = await invoker.invoke(
        createProbeEvent(failure, `probe.${identity}.${probes}`),
        signal,
      );
      return invocation.kind === "report";
    },
    onChange(note) {
      log(formatPlatformNote(note));
      options.onChange?.();
    },
  });
}

function formatPlatformNote(note: PlatformNote): Readonly<Record<string, unknown>> {
  if (note.kind === "failed") {
    const { failure, durationMs } = note;
    const { controller, code } = failure;
    const message = `its events are handled in this process until the platform has been well for five minutes: ${failure.message}`;
    return { level: "error", event: "PlatformFailed", controller, code, durationMs, message };
  }
  const { controller, durationMs } = note;
  return { level: "info", event: "PlatformBack", controller, durationMs };
}

/**
 * Creates an event that starts a function without any work. Its only object is invalid, which the function
 * reports, and it is a dry run.
 */
export function createProbeEvent(
  of: Pick<Event, "controller" | "cluster" | "clusterHash">,
  id: string,
): Event {
  const { controller, cluster, clusterHash } = of;
  return {
    ...{ version: EVENT_VERSION, id, cluster, clusterHash, controller },
    reason: "replay",
    objects: [{}],
    dryRun: true,
  };
}
