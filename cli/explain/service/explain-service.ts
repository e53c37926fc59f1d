import { reportOfDryRun } from "#cli/explain/decide-dry.ts";
import { type ServiceExplanation, serviceExplanationOf } from "#cli/explain/service/explanation.ts";
import { readRelated, readService } from "#cli/explain/service/read-service.ts";
import type { ReachableCluster } from "#cli/reach-cluster.ts";
import type { StopStatus } from "#cli/stop-status.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { describeLoadBalancer } from "#clouds/describe-load-balancer.ts";
import { settingsOf, watchContextOf } from "#config/cluster.ts";
import type { Observation } from "#core/capability.ts";
import type { ObjectName } from "#core/resources/resource.ts";
import { HoldingsQuestion } from "#core/service/holdings.ts";
import { LOAD_BALANCERS, type LoadBalancerQuestion } from "#core/service/model.ts";
import { needsCleanup, wantsLoadBalancer } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { targetNodesOf } from "#core/service/target-nodes.ts";
import type { Settings } from "#core/settings.ts";
import { serviceController } from "#functions/parts/service-controller.ts";

/**
 * What the service-lb-controller would do about a Service, decided by the very function that would do it, told to write nothing; also
 * where it is not on for the cluster, as one wants to know before it is.
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
  const overheard = overhear(cloud);
  const settings = settingsOf(cluster);
  const object = serviceController.snapshot(service, watchContextOf(cluster));
  // A refresh asks the cloud whatever our annotation says.
  const report = await reportOfDryRun(reached, overheard.cloud, serviceController, {
    reason: "refresh",
    objects: [object],
    related,
  });
  const nodes = targetNodesOf(related)?.nodes ?? [];
  const observed = overheard.observed() ?? (await observe(cloud, service, { nodes, settings }, signal));
  const described =
    observed?.kind === "observed" ? await describeLoadBalancer(service, observed.state, settings) : undefined;
  const isOn = cluster.controllers.includes(serviceController.name);
  return serviceExplanationOf({
    ...{ cluster: cluster.name, stops, service, isOn, observed, described, report },
    loadBalancerClass: settings.loadBalancerClass,
  });
}

/** The cloud, and what it last answered about the Service. */
function overhear(cloud: Cloud): { readonly cloud: Cloud; observed(): Observation | undefined } {
  let observed: Observation | undefined;
  const loadBalancers = cloud.capabilities?.[LOAD_BALANCERS];
  if (loadBalancers === undefined) return { cloud, observed: () => undefined };
  const overheard: typeof loadBalancers = {
    act: (action, call) => loadBalancers.act(action, call),
    async observe(questions, call) {
      const result = await loadBalancers.observe(questions, call);
      // The load balancers of the whole cluster may be counted as well.
      if (!HoldingsQuestion.safeParse(questions[0]).success) observed = result.answers[0];
      return result;
    },
  };
  const capabilities = { ...cloud.capabilities, [LOAD_BALANCERS]: overheard };
  return { cloud: { ...cloud, capabilities }, observed: () => observed };
}

/** What is refused before the cloud is asked may have a load balancer all the same. */
async function observe(
  cloud: Cloud,
  service: Service,
  { nodes, settings }: { readonly nodes: LoadBalancerQuestion["nodes"]; readonly settings: Settings },
  signal: AbortSignal,
): Promise<Observation | undefined> {
  const wanted = wantsLoadBalancer(service, settings);
  if (!wanted && !needsCleanup(service, settings)) return undefined;
  const question: LoadBalancerQuestion = { service, wanted, nodes: wanted ? nodes : [] };
  const result = await cloud.capabilities?.[LOAD_BALANCERS]?.observe([question], { signal, share: 1 });
  return result?.answers[0];
}
