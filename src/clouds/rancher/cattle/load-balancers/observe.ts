import { memoize, memoizeByKey } from "#clouds/http/memoize.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { type Cattle, Host } from "#clouds/rancher/cattle/client.ts";
import { parseIps, readAddresses } from "#clouds/rancher/cattle/instance.ts";
import {
  type CattleState,
  Consumer,
  type External,
  ExternalService,
  formatBalancerName,
  formatExternalName,
  IMAGE_SETTING,
  LoadBalancerService,
  Setting,
  STACK,
  Stack,
} from "#clouds/rancher/cattle/load-balancers/state.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";

/** Facts that all Services of a batch share. */
export interface Environment {
  readonly stackId: string | null;
  readonly balancers: readonly LoadBalancerService[];
  readonly externals: readonly ExternalService[];
  /** Each is read on demand, and once. */
  readImage(): Promise<Outcome<string>>;
  readHosts(): Promise<Outcome<readonly Host[]>>;
  readConsumers(external: ExternalService): Promise<Outcome<readonly string[]>>;
  /**
   * Undefined if the host has no usable address; an unreadable one is a fault, because the node would be left
   * out for a while.
   */
  readAddress(host: Host): Promise<Outcome<string | undefined>>;
}

/** Lists the stack and its content: three requests for any number of Services, plus further pages. */
export async function readEnvironment(
  cattle: Cattle,
  callContext: CallContext,
): Promise<Outcome<Environment>> {
  const stacks = await listCollection(
    cattle,
    "stack",
    { externalId: STACK.externalId, removed_null: "1" },
    Stack,
    callContext,
  );
  if (stacks.kind === "fault") return stacks;
  if (stacks.value.length > 1)
    return fault("Unavailable", `there are ${stacks.value.length} stacks ${STACK.externalId}`);
  const stackId = stacks.value[0]?.id ?? null;
  const query = { stackId: stackId ?? "", removed_null: "1" };
  const balancers =
    stackId === null
      ? ok([])
      : await listCollection(cattle, "loadBalancerService", query, LoadBalancerService, callContext);
  if (balancers.kind === "fault") return balancers;
  const externals =
    stackId === null
      ? ok([])
      : await listCollection(cattle, "externalService", query, ExternalService, callContext);
  if (externals.kind === "fault") return externals;
  return ok({
    stackId,
    balancers: balancers.value.filter((each) => each.stackId === stackId),
    externals: externals.value.filter(
      (each) => each.stackId === stackId && !REMOVED_STATES.has(each.external.state),
    ),
    readImage: memoize(() => readImage(cattle, callContext)),
    readHosts: memoize(() => listCollection(cattle, "host", { removed_null: "1" }, Host, callContext)),
    readConsumers: memoizeByKey(async ({ consumedBy }: ExternalService) => {
      const listed = await cattle.list(consumedBy, {}, Consumer, callContext);
      return listed.kind === "fault" ? listed : ok(listed.value.map(({ id }) => id));
    }),
    readAddress: memoizeByKey(async (host: Host) => {
      const texts = await readAddresses(cattle, host, callContext);
      if (texts.kind === "fault") return texts;
      const ips = parseIps(texts.value, host);
      return ok(ips.kind === "ok" ? ips.value[0] : undefined);
    }),
  });
}

const REMOVED_STATES: ReadonlySet<string> = new Set(["removing", "purging", "removed", "purged"]);

/** Reads the environment's resources of one Service. */
export async function readState(
  { service, wanted, nodes }: Pick<LoadBalancerQuestion, "service" | "wanted" | "nodes">,
  environment: Environment,
  cattle: Cattle,
  callContext: CallContext,
): Promise<Outcome<CattleState>> {
  const name = formatBalancerName(service);
  const found = environment.balancers.filter(({ balancer }) => balancer.name === name);
  const [balancer] = found;
  const consumed =
    balancer === undefined ? ok([]) : await cattle.list(balancer.consumed, {}, Consumer, callContext);
  if (consumed.kind === "fault") return consumed;
  const ids = new Set(consumed.value.map(({ id }) => id));
  const names = new Set(nodes.map((node) => formatExternalName(node.name)));

  const externals: External[] = [];
  for (const each of environment.externals) {
    const { external } = each;
    // Other users matter only for services that may be removed.
    const needsConsumers = wanted ? !names.has(external.name) : balancer === undefined;
    if (!needsConsumers) {
      externals.push(external);
      continue;
    }
    const consumers = await environment.readConsumers(each);
    if (consumers.kind === "fault") return consumers;
    externals.push({ ...external, consumers: [...consumers.value] });
  }
  const image = wanted && balancer === undefined ? await environment.readImage() : ok(null);
  if (image.kind === "fault") return image;
  const missing = nodes.filter(
    (node) => !externals.some((each) => each.name === formatExternalName(node.name)),
  );
  const hosts = await readHostAddresses(wanted ? missing : [], environment);
  if (hosts.kind === "fault") return hosts;
  return ok({
    stackId: environment.stackId,
    image: image.value,
    balancers: found.map(({ balancer }) => balancer),
    consumed: [...ids],
    externals,
    hosts: hosts.value,
  });
}

/**
 * Returns first addresses by the names of their future services; missing hosts and hosts without address are
 * left out.
 */
async function readHostAddresses(
  missing: LoadBalancerQuestion["nodes"],
  environment: Environment,
): Promise<Outcome<Record<string, string>>> {
  const hostNodes = missing.flatMap(({ name, providerID = "" }) =>
    providerID.startsWith(SCHEME) ? [{ name, uuid: providerID.slice(SCHEME.length) }] : [],
  );
  if (hostNodes.length === 0) return ok({});
  const hosts = await environment.readHosts();
  if (hosts.kind === "fault") return hosts;
  const read = hostNodes.map(async ({ name, uuid }) => {
    const host = hosts.value.find((each) => each.uuid === uuid);
    return { name, address: host === undefined ? ok(undefined) : await environment.readAddress(host) };
  });
  const addresses: Record<string, string> = {};
  for (const { name, address } of await Promise.all(read)) {
    if (address.kind === "fault") return address;
    if (address.value !== undefined) addresses[formatExternalName(name)] = address.value;
  }
  return ok(addresses);
}

const SCHEME = "rancher://";

async function readImage(cattle: Cattle, callContext: CallContext): Promise<Outcome<string>> {
  const link = await cattle.readCollectionLink("setting", callContext);
  if (link.kind === "fault") return link;
  const request = { operation: "GetSetting", template: `GET …/settings/${IMAGE_SETTING}` };
  const answer = await cattle.send(`${link.value}/${IMAGE_SETTING}`, request, callContext);
  if (answer.kind === "fault") return answer;
  const setting = Setting.safeParse(answer.value.body).data;
  return setting === undefined
    ? fault("Unavailable", `the setting ${IMAGE_SETTING} has no value`)
    : ok(setting.value);
}

async function listCollection<Item extends Parameters<Cattle["list"]>[2]>(
  cattle: Cattle,
  type: string,
  query: Readonly<Record<string, string>>,
  item: Item,
  callContext: CallContext,
) {
  const link = await cattle.readCollectionLink(type, callContext);
  return link.kind === "fault" ? link : cattle.list(link.value, query, item, callContext);
}
