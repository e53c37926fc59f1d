import type { Cloud } from "#clouds/cloud.ts";
import { createApi, type Sign } from "#clouds/http/api.ts";
import { createBudget } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import {
  buildDependencies,
  formatUserAgent,
  type HttpCloudOptions,
  toConfigurationCheck,
} from "#clouds/http/cloud-options.ts";
import { type CallContext, createMeter } from "#clouds/http/meter.ts";
import { createAbortedAnswer, type Fault, type Outcome, toErrorAnswer } from "#clouds/http/outcome.ts";
import { createLazyCapability } from "#clouds/lazy-capability.ts";
import type { Environment } from "#clouds/provider.ts";
import { type Cattle, createCattle, Host, Project } from "#clouds/rancher/cattle/client.ts";
import { ACCOUNT, buildInstance, readIpAddresses } from "#clouds/rancher/cattle/instance.ts";
import { CATTLE_VARIABLES, type CattleServer } from "#clouds/rancher/config.ts";
import { readError } from "#clouds/rancher/read-error.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { readAuthority, readSecret } from "#platforms/secrets/read-secret.ts";

/** The capacity of an environment's API is undocumented; it was made for interactive use. */
const QUOTA = { burst: 200, refillPerSecond: 50 };

/** Creates the cloud of a Rancher 1.x environment; rejects if a key or a file is missing or unusable. */
export async function loadCattleCloud(
  server: CattleServer,
  options: HttpCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const sign = createCattleSigner(server, environment, options.clusterName ?? "cattle");
  await sign({ method: "GET", path: "/", body: undefined });
  return createCattleCloud({ server, sign, authority: await readAuthority(server.caFile) }, options);
}

/** An environment's API, and how to reach it. */
export interface CattleAccess {
  readonly server: Pick<CattleServer, "url">;
  readonly sign: Sign;
  /** PEM. */
  readonly authority?: string | undefined;
}

/** Creates the cloud of an environment's hosts. Only the links of collections are cached between calls. */
export function createCattleCloud(
  { server, sign, authority }: CattleAccess,
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random } = buildDependencies(options);
  const { origin, pathname } = new URL(server.url);
  const client = createHttpClient(origin, { authority });
  const budget = createBudget(QUOTA, 0, now);
  const userAgent = formatUserAgent(options.clusterName ?? "cattle");
  const api = createApi({ client, sign, budget, readError, userAgent, sleep, wallClock, random });
  const cattle = createCattle(api, server.url);
  const network = /projects\/[\w-]+/.exec(pathname)?.[0] ?? "-";
  return {
    provider: "rancher",
    async instances(nodes, { signal, share, control = false, onRequest }) {
      const meter = createMeter(onRequest);
      if (nodes.length === 0 || signal.aborted)
        return { answers: nodes.map(() => createAbortedAnswer("Rancher")), usage: meter.usage() };
      const leave = budget.enter(share);
      try {
        const answers = await buildAnswers(
          nodes,
          { cattle, network, needsProbe: control },
          { signal, meter },
        );
        return { answers, usage: meter.usage() };
      } catch (error) {
        // No known error reaches this line, but by contract a batch never rejects.
        const message = `Rancher: ${getErrorMessage(error)}`;
        const answer: InstanceAnswer = { kind: "error", code: "Unavailable", message };
        return { answers: nodes.map(() => answer), usage: meter.usage() };
      } finally {
        leave();
      }
    },
    capabilities: {
      loadBalancers: createLazyCapability(async () => {
        const { createLoadBalancers } = await import("#clouds/rancher/cattle/load-balancers/capability.ts");
        return createLoadBalancers(cattle, budget);
      }),
    },
    checkConfiguration: async (signal) =>
      toConfigurationCheck(await checkEnvironment(cattle, { signal, meter: createMeter() })),
    async close() {
      client.close();
    },
  };
}

interface AnswerContext {
  readonly cattle: Cattle;
  readonly network: string;
  readonly needsProbe: boolean;
}

/** Reads one list of hosts, and the addresses of each host that is a node's. */
async function buildAnswers(
  nodes: readonly Node[],
  context: AnswerContext,
  callContext: CallContext,
): Promise<InstanceAnswer[]> {
  const { cattle, network, needsProbe } = context;
  const needsList = nodes.some((node) => typeof parseUuid(node) !== "object");
  const listed: Outcome<readonly Host[]> = needsList
    ? await listHosts(cattle, callContext)
    : { kind: "ok", value: [] };
  const addresses = new Map<Host, ReturnType<typeof readIpAddresses>>();
  const read = (host: Host) => {
    const request = addresses.get(host) ?? readIpAddresses(cattle, host, callContext);
    addresses.set(host, request);
    return request;
  };
  return Promise.all(
    nodes.map(async (node): Promise<InstanceAnswer> => {
      const subject = `node ${node.metadata.name}`;
      const uuid = parseUuid(node);
      if (typeof uuid === "object") return toErrorAnswer(uuid, subject);
      if (listed.kind === "fault") return toErrorAnswer(listed.fault, subject);
      const match = findHost(node, listed.value);
      if (match.kind === "fault") return toErrorAnswer(match.fault, subject);
      if (match.kind === "absent") {
        const message = `${subject}: Rancher lists no host ${match.criterion}`;
        const [other] = needsProbe ? listed.value : [];
        const control = other && { id: other.uuid, account: ACCOUNT, network };
        return { kind: "not-found", message, ...(control === undefined ? {} : { control }) };
      }
      const ips = await read(match.host);
      if (ips.kind === "fault") return toErrorAnswer(ips.fault, subject);
      return { kind: "found", instance: buildInstance(match.host, ips.value, network) };
    }),
  );
}

