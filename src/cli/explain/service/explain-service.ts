import { reportOfDryRun } from "#cli/explain/decide-dry.ts";
import { buildServiceExplanation, type ServiceExplanation } from "#cli/explain/service/explanation.ts";
import { readRelated, readService } from "#cli/explain/service/read-service.ts";
import type { ReachableCluster } from "#cli/reach-cluster.ts";
import type { StopStatus } from "#cli/stop-status.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { findCloudProvider } from "#clouds/providers.ts";
import { buildWatchContext, selectSettings } from "#config/cluster.ts";
import type { Observation } from "#core/capability.ts";
import type { ObjectName } from "#core/resources/resource.ts";
import { HoldingsQuestion } from "#core/service/holdings.ts";
import { LOAD_BALANCERS, type LoadBalancerQuestion } from "#core/service/model.ts";
import { needsCleanup, needsLoadBalancer } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { selectTargetNodes } from "#core/service/target-nodes.ts";
import type { Settings } from "#core/settings.ts";
import { serviceController } from "#functions/parts/service-controller.ts";

/**
 * Explains what the service-lb-controller would do about a Service: the real function decides in a dry run.
 * This works before the controller is enabled, too.
 */
export async function explainService(
  reached: ReachableCluster,
  cloud: Cloud,
  at: Required<ObjectName>,
  signal: AbortSignal,
  stops?: StopStatus | undefined,
): Promise<ServiceExplanation> {
  const { cluster } = reached;
  const service = await readService(reached, at, signal);
  const related = await readRelated(reached, serviceController.related, signal);
  const overheard = recordObservation(cloud);
  const settings = selectSettings(cluster);
  const object = serviceController.snapshot(service, buildWatchContext(cluster));
  // A refresh asks the cloud whatever our annotation says.
  const report = await reportOfDryRun(reached, overheard.cloud, serviceController, {
    reason: "refresh",
    objects: [object],
    related,
  });
  const nodes = selectTargetNodes(related)?.nodes ?? [];
  const observed = overheard.observed() ?? (await observe(cloud, service, { nodes, settings }, signal));
  const described =
    observed?.kind === "observed"
      ? await findCloudProvider(cloud.provider)?.describeLoadBalancer?.(service, observed.state, settings)
      : undefined;
  const isOn = cluster.controllers.includes(serviceController.name);
  return buildServiceExplanation({
    ...{ cluster: cluster.name, stops, service, isOn, observed, described, report },
    loadBalancerClass: settings.loadBalancerClass,
  });
}

/** Wraps the cloud and records its last answer about the Service. */
function recordObservation(cloud: Cloud): { readonly cloud: Cloud; observed(): Observation | undefined } {
  let observed: Observation | undefined;
  const loadBalancers = cloud.capabilities?.[LOAD_BALANCERS];
  if (loadBalancers === undefined) return { cloud, observed: () => undefined };
  const overheard: typeof loadBalancers = {
    act: (action, call) => loadBalancers.act(action, call),
    async observe(questions, call) {
      const result = await loadBalancers.observe(questions, call);
      // Questions may also count the load balancers of the whole cluster.
      if (!HoldingsQuestion.safeParse(questions[0]).success) observed = result.answers[0];
      return result;
    },
  };
  const capabilities = { ...cloud.capabilities, [LOAD_BALANCERS]: overheard };
  return { cloud: { ...cloud, capabilities }, observed: () => observed };
}

/** A Service that is rejected before the cloud is asked may still have a load balancer. */
async function observe(
  cloud: Cloud,
  service: Service,
  { nodes, settings }: { readonly nodes: LoadBalancerQuestion["nodes"]; readonly settings: Settings },
  signal: AbortSignal,
): Promise<Observation | undefined> {
  const wanted = needsLoadBalancer(service, settings);
  if (!wanted && !needsCleanup(service, settings)) return undefined;
  const question: LoadBalancerQuestion = { service, wanted, nodes: wanted ? nodes : [] };
  const result = await cloud.capabilities?.[LOAD_BALANCERS]?.observe([question], { signal, share: 1 });
  return result?.answers[0];
}
