import type { Cloud, CloudCall, ConfigurationCheck } from "#clouds/cloud.ts";
import { buildDependencies, type HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import { type CallContext, createMeter } from "#clouds/http/meter.ts";
import { createAbortedAnswer, type Fault, toErrorAnswer } from "#clouds/http/outcome.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import { createLazyCapability } from "#clouds/lazy-capability.ts";
import { type Claim, settleGuesses } from "#clouds/listed/listing.ts";
import { createOciApis, type OciApi } from "#clouds/oci/api.ts";
import type { OciCloudConfig } from "#clouds/oci/config.ts";
import { buildInstance } from "#clouds/oci/instance.ts";
import { createInventory } from "#clouds/oci/inventory.ts";
import { gatherMembers } from "#clouds/oci/members.ts";
import {
  buildNodeResult,
  collectRequests,
  getResolution,
  type NodeResult,
  UNKNOWN,
} from "#clouds/oci/node-result.ts";
import { createKeySource, type KeySource } from "#clouds/oci/private-key.ts";
import { buildQuery, formatSubject, type KnownPrimaries, type Resolution } from "#clouds/oci/query.ts";
import { isNotFound } from "#clouds/oci/read-error.ts";
import { findRegion, KNOWN_REGIONS } from "#clouds/oci/regions.ts";
import { resolve, type Sources } from "#clouds/oci/resolve.ts";
import { buildVisibilityProbe, findVisibilityProbe } from "#clouds/oci/visibility-probe.ts";
import { DEFAULT_CLUSTER_NAME } from "#core/contracts.ts";
import type { InstanceAnswer, VisibilityProbe } from "#core/instance.ts";
import { findNearest } from "#core/nearest.ts";
import type { Node } from "#core/node/node.ts";
import { findDifference, readLocation } from "#core/node-lifecycle/location.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** Creates the cloud with the configured signing key; rejects without a usable one. */
export async function loadOciCloud(config: OciCloudConfig, options: HttpCloudOptions = {}): Promise<Cloud> {
  const key = createKeySource(
    config,
    { clusterName: options.clusterName ?? config.auth.region },
    options.wallClock,
  );
  await key();
  return createOciCloud(config, key, options);
}

/**
 * Creates the cloud of the configured compartments and VCN on Oracle Cloud Infrastructure. Budgets and lists
 * live as long as the returned object.
 */
export function createOciCloud(
  config: OciCloudConfig,
  key: KeySource,
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random, maxListAgeMs } = buildDependencies(options);
  const { clusterName } = options;
  const apis = createOciApis(config, key, { sleep, now, wallClock, random, clusterName });
  // Load balancers ask for nodes within their own call, whose share counts once.
  const enter = createInvocationShares(apis);
  const sources = { inventory: createInventory(apis.iaas, now), config, maxListAgeMs, now };
  const primaries: KnownPrimaries = new Map();
  const cluster = clusterName ?? DEFAULT_CLUSTER_NAME;
  const cloud: Cloud = {
    provider: "oci",
    capabilities: {
      // Excluded from bundles of functions that do not need it (build/leave-out-plugin.ts).
      loadBalancers: createLazyCapability(async () => {
        const { createLoadBalancers } = await import("#clouds/oci/load-balancers/capability.ts");
        return createLoadBalancers({ config, cluster, apis, enter, instances: cloud.instances, wallClock });
      }),
    },
    async instances(nodes, call) {
      const meter = createMeter(call.onRequest);
      const allAnswer = (answer: InstanceAnswer) => ({
        answers: nodes.map(() => answer),
        usage: meter.usage(),
      });
      if (nodes.length === 0 || call.signal.aborted) return allAnswer(createAbortedAnswer("Oracle"));
      const leave = enter(call);
      try {
        const answers = await buildAnswers(
          nodes,
          call,
          { ...sources, primaries },
          { signal: call.signal, meter },
        );
        return { answers, usage: meter.usage() };
      } catch (error) {
        // No known error reaches this line, but by contract a batch never rejects.
        return allAnswer({
          kind: "error",
          code: "Unavailable",
          message: `Oracle: ${getErrorMessage(error)}`,
        });
      } finally {
        leave();
      }
    },
    checkConfiguration: (signal) => checkConfiguration(config, apis.iaas, { signal, meter: createMeter() }),
    async close() {
      apis.close();
    },
  };
  return cloud;
}

async function buildAnswers(
  nodes: readonly Node[],
  call: CloudCall,
  sources: Sources & { readonly primaries: KnownPrimaries },
  callContext: CallContext,
): Promise<InstanceAnswer[]> {
  const { config, now, maxListAgeMs } = sources;
  const beganAt = now();
  const queries = new Map(nodes.map((node) => [node, buildQuery(node, config)]));
  const resolved = await resolve(new Set(queries.values()), sources, callContext);
  const resolutions = settleGuesses(
    new Map(nodes.map((node) => [node, getResolution(queries.get(node), resolved)])),
    buildClaim,
    "instance",
  );
  const members = await gatherMembers(
    collectRequests(resolutions, config),
    { ...sources, since: beganAt - maxListAgeMs, beganAt },
    callContext,
  );
  const results = nodes.map((node) => buildNodeResult(node, resolutions.get(node), members, config));
  const probes =
    call.control === true
      ? await findVisibilityProbes(nodes, { results, resolutions }, sources, beganAt, callContext)
      : undefined;
  return nodes.map((node, index) => {
    const query = queries.get(node);
    const subject = query === undefined ? `node ${node.metadata.name}` : formatSubject(node, query);
    return buildAnswer(node, results[index] ?? UNKNOWN, { subject, control: probes?.get(node), config });
  });
}