async function listHosts(cattle: Cattle, callContext: CallContext): Promise<Outcome<readonly Host[]>> {
  const link = await cattle.readCollectionLink("host", callContext);
  return link.kind === "fault" ? link : cattle.list(link.value, { removed_null: "1" }, Host, callContext);
}

/**
 * Checks whether the keys may list the environment's hosts. If Rancher has none there, the fault names the
 * environments of the keys. Rancher 1.x does not document its answer for a missing project, so the fault
 * names no key.
 */
async function checkEnvironment(cattle: Cattle, callContext: CallContext): Promise<Outcome<unknown>> {
  const hosts = await cattle.readCollectionLink("host", callContext);
  if (hosts.kind === "ok" || !NOT_VISIBLE.has(hosts.fault.status ?? 0)) return hosts;
  const projects = await cattle.list("/v2-beta/projects", {}, Project, callContext);
  if (projects.kind === "fault" || projects.value.length === 0) return hosts;
  const environments = projects.value
    .slice(0, 5)
    .map(({ id, name }) => `${id} (${name ?? "without a name"})`);
  const message = `${hosts.fault.message}; see cattle.url: the keys are for ${environments.join(", ")}`;
  return { kind: "fault", fault: { ...hosts.fault, message } };
}

const NOT_VISIBLE: ReadonlySet<number> = new Set([403, 404]);

/**
 * Creates a signer with access key and secret key. A file is read for each request, so that a renewed key is
 * used at once. Throws if one of the two is missing.
 */
export function createCattleSigner(
  { accessKey, secretKeyFile }: CattleServer,
  environment: Environment,
  clusterName: string,
): Sign {
  const access = accessKey ?? environment[CATTLE_VARIABLES.accessKey] ?? "";
  const secret = environment[CATTLE_VARIABLES.secretKey] ?? "";
  if (access === "")
    throw new Error(`cattle.accessKey is required if ${CATTLE_VARIABLES.accessKey} is not set`);
  if (secretKeyFile === undefined && secret === "") {
    throw new Error(
      `cattle.secretKeyFile is required if ${CATTLE_VARIABLES.secretKey} is not set: a file with the secret key`,
    );
  }
  return async (_request, refused) => {
    const key =
      secretKeyFile === undefined
        ? secret
        : (await readSecret({ file: secretKeyFile }, { clusterName })).trim();
    const encoded = Buffer.from(`${access}:${key}`).toString("base64");
    const authorization = `Basic ${encoded}`;
    if (refused?.headers["authorization"] === authorization) return refused;
    return { headers: { authorization }, secrets: [encoded, key] };
  };
}

/** The result for a node among the hosts of an environment. */
type HostMatch =
  | { readonly kind: "host"; readonly host: Host }
  | { readonly kind: "absent"; readonly criterion: string }
  | { readonly kind: "fault"; readonly fault: Fault };

const SCHEME = "rancher://";

/**
 * Parses a node's provider ID without a request: the uuid in it, a fault, or undefined without a provider ID.
 */
function parseUuid({ spec: { providerID = "" } }: Node): string | Fault | undefined {
  if (providerID === "") return undefined;
  const quoted = JSON.stringify(providerID.slice(0, 100));
  if (!providerID.startsWith(SCHEME))
    return { code: "ForeignProviderID", message: `${quoted} is not a provider ID of this cloud` };
  const uuid = providerID.slice(SCHEME.length);
  if (/^[0-9A-Za-z-]{1,128}$/.test(uuid)) return uuid;
  return { code: "InvalidProviderID", message: `${quoted} names no host; expected ${SCHEME}<uuid>` };
}

/** Finds the host of a node: by the uuid of its provider ID, else by name. */
function findHost(node: Node, hosts: readonly Host[]): HostMatch {
  const uuid = parseUuid(node);
  if (typeof uuid === "object") return { kind: "fault", fault: uuid };
  if (uuid !== undefined)
    return selectOnly(
      hosts.filter((host) => host.uuid === uuid),
      `of uuid ${uuid}`,
    );
  const { name } = node.metadata;
  return selectOnly(
    hosts.filter(({ hostname }) => isSameName(hostname ?? "", name)),
    "of that name",
  );
}

/** Compares names without case; if only one has dots, its first label is compared. */
function isSameName(one: string, other: string): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  if (a === "" || b === "") return false;
  if (a.includes(".") === b.includes(".")) return a === b;
  return a.split(".")[0] === b.split(".")[0];
}

function selectOnly(candidates: readonly Host[], criterion: string): HostMatch {
  const [host, second] = candidates;
  if (host === undefined) return { kind: "absent", criterion };
  if (second === undefined) return { kind: "host", host };
  const ids = candidates.map(({ uuid }) => uuid).toSorted();
  const message = `${ids.length} hosts are ${criterion}, ${ids.slice(0, 5).join(", ")}`;
  return { kind: "fault", fault: { code: "Ambiguous", message } };
}
