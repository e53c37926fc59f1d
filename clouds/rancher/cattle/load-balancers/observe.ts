import type { Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Cattle } from "#clouds/rancher/cattle/client.ts";
import { ipsIn, readAddresses } from "#clouds/rancher/cattle/instance.ts";
import {
  balancerName,
  externalName,
  IMAGE_SETTING,
  STACK,
} from "#clouds/rancher/cattle/load-balancers/names.ts";
import {
  Consumer,
  ExternalService,
  LoadBalancerService,
  Setting,
  Stack,
} from "#clouds/rancher/cattle/load-balancers/resources.ts";
import type { CattleState, External } from "#clouds/rancher/cattle/load-balancers/state.ts";
import { Host } from "#clouds/rancher/cattle/resources.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";

/** What is the same for all Services of a batch. */
export interface Environment {
  readonly stackId: string | null;
  readonly balancers: readonly LoadBalancerService[];
  readonly externals: readonly ExternalService[];
  /** Each is asked for when a Service needs it, and once. */
  image(): Promise<Outcome<string>>;
  hosts(): Promise<Outcome<readonly Host[]>>;
  consumersOf(external: ExternalService): Promise<Outcome<readonly string[]>>;
  /** Undefined where it has none that can be used; that it is not told is a fault, or a node would be left out for a while. */
  addressOf(host: Host): Promise<Outcome<string | undefined>>;
}

/** Lists the stack and what is in it: three requests for whatever many Services, as long as pages hold them. */
export async function readEnvironment(cattle: Cattle, turn: Turn): Promise<Outcome<Environment>> {
  const stacks = await listOf(
    cattle,
    "stack",
    { externalId: STACK.externalId, removed_null: "1" },
    Stack,
    turn,
  );
  if (stacks.kind === "fault") return stacks;
  if (stacks.value.length > 1)
    return fault("Unavailable", `there are ${stacks.value.length} stacks ${STACK.externalId}`);
  const stackId = stacks.value[0]?.id ?? null;
  const query = { stackId: stackId ?? "", removed_null: "1" };
  const balancers =
    stackId === null ? ok([]) : await listOf(cattle, "loadBalancerService", query, LoadBalancerService, turn);
  if (balancers.kind === "fault") return balancers;
  const externals =
    stackId === null ? ok([]) : await listOf(cattle, "externalService", query, ExternalService, turn);
  if (externals.kind === "fault") return externals;
  return ok({
    stackId,
    balancers: balancers.value.filter((each) => each.stackId === stackId),
    externals: externals.value.filter((each) => each.stackId === stackId && !GOING.has(each.external.state)),
    image: once(() => readImage(cattle, turn)),
    hosts: once(() => listOf(cattle, "host", { removed_null: "1" }, Host, turn)),
    consumersOf: onceEach(async ({ consumedBy }: ExternalService) => {
      const listed = await cattle.list(consumedBy, {}, Consumer, turn);
      return listed.kind === "fault" ? listed : ok(listed.value.map(({ id }) => id));
    }),
    addressOf: onceEach(async (host: Host) => {
      const texts = await readAddresses(cattle, host, turn);
      if (texts.kind === "fault") return texts;
      const ips = ipsIn(texts.value, host);
      return ok(ips.kind === "ok" ? ips.value[0] : undefined);
    }),
  });
}

const GOING: ReadonlySet<string> = new Set(["removing", "purging", "removed", "purged"]);

/** What the environment has of one Service. */
export async function stateOf(
  { service, wanted, nodes }: Pick<LoadBalancerQuestion, "service" | "wanted" | "nodes">,
  environment: Environment,
  cattle: Cattle,
  turn: Turn,
): Promise<Outcome<CattleState>> {
  const name = balancerName(service);
  const found = environment.balancers.filter(({ balancer }) => balancer.name === name);
  const [own] = found;
  const consumed = own === undefined ? ok([]) : await cattle.list(own.consumed, {}, Consumer, turn);
  if (consumed.kind === "fault") return consumed;
  const ids = new Set(consumed.value.map(({ id }) => id));
  const names = new Set(nodes.map((node) => externalName(node.name)));

  const externals: External[] = [];
  for (const each of environment.externals) {
    const { external } = each;
    // Whether somebody else sends to it matters of those alone that may have to go.
    const isDoubted = wanted ? !names.has(external.name) : own === undefined;
    if (!isDoubted) {
      externals.push(external);
      continue;
    }
    const consumers = await environment.consumersOf(each);
    if (consumers.kind === "fault") return consumers;
    externals.push({ ...external, consumers: [...consumers.value] });
  }
  const image = wanted && own === undefined ? await environment.image() : ok(null);
  if (image.kind === "fault") return image;
  const missing = nodes.filter((node) => !externals.some((each) => each.name === externalName(node.name)));
  const hosts = await hostsOf(wanted ? missing : [], environment);
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

/** First addresses by the names that their services are to have; of a host that is not there, or has no address, nothing is said. */
async function hostsOf(
  missing: LoadBalancerQuestion["nodes"],
  environment: Environment,
): Promise<Outcome<Record<string, string>>> {
  const named = missing.flatMap(({ name, providerID = "" }) =>
    providerID.startsWith(SCHEME) ? [{ name, uuid: providerID.slice(SCHEME.length) }] : [],
  );
  if (named.length === 0) return ok({});
  const hosts = await environment.hosts();
  if (hosts.kind === "fault") return hosts;
  const read = named.map(async ({ name, uuid }) => {
    const host = hosts.value.find((each) => each.uuid === uuid);
    return { name, address: host === undefined ? ok(undefined) : await environment.addressOf(host) };
  });
  const addresses: Record<string, string> = {};
  for (const { name, address } of await Promise.all(read)) {
    if (address.kind === "fault") return address;
    if (address.value !== undefined) addresses[externalName(name)] = address.value;
  }
  return ok(addresses);
}

const SCHEME = "rancher://";

async function readImage(cattle: Cattle, turn: Turn): Promise<Outcome<string>> {
  const link = await cattle.collectionOf("setting", turn);
  if (link.kind === "fault") return link;
  const request = { operation: "GetSetting", template: `GET …/settings/${IMAGE_SETTING}` };
  const answer = await cattle.send(`${link.value}/${IMAGE_SETTING}`, request, turn);
  if (answer.kind === "fault") return answer;
  const setting = Setting.safeParse(answer.value.body).data;
  return setting === undefined
    ? fault("Unavailable", `the setting ${IMAGE_SETTING} has no value`)
    : ok(setting.value);
}

async function listOf<Item extends Parameters<Cattle["list"]>[2]>(
  cattle: Cattle,
  type: string,
  query: Readonly<Record<string, string>>,
  item: Item,
  turn: Turn,
) {
  const link = await cattle.collectionOf(type, turn);
  return link.kind === "fault" ? link : cattle.list(link.value, query, item, turn);
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  return () => {
    value ??= read();
    return value;
  };
}

function onceEach<Key, Value>(read: (key: Key) => Promise<Value>): (key: Key) => Promise<Value> {
  const values = new Map<Key, Promise<Value>>();
  return (key) => {
    const value = values.get(key) ?? read(key);
    values.set(key, value);
    return value;
  };
}
