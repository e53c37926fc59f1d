import type { MiddlewareObj } from "@middy/core";
import type { Capability, Cloud, OnCloudRequest } from "#clouds/cloud.ts";
import type { Event } from "#core/event.ts";
import type { Report } from "#core/report.ts";
import { parseTraceParent } from "#core/trace-context.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import type { FunctionTracer } from "#functions/parts/function-tracer.ts";
import { observeTransport } from "#kube/client/observed-transport.ts";
import { buildApiServerSpan, createRequestSpans, type RequestSpans } from "#tracing/request-spans.ts";
import { cut } from "#tracing/span.ts";
import type { ActiveSpan } from "#tracing/tracer.ts";

/** Traces the invocations of a function. */
export interface TracedInvocations {
  /** Records one span for each valid event and sends it before the answer; no span without a tracer. */
  readonly middleware: MiddlewareObj<Event, Report>[];
  /**
   * Wraps dependencies so that each cloud and API server request is recorded within the event's span; returns
   * them unchanged without a tracer.
   */
  traced(dependencies: Dependencies, event: Event): Dependencies;
}

/** Creates the tracing of invocations; it does nothing without a tracer. */
export function traceInvocations(tracer: FunctionTracer | undefined): TracedInvocations {
  if (tracer === undefined) return { middleware: [], traced: (dependencies) => dependencies };
  const traces = new WeakMap<Event, ActiveTrace>();

  async function end(event: Event, attributes: Attributes, error?: string): Promise<void> {
    const trace = traces.get(event);
    if (trace === undefined) return;
    traces.delete(event);
    trace.requests.end();
    trace.span.end(attributes, error);
    await tracer?.flush();
  }

  return {
    middleware: [
      {
        before({ event, context }) {
          const { trace, cluster, controller, id, reason, objects } = event;
          const span = tracer.start({
            name: "function",
            kind: "server",
            parent: trace === undefined ? undefined : parseTraceParent(trace),
            attributes: {
              "k8s.cluster.name": cut(cluster),
              "serverless_ccm.controller": controller,
              "serverless_ccm.reason": reason,
              "serverless_ccm.objects": objects.length,
              "serverless_ccm.event_id": id,
              "faas.invocation_id": context.awsRequestId,
            },
          });
          traces.set(event, { span, requests: createRequestSpans(span) });
        },
        async after({ event, response }) {
          await end(event, response ? buildReportAttributes(response) : {});
        },
        async onError({ event, error }) {
          await end(event, {}, error?.name ?? "Error");
        },
      },
    ],
    traced(dependencies, event) {
      const trace = traces.get(event);
      return trace?.span.context.sampled === true
        ? traceDependencies(dependencies, trace.requests)
        : dependencies;
    },
  };
}

interface ActiveTrace {
  readonly span: ActiveSpan;
  readonly requests: RequestSpans;
}

type Attributes = Readonly<Record<string, number>>;

function traceDependencies(dependencies: Dependencies, requests: RequestSpans): Dependencies {
  return {
    ...dependencies,
    async cloud(cluster) {
      const cloud = await dependencies.cloud(cluster);
      return traceCloud(cloud, ({ operation, durationMs, code }) =>
        requests.single({
          name: operation,
          kind: "client",
          startMs: Date.now() - durationMs,
          durationMs,
          attributes: {
            "cloud.provider": cloud.provider,
            "serverless_ccm.throttled": code === "Throttled",
          },
          error: code,
        }),
      );
    },
    async api(cluster) {
      return observeTransport(await dependencies.api(cluster), (request) =>
        requests.alike(buildApiServerSpan(request)),
      );
    },
  };
}

/** Returns the objects' outcomes and the waiting times as attributes. */
function buildReportAttributes({ objects, durations, usage }: Report): Attributes {
  const of = (outcome: string): number => objects.filter((each) => each.outcome === outcome).length;
  return {
    "serverless_ccm.changed": of("changed"),
    "serverless_ccm.unchanged": of("unchanged"),
    "serverless_ccm.skipped": of("skipped"),
    "serverless_ccm.retry": of("retry"),
    "serverless_ccm.cloud_ms": durations.cloudMs,
    "serverless_ccm.cloud_waited_ms": usage.cloud.waitedMs,
    "serverless_ccm.cluster_ms": durations.clusterMs,
  };
}

/** Wraps a cloud so that each request is reported to `onRequest`. */
function traceCloud(cloud: Cloud, onRequest: OnCloudRequest): Cloud {
  const { capabilities } = cloud;
  return {
    provider: cloud.provider,
    instances: (nodes, call) => cloud.instances(nodes, { ...call, onRequest }),
    ...(capabilities === undefined
      ? {}
      : {
          capabilities: Object.fromEntries(
            Object.entries(capabilities).map(([name, capability]) => [
              name,
              capability && traceCapability(capability, onRequest),
            ]),
          ),
        }),
    close: () => cloud.close(),
  };
}

function traceCapability(capability: Capability, onRequest: OnCloudRequest): Capability {
  return {
    observe: (questions, call) => capability.observe(questions, { ...call, onRequest }),
    act: (action, call) => capability.act(action, { ...call, onRequest }),
  };
}
