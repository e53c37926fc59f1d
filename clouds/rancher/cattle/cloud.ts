import type { Cloud } from "#clouds/cloud.ts";
import { createApi, type Sign, type Turn } from "#clouds/http/api.ts";
import { createBudget } from "#clouds/http/budget.ts";
import { checked } from "#clouds/http/checked.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { type HttpCloudOptions, userAgentOf, worldOf } from "#clouds/http/cloud-options.ts";
import { createMeter } from "#clouds/http/meter.ts";
import { abortedBefore, answerOf, type Outcome } from "#clouds/http/outcome.ts";
import type { Environment } from "#clouds/kind.ts";
import { loadedCapability } from "#clouds/loaded-capability.ts";
import { checkEnvironment } from "#clouds/rancher/cattle/check-environment.ts";
import { type Cattle, createCattle } from "#clouds/rancher/cattle/client.ts";
import { ACCOUNT, addressesOf, instanceOf } from "#clouds/rancher/cattle/instance.ts";
import { hostOf, uuidOf } from "#clouds/rancher/cattle/resolve.ts";
import { Host } from "#clouds/rancher/cattle/resources.ts";
import { cattleSign } from "#clouds/rancher/cattle/sign.ts";
import type { CattleServer } from "#clouds/rancher/kind.ts";
import { readError } from "#clouds/rancher/read-error.ts";
import { readAuthority } from "#clouds/secrets/read-authority.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { messageOf } from "#core/message-of.ts";
import type { Node } from "#core/node/node.ts";

/** Nobody says how much an environment's API bears; it was made for people who click. */
const QUOTA = { burst: 200, refillPerSecond: 50 };

/** Makes the cloud of an environment of Rancher 1.x; rejects where a key or a file is missing or unusable. */
export async function loadCattleCloud(
  server: CattleServer,
  options: HttpCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const sign = cattleSign(server, environment, options.clusterName ?? "cattle");
  await sign({ method: "GET", path: "/", body: undefined });
  return createCattleCloud({ server, sign, authority: await readAuthority(server.caFile) }, options);
}

/** An environment's API, and how it is spoken to. */
export interface CattleAccess {
  readonly server: Pick<CattleServer, "url">;
  readonly sign: Sign;
  /** PEM. */
  readonly authority?: string | undefined;
}

/** The hosts of an environment. Nothing is kept between calls but where what is listed. */
export function createCattleCloud(
  { server, sign, authority }: CattleAccess,
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random } = worldOf(options);
  const { origin, pathname } = new URL(server.url);
  const client = createHttpClient(origin, { authority });
  const budget = createBudget(QUOTA, 0, now);
  const userAgent = userAgentOf(options.clusterName ?? "cattle");
  const api = createApi({ client, sign, budget, readError, userAgent, sleep, wallClock, random });
  const cattle = createCattle(api, server.url);
  const network = /projects\/[\w-]+/.exec(pathname)?.[0] ?? "-";
  return {
    provider: "rancher",
    async instances(nodes, { signal, share, control = false, onRequest }) {
      const meter = createMeter(onRequest);
      if (nodes.length === 0 || signal.aborted)
        return { answers: nodes.map(() => abortedBefore("Rancher")), usage: meter.usage() };
      const leave = budget.enter(share);
      try {
        const answers = await answersTo(
          nodes,
          { cattle, network, isControlWanted: control },
          { signal, meter },
        );
        return { answers, usage: meter.usage() };
      } catch (error) {
        // Nothing is known to come here; but the contract is that nobody's batch rejects.
        const message = `Rancher: ${messageOf(error)}`;
        const answer: InstanceAnswer = { kind: "error", code: "Unavailable", message };
        return { answers: nodes.map(() => answer), usage: meter.usage() };
      } finally {
        leave();
      }
    },
    capabilities: {
      loadBalancers: loadedCapability(async () => {
        const { createLoadBalancers } = await import("#clouds/rancher/cattle/load-balancers/capability.ts");
        return createLoadBalancers(cattle, budget);
      }),
    },
    checkConfiguration: async (signal) =>
      checked(await checkEnvironment(cattle, { signal, meter: createMeter() })),
    async close() {
      client.close();
    },
  };
}

interface Asked {
  readonly cattle: Cattle;
  readonly network: string;
  readonly isControlWanted: boolean;
}

/** One list of hosts, and the addresses of each that is a node's. */
async function answersTo(nodes: readonly Node[], asked: Asked, turn: Turn): Promise<InstanceAnswer[]> {
  const { cattle, network, isControlWanted } = asked;
  const isAsked = nodes.some((node) => typeof uuidOf(node) !== "object");
  const listed: Outcome<readonly Host[]> = isAsked
    ? await listHosts(cattle, turn)
    : { kind: "ok", value: [] };
  const addresses = new Map<Host, ReturnType<typeof addressesOf>>();
  const read = (host: Host) => {
    const reading = addresses.get(host) ?? addressesOf(cattle, host, turn);
    addresses.set(host, reading);
    return reading;
  };
  return Promise.all(
    nodes.map(async (node): Promise<InstanceAnswer> => {
      const subject = `node ${node.metadata.name}`;
      const invalid = uuidOf(node);
      if (typeof invalid === "object") return answerOf(invalid, subject);
      if (listed.kind === "fault") return answerOf(listed.fault, subject);
      const match = hostOf(node, listed.value);
      if (match.kind === "fault") return answerOf(match.fault, subject);
      if (match.kind === "absent") {
        const message = `${subject}: Rancher lists no host ${match.what}`;
        const [other] = isControlWanted ? listed.value : [];
        const control = other && { id: other.uuid, account: ACCOUNT, network };
        return { kind: "not-found", message, ...(control === undefined ? {} : { control }) };
      }
      const ips = await read(match.host);
      if (ips.kind === "fault") return answerOf(ips.fault, subject);
      return { kind: "found", instance: instanceOf(match.host, ips.value, network) };
    }),
  );
}

async function listHosts(cattle: Cattle, turn: Turn): Promise<Outcome<readonly Host[]>> {
  const link = await cattle.collectionOf("host", turn);
  return link.kind === "fault" ? link : cattle.list(link.value, { removed_null: "1" }, Host, turn);
}
