import type { Cloud } from "#clouds/cloud.ts";
import { checkRegion } from "#clouds/digitalocean/check-region.ts";
import { findControl } from "#clouds/digitalocean/control.ts";
import { instanceOf } from "#clouds/digitalocean/instance.ts";
import { DEFAULT_API_URL, type DigitalOceanCloudConfig, TOKEN_VARIABLE } from "#clouds/digitalocean/kind.ts";
import { listDroplets, listFew } from "#clouds/digitalocean/list-droplets.ts";
import { subjectOf } from "#clouds/digitalocean/query.ts";
import { readError } from "#clouds/digitalocean/read-error.ts";
import { createReads } from "#clouds/digitalocean/reads.ts";
import { type Resolution, resolve, type Sources } from "#clouds/digitalocean/resolve.ts";
import { settleGuesses } from "#clouds/digitalocean/settle-guesses.ts";
import { type Authorize, createApi, signedBy } from "#clouds/http/api.ts";
import { createBudget, type Quota } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { type HttpCloudOptions, userAgentOf, worldOf } from "#clouds/http/cloud-options.ts";
import { createMeter } from "#clouds/http/meter.ts";
import { answerOf } from "#clouds/http/outcome.ts";
import { tokenOf } from "#clouds/http/token-of.ts";
import type { Environment } from "#clouds/kind.ts";
import { createDirectory } from "#clouds/listed/directory.ts";
import { loadedCapability } from "#clouds/loaded-capability.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { messageOf } from "#core/message-of.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";

/** What DigitalOcean allows: 250 requests a minute and 5,000 an hour for each token. */
const QUOTA: Quota = { burst: 50, refillPerSecond: 4 };

/** With fewer than this left of the hour, nodes that are initialized already are not looked at. */
const RESERVE = 500;

/** Makes the cloud with the token of its file, or of the environment; rejects where there is none, or none that is usable. */
export async function loadDigitalOceanCloud(
  config: DigitalOceanCloudConfig,
  options: HttpCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const authorize = tokenOf(config, {
    variable: TOKEN_VARIABLE,
    key: "tokenFile",
    environment,
    clusterName: options.clusterName ?? config.region,
  });
  await authorize();
  return createDigitalOceanCloud(config, authorize, options);
}

/** DigitalOcean: the droplets of one token's account. Budget and lists live as long as what is returned. */
export function createDigitalOceanCloud(
  config: DigitalOceanCloudConfig,
  authorize: Authorize,
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random, maxListAgeMs } = worldOf(options);
  const client = createHttpClient(config.apiURL ?? DEFAULT_API_URL);
  const budget = createBudget(quotaOf(config), RESERVE, now);
  const userAgent = userAgentOf(options.clusterName ?? config.region);
  const api = createApi({
    client,
    sign: signedBy(authorize),
    budget,
    readError,
    userAgent,
    sleep,
    wallClock,
    random,
  });
  const tag = config.dropletTag;
  const sources: Sources = {
    droplets: createDirectory((turn) => listDroplets(api, { tag }, turn, now), maxListAgeMs, now),
    gpuDroplets: createDirectory((turn) => listDroplets(api, { type: "gpus" }, turn, now), maxListAgeMs, now),
    reads: createReads(api, maxListAgeMs, now),
    now,
  };
  const world = { config, api, budget, sources };
  return {
    provider: "digitalocean",
    capabilities: {
      // Not in the bundles of functions that have no use for them (build/build.ts).
      loadBalancers: loadedCapability(async () => {
        const { createLoadBalancers } = await import("#clouds/digitalocean/load-balancers/capability.ts");
        return createLoadBalancers(world);
      }),
      loadBalancerTags: loadedCapability(async () => {
        const { createLoadBalancerTags } = await import(
          "#clouds/digitalocean/load-balancer-tags/capability.ts"
        );
        return createLoadBalancerTags(world);
      }),
      serviceValidation: loadedCapability(async () => {
        const { createServiceValidation } = await import(
          "#clouds/digitalocean/service-validation/capability.ts"
        );
        return createServiceValidation(world);
      }),
      firewall: loadedCapability(async () => {
        const { createFirewall } = await import("#clouds/digitalocean/firewall/capability.ts");
        return createFirewall(world);
      }),
    },
    checkConfiguration: (signal) => checkRegion(api, config.region, { signal, meter: createMeter() }),
    async instances(nodes, { signal, share, control: isControlWanted, onRequest }) {
      const meter = createMeter(onRequest);
      const allAnswer = (answer: InstanceAnswer) => ({
        answers: nodes.map(() => answer),
        usage: meter.usage(),
      });
      if (nodes.length === 0 || signal.aborted) return allAnswer(ABORTED);
      if (budget.isLow() && !nodes.some(isUninitialized)) return allAnswer(HELD_BACK);
      const leave = budget.enter(share);
      try {
        const turn = { signal, meter };
        const resolutions = settleGuesses(await resolve(nodes, sources, config, turn));
        const control = isControlWanted
          ? await findControl(resolutions, config, () => listFew(api, { tag }, turn))
          : undefined;
        const answers = nodes.map((node) => answerFor(node, resolutions.get(node), control));
        return { answers, usage: meter.usage() };
      } catch (error) {
        // Nothing is known to come here; but the contract is that nobody's batch rejects.
        return allAnswer({
          kind: "error",
          code: "Unavailable",
          message: `DigitalOcean: ${messageOf(error)}`,
        });
      } finally {
        leave();
      }
    },
    async close() {
      client.close();
    },
  };
}

function quotaOf({ requestsPerSecond = QUOTA.refillPerSecond }: DigitalOceanCloudConfig): Quota {
  const refillPerSecond = Math.min(QUOTA.refillPerSecond, requestsPerSecond);
  return { refillPerSecond, burst: (QUOTA.burst * refillPerSecond) / QUOTA.refillPerSecond };
}

function answerFor(
  node: Node,
  resolution: Resolution | undefined,
  control: string | undefined,
): InstanceAnswer {
  const subject = subjectOf(node);
  if (resolution === undefined)
    return { kind: "error", code: "Unavailable", message: `${subject}: no answer` };
  if (resolution.kind === "fault") return answerOf(resolution.fault, subject);
  if (resolution.kind === "absent") {
    const message = `${subject}: ${resolution.message}`;
    return { kind: "not-found", message, ...(control === undefined ? {} : { control }) };
  }
  const instance = instanceOf(resolution.droplet);
  return instance.kind === "ok"
    ? { kind: "found", instance: instance.value }
    : answerOf(instance.fault, subject);
}

const ABORTED: InstanceAnswer = {
  kind: "error",
  code: "Aborted",
  message: "aborted before DigitalOcean was asked",
};

const HELD_BACK: InstanceAnswer = {
  kind: "error",
  code: "Throttled",
  message: "little is left of the account's hourly quota, and is kept for nodes that are to be initialized",
};
