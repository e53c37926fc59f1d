import { formatCanonicalJson } from "#core/hash.ts";
import { readAwsState } from "#test/crash-consistency/aws/state.ts";
import { SERVICES_PATH, type Side } from "./side.ts";

/**
 * Objects of the cluster and resources of the cloud: the facts of each, by its name. The names are the same on both
 * sides.
 */
export interface Snapshot {
  readonly things: ReadonlyMap<string, readonly string[]>;
  /** Why the contender could not make the load balancer of a Service when it tried last, by the Service's name. */
  readonly failures: ReadonlyMap<string, string>;
}

/** A thing of which a side has other facts than the other. */
export interface Difference {
  /** Such as `node ip-10-20-0-11.eu-central-1.compute.internal`, or `target group <group of service-1 80>`. */
  readonly thing: string;
  /** The fact's path, without its value, such as `.taints[]`; empty if a side lacks the thing. */
  readonly path: string;
  /** The values of each side, or all facts if the other side lacks the thing; none if it lacks them. */
  readonly stock: readonly string[];
  readonly ours: readonly string[];
  /** All facts that our side has about the thing. */
  readonly ourFacts: readonly string[];
  /** Why the stock controller could not sync the Service that this is about. */
  readonly stockFailure: string | undefined;
}

/** The failure of a Service whose load balancer the contender has not removed yet. */
export const IS_BEING_DELETED = "the Service is still being deleted";

/** The failure of a load balancer that was deleted while its targets were updated, which makes it again. */
export const IS_MADE_AGAIN = "the load balancer was updated while it was deleted";

/** Reads a side at rest. */
export async function takeSnapshot(side: Side): Promise<Snapshot> {
  const things = [...(await readNodes(side)), ...(await readServices(side)), ...(await readCloud(side))];
  const snapshot = new Map<string, string[]>();
  for (const [name, thing] of things) {
    const known = snapshot.get(name);
    const facts = listFacts(replaceNames(side, thing));
    if (known === undefined) snapshot.set(name, facts);
    else known.push(...facts);
  }
  return { things: snapshot, failures: await readFailures(side) };
}

/** Returns a value that stays the same until the side's objects or its cloud change. */
export async function readVersion(side: Side): Promise<string> {
  const lists = await Promise.all(
    ["/api/v1/nodes", SERVICES_PATH].map((path) => side.ask({ method: "GET", path })),
  );
  const versions = (lists as readonly List[]).flatMap(({ items }) =>
    items.map(({ metadata }) => metadata.resourceVersion),
  );
  return `${versions.join(" ")} ${side.moto.history()}`;
}

/** Compares two snapshots. */
export function compare(stock: Snapshot, ours: Snapshot): readonly Difference[] {
  const things = [...new Set([...stock.things.keys(), ...ours.things.keys()])].toSorted();
  return things
    .flatMap((thing) => compareFacts(thing, stock.things.get(thing), ours.things.get(thing)))
    .map((found) => {
      const ourFacts = ours.things.get(found.thing) ?? [];
      const failures = listServices(found, ourFacts).flatMap((name) => stock.failures.get(name) ?? []);
      return { ...found, ourFacts, stockFailure: failures[0] };
    });
}

type Found = Omit<Difference, "ourFacts" | "stockFailure">;

function compareFacts(
  thing: string,
  stock: readonly string[] | undefined,
  ours: readonly string[] | undefined,
): readonly Found[] {
  if (stock === undefined || ours === undefined)
    return [{ thing, path: "", stock: stock ?? [], ours: ours ?? [] }];
  const [onlyStock, onlyOurs] = [subtract(stock, ours), subtract(ours, stock)];
  const paths = [...new Set([...onlyStock, ...onlyOurs].map(getPath))];
  return paths.flatMap((path) => {
    const valuesIn = (facts: readonly string[]): readonly string[] =>
      facts.filter((fact) => getPath(fact) === path).map((fact) => fact.slice(path.length + 2));
    const [theirs, own] = [valuesIn(onlyStock), valuesIn(onlyOurs)];
    if (!path.endsWith("[]")) return [{ thing, path, stock: theirs, ours: own }];
    // Each member of a set has a reason of its own.
    return [
      ...theirs.map((value) => ({ thing, path, stock: [value], ours: [] })),
      ...own.map((value) => ({ thing, path, stock: [], ours: [value] })),
    ];
  });
}

