import * as z from "zod";
import type { ReachableCluster } from "#cli/clusters/reach-cluster.ts";
import type { StopStatus } from "#cli/deletion/stop-status.ts";
import { reportOfDryRun } from "#cli/explain/decide-dry.ts";
import { formatNameHint } from "#cli/explain/name-hint.ts";
import { buildServiceExplanation, type ServiceExplanation } from "#cli/explain/service/explanation.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { findCloudProvider } from "#clouds/providers.ts";
import { buildWatchContext, selectSettings } from "#config/cluster.ts";
import type { Observation } from "#core/capability.ts";
import type { Event, RelatedList } from "#core/event.ts";
import { formatCollectionPath, type ObjectName, SERVICES } from "#core/resources/resource.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { HoldingsQuestion } from "#core/service/holdings.ts";
import { LOAD_BALANCERS, type LoadBalancerQuestion } from "#core/service/model.ts";
import { needsCleanup, needsLoadBalancer } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { parseService } from "#core/service/snapshot.ts";
import { selectTargetNodes } from "#core/service/target-nodes.ts";
import type { Settings } from "#core/settings.ts";
import type { Related } from "#core/watch.ts";
import { serviceController } from "#functions/parts/service-controller.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll, listByName } from "#kube/follow/list.ts";

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

/** The limit of Services whose names are compared with an unknown one, and of related objects. */
const MAX_OBJECTS = 10_000;

const MAX_NAME = 320;

const Named = z.object({ metadata: z.object({ namespace: z.string(), name: z.string() }) });

/**
 * Reads a Service with the relay's rights, which allow lists. Rejects an unknown name and names similar ones.
 */
async function readService(
  reached: ReachableCluster,
  at: Required<ObjectName>,
  signal: AbortSignal,
): Promise<Service> {
  const transport = await reached.api("relay");
  const path = formatCollectionPath(SERVICES);
  const fullName = sanitizeText(`${at.namespace}/${at.name}`, MAX_NAME);
  const page = await listByName(transport, path, at, signal);
  if (page.kind === "expired") throw new Error(`Service "${fullName}" cannot be read: the list expired`);
  if (page.kind === "failed")
    throw new Error(`Service "${fullName}" cannot be read: ${page.message}; ${GRANT}`);
  const [found] = page.items;
  if (found !== undefined) {
    const parsed = parseService(found);
    if (parsed.kind === "object") return parsed.object;
    const faults = parsed.faults.map((fault) => `${fault.path}: ${fault.message}`).join("; ");
    throw new Error(`Service "${fullName}" is not what a Service is: ${sanitizeText(faults)}`);
  }
  const project = (service: unknown, kept: number): string | undefined => {
    const metadata = kept < MAX_OBJECTS ? Named.safeParse(service).data?.metadata : undefined;
    return metadata && `${metadata.namespace}/${metadata.name}`;
  };
  const list = await listAll(transport, path, project, signal, { clock: systemClock });
  const names = list.kind === "list" ? list.items : [];
  throw new Error(
    `cluster ${reached.cluster.name} has no Service "${fullName}"${formatNameHint(`${at.namespace}/${at.name}`, names, "Services")}`,
  );
}

const GRANT = "the relay's right to list Services is in infra/rbac/service-lb-controller/";

/** Reads the related objects that an event would carry; rejects if any cannot be listed. */
async function readRelated(
  reached: ReachableCluster,
  related: readonly Related[],
  signal: AbortSignal,
): Promise<NonNullable<Event["related"]>> {
  const transport = await reached.api("relay");
  const lists = related.map(async ({ resource, project }): Promise<[string, RelatedList]> => {
    const path = formatCollectionPath(resource);
    const keep = (object: unknown, kept: number): unknown =>
      kept < MAX_OBJECTS ? project(object) : undefined;
    const list = await listAll(transport, path, keep, signal, { clock: systemClock });
    if (list.kind === "failed") throw new Error(`${resource.name} cannot be listed: ${list.message}`);
    const items: unknown[] = [...list.items];
    return [resource.name, { resourceVersion: list.resourceVersion, items }];
  });
  return Object.fromEntries(await Promise.all(lists));
}