function buildClaim(resolution: Resolution): Claim | undefined {
  return resolution.kind === "instance" ? { id: resolution.instance.id, guess: resolution.guess } : undefined;
}

interface AnswerContext {
  readonly subject: string;
  readonly control: VisibilityProbe | undefined;
  readonly config: OciCloudConfig;
}

function buildAnswer(
  node: Node,
  result: NodeResult,
  { subject, control, config }: AnswerContext,
): InstanceAnswer {
  switch (result.kind) {
    case "fault":
      return toErrorAnswer(result.fault, subject);
    case "absent": {
      const message = `${subject}: ${result.message}`;
      return { kind: "not-found", message, ...(control === undefined ? {} : { control }) };
    }
    case "member": {
      const instance = buildInstance(result.member, node, config);
      if (instance.kind === "fault") return toErrorAnswer(instance.fault, subject);
      return { kind: "found", instance: instance.value };
    }
  }
}

interface NodeResults {
  /** In the order of the nodes. */
  readonly results: readonly NodeResult[];
  readonly resolutions: ReadonlyMap<Node, Resolution>;
}

/**
 * Finds a visibility probe for each missing node: a member of the batch where the node was seen, else an
 * instance of the lists. Foreign and missing instances both need one, so that the duration does not tell them
 * apart.
 */
async function findVisibilityProbes(
  nodes: readonly Node[],
  { results, resolutions }: NodeResults,
  sources: Sources,
  since: number,
  callContext: CallContext,
): Promise<ReadonlyMap<Node, VisibilityProbe>> {
  const { config } = sources;
  const missing = nodes.filter((_, index) => {
    const result = results[index];
    return result?.kind === "absent" || (result?.kind === "fault" && result.fault.code === "Foreign");
  });
  const members = results.flatMap((result) =>
    result.kind === "member" ? [buildVisibilityProbe(result.member.instance, result.member.vcn, config)] : [],
  );
  const findProbeAtLocation = (node: Node): VisibilityProbe | undefined =>
    members.find((control) => findDifference(readLocation(node), control) === undefined);
  const batchIds = new Set(
    [...resolutions.values()].flatMap((each) => (each.kind === "instance" ? [each.instance.id] : [])),
  );
  const listed = missing.every((node) => findProbeAtLocation(node) !== undefined)
    ? undefined
    : await findVisibilityProbe(batchIds, sources, since, callContext);
  return new Map(
    missing.flatMap((node) => {
      const control = findProbeAtLocation(node) ?? listed ?? members[0];
      return control === undefined ? [] : [[node, control]];
    }),
  );
}

/**
 * Checks whether the region answers and shows the compartment and the VCN. Only what every node needs is a
 * fault. A VCN that is not shown may be missing or unreadable, and reading it is needed for nothing else.
 */
export async function checkConfiguration(
  { auth, compartment, vcn, endpoints }: OciCloudConfig,
  iaas: Pick<OciApi, "get">,
  callContext: CallContext,
): Promise<ConfigurationCheck> {
  const query = new URLSearchParams({ compartmentId: compartment, limit: "1" });
  const path = `/20160918/instances?${query}`;
  const listed = await iaas.get(
    { operation: "list instances", template: "GET /instances", path },
    callContext,
  );
  if (listed.kind === "fault") {
    const regionError = endpoints?.iaas === undefined ? checkRegion(auth.region, listed.fault) : undefined;
    if (regionError !== undefined) return { faults: [{ key: "auth.region", message: regionError }] };
    if (!isNotFound(listed.fault)) return { faults: [], unchecked: listed.fault.message };
    const message = `${listed.fault.message}; ${compartment} is not in ${auth.region}'s tenancy, or no policy lets the user read instance-family there`;
    return { faults: [{ key: "compartment", message }] };
  }
  if (vcn === undefined) return { faults: [] };
  const request = { operation: "get vcns", template: "GET /vcns/{id}", path: `/20160918/vcns/${vcn}` };
  const read = await iaas.get(request, callContext);
  if (read.kind === "ok") return { faults: [] };
  const hint = isNotFound(read.fault)
    ? `; ${vcn} is not in ${auth.region}, or no policy lets the user read virtual-network-family`
    : "";
  return { faults: [], unchecked: `vcn: ${read.fault.message}${hint}` };
}

/** Reports a name without a host that is not a known region; a newer region may be unknown. */
function checkRegion(configured: string, { message, status }: Fault): string | undefined {
  const region = findRegion(configured) ?? configured;
  if (status !== undefined || !/\bENOTFOUND\b/.test(message) || KNOWN_REGIONS.includes(region))
    return undefined;
  const nearest = findNearest(region, KNOWN_REGIONS);
  const suggestion = nearest === undefined ? "" : `, perhaps ${nearest}`;
  return `Oracle has no host for the region ${region}${suggestion}; known are ${KNOWN_REGIONS.join(", ")}`;
}