/** Returns the names of the Services that a difference is about. A rule for ICMP is for all clients of its network. */
function listServices({ thing, stock, ours }: Found, ourFacts: readonly string[]): readonly string[] {
  const text = [thing, ...stock, ...ours].join(" ");
  const [, number] = /service-?(\d+)/.exec(text) ?? [];
  if (number !== undefined) return [`service-${number}`];
  const [, network] = /("CidrIp":"[^"]+").*rule\/nlb\/mtu"/.exec(text) ?? [];
  if (network === undefined) return [];
  return ourFacts
    .filter((fact) => fact.includes(network))
    .flatMap((fact) => /rule\/nlb\/client=<(service-\d+)>/.exec(fact)?.[1] ?? []);
}

/** Returns a difference as lines, with both sides. */
export function describeDifference({ thing, path, stock, ours, stockFailure }: Difference): string {
  const show = (values: readonly string[]): string =>
    values.length === 0 ? "nothing" : values.join(path === "" ? "\n             " : ", ");
  const reason = stockFailure === undefined ? "" : `\n      the stock controller: ${stockFailure}`;
  return `${thing} ${path}\n      stock: ${show(stock)}\n      ours:  ${show(ours)}${reason}`;
}

type CloudThing = Readonly<Record<string, unknown>> & {
  readonly listeners?: readonly Readonly<Record<string, unknown>>[];
};

interface EventList {
  readonly items: readonly {
    readonly involvedObject: { readonly kind: string; readonly name: string };
    readonly reason: string;
    readonly message: string;
    readonly lastTimestamp: string | null;
    readonly eventTime: string | null;
  }[];
}

interface List {
  readonly items: readonly KubeObject[];
}

interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
}

type Thing = readonly [name: string, facts: unknown];

/** Our own annotations, which the stock controller lacks. */
const OURS = /^serverless-ccm\.io\//;

async function readNodes(side: Side): Promise<readonly Thing[]> {
  const { items } = (await side.ask({ method: "GET", path: "/api/v1/nodes" })) as List;
  return items.map(({ metadata, spec, status }) => [
    `node ${metadata.name}`,
    {
      labels: metadata.labels,
      annotations: withoutOurs(metadata.annotations),
      isDeleted: metadata.deletionTimestamp !== undefined,
      providerID: spec["providerID"],
      taints: (spec["taints"] as readonly { timeAdded?: string }[] | undefined)?.map(
        ({ timeAdded: _, ...taint }) => taint,
      ),
      // Their order has a meaning within each type.
      addresses: Object.groupBy(
        (status["addresses"] ?? []) as readonly { readonly type: string; readonly address: string }[],
        ({ type }) => type,
      ),
    },
  ]);
}

async function readServices(side: Side): Promise<readonly Thing[]> {
  const { items } = (await side.ask({ method: "GET", path: SERVICES_PATH })) as List;
  return items
    .filter(({ metadata }) => metadata.name !== "kubernetes")
    .map(({ metadata, spec, status }) => [
      `Service ${metadata.name}`,
      {
        annotations: withoutOurs(metadata.annotations),
        finalizers: metadata.finalizers,
        isDeleted: metadata.deletionTimestamp !== undefined,
        type: spec["type"],
        status,
      },
    ]);
}

function withoutOurs(annotations: Readonly<Record<string, string>> = {}): object {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => !OURS.test(name)));
}

async function readFailures(side: Side): Promise<ReadonlyMap<string, string>> {
  const { items } = (await side.ask({
    method: "GET",
    path: "/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind%3DService",
  })) as EventList;
  const services = (await side.ask({ method: "GET", path: SERVICES_PATH })) as List;
  const failures = new Map(findFailures(items));
  for (const { metadata } of services.items)
    if (metadata.deletionTimestamp !== undefined) failures.set(metadata.name, IS_BEING_DELETED);
  return failures;
}

