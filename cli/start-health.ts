import { randomBytes } from "node:crypto";
import type { Invoker } from "#delivery/invoker.ts";
import { probeEvent } from "#delivery/probe-event.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import {
  createPlatformHealth,
  type PlatformNote,
  type ProcessPlatformHealth,
} from "#relay/delivery/platform-health.ts";

export interface StartHealthOptions {
  /** What is probed, and closed by whoever made it. */
  readonly invoker: Pick<Invoker, "invoke">;
  readonly clusters: () => number;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** Told whenever another function fails or is back. */
  readonly onChange?: () => void;
  readonly clock?: Clock;
}

/** The health of the functions' platform, whose changes are lines in the log. */
export function startHealth(options: StartHealthOptions): ProcessPlatformHealth {
  const { invoker, log, clock = systemClock } = options;
  const identity = randomBytes(4).toString("hex");
  let probes = 0;
  return createPlatformHealth({
    clock,
    clusters: options.clusters,
    async probe(failure, signal) {
      probes += 1;
      const invocation = await invoker.invoke(probeEvent(failure, `probe.${identity}.${probes}`), signal);
      return invocation.kind === "report";
    },
    onChange(note) {
      log(lineOf(note));
      options.onChange?.();
    },
  });
}

function lineOf(note: PlatformNote): Readonly<Record<string, unknown>> {
  if (note.kind === "failed") {
    const { failure, durationMs } = note;
    const { controller, code } = failure;
    const message = `its events are handled in this process until the platform has been well for five minutes: ${failure.message}`;
    return { level: "error", event: "PlatformFailed", controller, code, durationMs, message };
  }
  const { controller, durationMs } = note;
  return { level: "info", event: "PlatformBack", controller, durationMs };
}
