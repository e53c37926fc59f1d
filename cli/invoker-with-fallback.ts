import type { FallbackParts } from "#cli/fallback.ts";
import { log, type ServeOptions } from "#cli/serve.ts";
import { startHealth } from "#cli/start-health.ts";
import type { ProcessTracing } from "#cli/start-tracing.ts";
import type { Event } from "#core/event.ts";
import type { LambdaInvoker } from "#delivery/invoke-lambda.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { createFallbackInvoker } from "#relay/delivery/fallback-invoker.ts";

/**
 * Creates an invoker of the deployed functions that uses the same functions in this process while the
 * platform fails.
 */
export function createInvokerWithFallback(
  invoker: LambdaInvoker,
  { inProcess }: Pick<FallbackParts, "inProcess">,
  tracing: Pick<ProcessTracing, "invoker" | "tracer">,
): Pick<ServeOptions, "invoker" | "dryRun" | "fallback" | "tracer"> {
  let clusters = (): number => 0;
  let onEvent = (_: Event): void => {};
  const health = startHealth({ invoker, clusters: () => clusters(), log });
  const either = createFallbackInvoker(invoker, inProcess, {
    ...{ health, clock: systemClock },
    onEvent: (event) => onEvent(event),
  });
  return {
    invoker: tracing.invoker({
      invoke: either.invoke,
      async close() {
        await health.close();
        await either.close();
      },
    }),
    ...{ dryRun: invoker.dryRun, tracer: tracing.tracer },
    fallback(relay, metrics) {
      clusters = () => relay.status().length;
      onEvent = ({ cluster, controller }) => metrics.fellBack(cluster, controller);
      return health.failing;
    },
  };
}
