import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import { createEntrance } from "#clouds/entrance.ts";
import type { Turn } from "#clouds/http/api.ts";
import { type HttpCloudOptions, worldOf } from "#clouds/http/cloud-options.ts";
import { createMeter } from "#clouds/http/meter.ts";
import { abortedBefore, answerOf } from "#clouds/http/outcome.ts";
import { type Claim, settleGuesses } from "#clouds/listed/settle-guesses.ts";
import { loadedCapability } from "#clouds/loaded-capability.ts";
import { createOciApis } from "#clouds/oci/api.ts";
import { checkConfiguration } from "#clouds/oci/check-configuration.ts";
import { findControl, toControl } from "#clouds/oci/control.ts";
import { instanceOf } from "#clouds/oci/instance.ts";
import { createInventory } from "#clouds/oci/inventory.ts";
import type { OciCloudConfig } from "#clouds/oci/kind.ts";
import { gatherMembers, type KnownPrimaries } from "#clouds/oci/members.ts";
import { type KeySource, privateKeyOf } from "#clouds/oci/private-key.ts";
import { queryOf, subjectOf } from "#clouds/oci/query.ts";
import type { Resolution } from "#clouds/oci/resolution.ts";
import { resolve, type Sources } from "#clouds/oci/resolve.ts";
import { resolutionOf, UNKNOWN, type Verdict, verdictOn, wantedOf } from "#clouds/oci/verdict.ts";
import type { InstanceAnswer, PositiveControl } from "#core/instance.ts";
import { messageOf } from "#core/message-of.ts";
import type { Node } from "#core/node/node.ts";
import { findDifference, readPlace } from "#core/node-lifecycle/place.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";

/** Makes the cloud with the signing key that its configuration names; rejects where there is none, or none that is usable. */
export async function loadOciCloud(config: OciCloudConfig, options: HttpCloudOptions = {}): Promise<Cloud> {
  const key = privateKeyOf(
    config,
    { clusterName: options.clusterName ?? config.auth.region },
    options.wallClock,
  );
  await key();
  return createOciCloud(config, key, options);
}

/** Oracle Cloud Infrastructure: instances of the configured compartments and VCN. Budgets and lists live as long as what is returned. */
export function createOciCloud(
  config: OciCloudConfig,
  key: KeySource,
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random, maxListAgeMs } = worldOf(options);
  const { clusterName } = options;
  const apis = createOciApis(config, key, { sleep, now, wallClock, random, clusterName });
  // Load balancers ask for nodes within their own call, which has its share once.
  const enter = createEntrance(apis);
  const sources = { inventory: createInventory(apis.iaas, now), config, maxListAgeMs, now };
  const primaries: KnownPrimaries = new Map();
  const cluster = clusterName ?? DEFAULT_SETTINGS.cluster;
  const cloud: Cloud = {
    provider: "oci",
    capabilities: {
      // Not in the bundles of functions that have no use for them (build/build.ts).
      loadBalancers: loadedCapability(async () => {
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
      if (nodes.length === 0 || call.signal.aborted) return allAnswer(abortedBefore("Oracle"));
      const leave = enter(call);
      try {
        const answers = await answersFor(
          nodes,
          call,
          { ...sources, primaries },
          { signal: call.signal, meter },
        );
        return { answers, usage: meter.usage() };
      } catch (error) {
        // Nothing is known to come here; but the contract is that nobody's batch rejects.
        return allAnswer({ kind: "error", code: "Unavailable", message: `Oracle: ${messageOf(error)}` });
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

async function answersFor(
  nodes: readonly Node[],
  call: CloudCall,
  sources: Sources & { readonly primaries: KnownPrimaries },
  turn: Turn,
): Promise<InstanceAnswer[]> {
  const { config, now, maxListAgeMs } = sources;
  const beganAt = now();
  const queries = new Map(nodes.map((node) => [node, queryOf(node, config)]));
  const resolved = await resolve(new Set(queries.values()), sources, turn);
  const resolutions = settleGuesses(
    new Map(nodes.map((node) => [node, resolutionOf(queries.get(node), resolved)])),
    claimOf,
    "instance",
  );
  const members = await gatherMembers(
    wantedOf(resolutions, config),
    { ...sources, since: beganAt - maxListAgeMs, beganAt },
    turn,
  );
  const verdicts = nodes.map((node) => verdictOn(node, resolutions.get(node), members, config));
  const controls =
    call.control === true
      ? await findControls(nodes, { verdicts, resolutions }, sources, beganAt, turn)
      : undefined;
  return nodes.map((node, index) => {
    const query = queries.get(node);
    const subject = query === undefined ? `node ${node.metadata.name}` : subjectOf(node, query);
    return answerFor(node, verdicts[index] ?? UNKNOWN, { subject, control: controls?.get(node), config });
  });
}

function claimOf(resolution: Resolution): Claim | undefined {
  return resolution.kind === "instance" ? { id: resolution.instance.id, guess: resolution.guess } : undefined;
}

interface Said {
  readonly subject: string;
  readonly control: PositiveControl | undefined;
  readonly config: OciCloudConfig;
}

function answerFor(node: Node, verdict: Verdict, { subject, control, config }: Said): InstanceAnswer {
  switch (verdict.kind) {
    case "fault":
      return answerOf(verdict.fault, subject);
    case "absent": {
      const message = `${subject}: ${verdict.message}`;
      return { kind: "not-found", message, ...(control === undefined ? {} : { control }) };
    }
    case "member": {
      const instance = instanceOf(verdict.member, node, config);
      if (instance.kind === "fault") return answerOf(instance.fault, subject);
      return { kind: "found", instance: instance.value };
    }
  }
}

interface Judged {
  /** In the order of the nodes. */
  readonly verdicts: readonly Verdict[];
  readonly resolutions: ReadonlyMap<Node, Resolution>;
}

/**
 * Finds the proof for each node that was missed: a member of the batch in the place that the node was seen in, else an instance of the
 * lists. How long it takes must not tell an instance of somebody else's from none, so that it is looked for with both.
 */
async function findControls(
  nodes: readonly Node[],
  { verdicts, resolutions }: Judged,
  sources: Sources,
  since: number,
  turn: Turn,
): Promise<ReadonlyMap<Node, PositiveControl>> {
  const { config } = sources;
  const missed = nodes.filter((_, index) => {
    const verdict = verdicts[index];
    return verdict?.kind === "absent" || (verdict?.kind === "fault" && verdict.fault.code === "Foreign");
  });
  const members = verdicts.flatMap((verdict) =>
    verdict.kind === "member" ? [toControl(verdict.member.instance, verdict.member.vcn, config)] : [],
  );
  const inPlace = (node: Node): PositiveControl | undefined =>
    members.find((control) => findDifference(readPlace(node), control) === undefined);
  const asked = new Set(
    [...resolutions.values()].flatMap((each) => (each.kind === "instance" ? [each.instance.id] : [])),
  );
  const listed = missed.every((node) => inPlace(node) !== undefined)
    ? undefined
    : await findControl(asked, sources, since, turn);
  return new Map(
    missed.flatMap((node) => {
      const control = inPlace(node) ?? listed ?? members[0];
      return control === undefined ? [] : [[node, control]];
    }),
  );
}