/** Returns why the stock controller could not sync a Service when it tried last, by the Service's name. */
export function findFailures(events: EventList["items"]): ReadonlyMap<string, string> {
  const timeOf = ({ lastTimestamp, eventTime }: EventList["items"][number]): string =>
    lastTimestamp ?? eventTime ?? "";
  const failures = new Map<string, string>();
  const [deletions, updates] = [new Map<string, string>(), new Map<string, string>()];
  for (const event of events.toSorted((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1))) {
    const { name } = event.involvedObject;
    if (event.reason === "SyncLoadBalancerFailed") failures.set(name, event.message);
    if (event.reason === "DeletingLoadBalancer") deletions.set(name, timeOf(event));
    if (/^(Updated|Update)LoadBalancer/.test(event.reason)) updates.set(name, timeOf(event));
    if (event.reason === "EnsuredLoadBalancer") for (const all of [failures, deletions]) all.delete(name);
  }
  for (const [name, deletedAt] of deletions) {
    // Events have the seconds alone, so those of one second have no order.
    if ((updates.get(name) ?? "") < deletedAt) continue;
    const failure = failures.get(name);
    failures.set(name, failure === undefined ? IS_MADE_AGAIN : `${failure}; ${IS_MADE_AGAIN}`);
  }
  return failures;
}

async function readCloud(side: Side): Promise<readonly Thing[]> {
  const lines = await readAwsState(side.aws, side.network.vpc, side.names);
  return lines.flatMap((line): readonly Thing[] => {
    const { listeners = [], ...thing } = JSON.parse(line) as CloudThing;
    const name = thing["LoadBalancerName"] ?? thing["TargetGroupName"] ?? thing["GroupName"];
    const id = name ?? thing["InstanceId"] ?? formatCanonicalJson(thing["Tags"]);
    if (Array.isArray(thing["IpPermissions"]))
      Object.assign(thing, { IpPermissions: thing["IpPermissions"].flatMap(splitPorts) });
    const isGroup = thing["kind"] === "target group";
    const isDetached = isGroup && formatCanonicalJson(thing["loadBalancers"]) === "[]";
    const suffix = isGroup ? ` ${thing["Port"]}${isDetached ? " without load balancer" : ""}` : "";
    return [
      [`${thing["kind"]} ${hideHash(String(id))}${suffix}`, thing],
      ...listeners.map((listener): Thing => [`listener ${id} ${listener["Port"]}`, listener]),
    ];
  });
}

interface Permission {
  readonly IpProtocol: string;
  readonly FromPort?: number;
  readonly ToPort?: number;
}

/** Splits a rule into one for each port: ours share a rule among ports side by side. */
function splitPorts(rule: Permission): readonly Permission[] {
  const { IpProtocol, FromPort = 0, ToPort = 0 } = rule;
  if (!["tcp", "udp"].includes(IpProtocol) || ToPort - FromPort > 50) return [rule];
  return Array.from({ length: ToPort - FromPort + 1 }, (_, index) => ({
    ...{ ...rule, FromPort: FromPort + index, ToPort: FromPort + index },
  }));
}

/** The names of target groups and security groups end with a hash of the Service's uid, among others. */
function hideHash(text: string): string {
  return text.replace(/\b(k8s-[a-z0-9-]+)-[0-9a-f]{10}\b/g, "$1-<hash>");
}

function replaceNames({ names }: Side, thing: unknown): unknown {
  const text = hideHash(JSON.stringify(thing) ?? "null");
  const replaced = Object.entries(names).reduce((all, [from, to]) => all.replaceAll(from, to), text);
  return JSON.parse(
    replaced
      .replace(/-[0-9a-f]{16}(\.elb\.)/g, "-<hash>$1")
      .replace(/-\d+(\.\w+-\w+-\d\.elb\.)/g, "-<number>$1"),
  );
}

/** Returns one line for each value: its path, a colon and its JSON. Lists of objects are sets, but for addresses. */
function listFacts(value: unknown, path = ""): string[] {
  if (Array.isArray(value))
    return path.startsWith(".addresses")
      ? [`${path}: ${formatCanonicalJson(value)}`]
      : value.flatMap((each) => [`${path}[]: ${formatCanonicalJson(each)}`]);
  if (value === undefined || value === null || value === false) return [];
  if (typeof value !== "object") return [`${path}: ${formatCanonicalJson(value)}`];
  return Object.entries(value).flatMap(([key, each]) => listFacts(each, `${path}.${key}`));
}

function getPath(fact: string): string {
  return fact.slice(0, fact.indexOf(": "));
}

/** Returns the facts that are left after each of the others has taken away one. */
function subtract(facts: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...facts];
  for (const other of others) {
    const index = left.indexOf(other);
    if (index >= 0) left.splice(index, 1);
  }
  return left;
}
